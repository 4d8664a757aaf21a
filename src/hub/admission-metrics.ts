import type { AdmissionPlugin, AdmissionRequest } from "../admission/admission.ts";
import type { WebhookAsked } from "../admission/webhook-ask.ts";
import { histogram, labelText } from "./metric-family.ts";

/** What is counted of admission. */
export interface AdmissionMetrics {
  /** The same plugin, each of its steps timed. */
  readonly timed: (plugin: AdmissionPlugin) => AdmissionPlugin;
  readonly webhookAsked: (asked: WebhookAsked) => void;
  /** Prometheus text. */
  readonly text: () => string;
}

type Observe = (operation: AdmissionRequest["operation"], isRejected: boolean, ms: number) => void;

/** Source: apiserver pkg/admission/metrics. */
const pluginBounds: readonly number[] = [0.005, 0.025, 0.1, 0.5, 1, 2.5];
const webhookBounds: readonly number[] = [...pluginBounds, 10, 25];

/** Names of webhooks that have series of their own; those of all others are `other`, since configurations come and go. */
const maxWebhooks = 200;

/** Counts from zero; `now` in milliseconds of a clock that is not set back. Source: apiserver pkg/admission/metrics. */
export function admissionMetrics(now: () => number): AdmissionMetrics {
  const plugins = histogram({
    name: "apiserver_admission_controller_admission_duration_seconds",
    help: "How long admission plugins took, by name, step and operation.",
    bounds: pluginBounds,
  });
  const webhooks = histogram({
    name: "apiserver_admission_webhook_admission_duration_seconds",
    help: "How long admission webhooks took, by name, step and operation.",
    bounds: webhookBounds,
  });
  const ofWebhooks = new Map<string, Observe>();
  const observerOf = (webhook: string, type: string): Observe => {
    const name = ofWebhooks.size < maxWebhooks || ofWebhooks.has(`${type} ${webhook}`) ? webhook : "other";
    const key = `${type} ${name}`;
    const known = ofWebhooks.get(key) ?? observer(webhooks.observe, name, type);
    ofWebhooks.set(key, known);
    return known;
  };
  return {
    timed: (plugin) => timedPlugin(plugin, { now, observe: plugins.observe }),
    webhookAsked: ({ name, stage, operation, isRejected, ms }) =>
      observerOf(name, stage === "mutating" ? "admit" : "validating")(operation, isRejected, ms),
    text: () => plugins.text() + webhooks.text(),
  };
}

function timedPlugin(
  plugin: AdmissionPlugin,
  { now, observe }: { readonly now: () => number; readonly observe: (labels: string, seconds: number) => void },
): AdmissionPlugin {
  const { name, concerns, mutate, validate } = plugin;
  const timing = async <T>(seen: Observe, request: AdmissionRequest, run: () => Promise<T>): Promise<T> => {
    const begun = now();
    let isRejected = true;
    try {
      const result = await run();
      isRejected = false;
      return result;
    } finally {
      seen(request.operation, isRejected, now() - begun);
    }
  };
  const [admitted, validated] = [observer(observe, name, "admit"), observer(observe, name, "validate")];
  return {
    name,
    ...(concerns === undefined ? {} : { concerns }),
    ...(mutate === undefined
      ? {}
      : { mutate: (request, round) => timing(admitted, request, () => mutate(request, round)) }),
    ...(validate === undefined ? {} : { validate: (request) => timing(validated, request, () => validate(request)) }),
  };
}

/** Writes the labels of each outcome once. */
function observer(observe: (labels: string, seconds: number) => void, name: string, type: string): Observe {
  const labelsOf = (operation: string): { readonly rejected: string; readonly passed: string } => ({
    rejected: labelText({ name, operation, rejected: "true", type }),
    passed: labelText({ name, operation, rejected: "false", type }),
  });
  const labels = { CREATE: labelsOf("CREATE"), UPDATE: labelsOf("UPDATE"), DELETE: labelsOf("DELETE") };
  return (operation, isRejected, ms) =>
    observe(isRejected ? labels[operation].rejected : labels[operation].passed, ms / 1000);
}
