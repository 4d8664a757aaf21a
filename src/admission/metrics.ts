import type { Admission, AdmissionPlugin, AdmissionRequest } from "./admission.ts";
import type { WebhookAsked } from "./webhook-ask.ts";
import { histogram, labelText, summary } from "../metrics/family.ts";

/** Metrics of admission. */
export interface AdmissionMetrics {
  /** The same plugin with each step timed. */
  readonly timed: (plugin: AdmissionPlugin) => AdmissionPlugin;
  /** The same chain with each of its two steps timed as a whole. */
  readonly timedSteps: (admission: Admission) => Admission;
  readonly webhookAsked: (asked: WebhookAsked) => void;
  /** Prometheus text. */
  readonly text: () => string;
}

type Observe = (operation: AdmissionRequest["operation"], isRejected: boolean, ms: number) => void;

/** Source: apiserver pkg/admission/metrics. */
const pluginBounds: readonly number[] = [0.005, 0.025, 0.1, 0.5, 1, 2.5];
const webhookBounds: readonly number[] = [...pluginBounds, 10, 25];

/** The maximum number of webhook names with their own series; others count as `other`, since configurations change. */
const maxWebhooks = 200;

/** Metrics at zero; `now` in milliseconds of a monotonic clock. Source: apiserver pkg/admission/metrics. */
export function admissionMetrics(now: () => number): AdmissionMetrics {
  const plugins = histogram({
    name: "apiserver_admission_controller_admission_duration_seconds",
    help: "How long admission plugins took, by name, step and operation.",
    bounds: pluginBounds,
  });
  const steps = histogram({
    name: "apiserver_admission_step_admission_duration_seconds",
    help: "How long the steps of admission took, all plugins together, by step and operation.",
    bounds: pluginBounds,
  });
  const summaries = summary(
    {
      name: "apiserver_admission_step_admission_duration_seconds_summary",
      help: "Quantiles of how long the steps of admission took, by step and operation.",
    },
    now,
  );
  const observeStep: typeof steps.observe = (labels, seconds) => {
    steps.observe(labels, seconds);
    summaries.observe(labels, seconds);
  };
  const webhooks = histogram({
    name: "apiserver_admission_webhook_admission_duration_seconds",
    help: "How long admission webhooks took, by name, step and operation.",
    bounds: webhookBounds,
  });
  const ofWebhooks = new Map<string, Observe>();
  const observerOf = (webhook: string, type: string): Observe => {
    const name = ofWebhooks.size < maxWebhooks || ofWebhooks.has(`${type} ${webhook}`) ? webhook : "other";
    const key = `${type} ${name}`;
    const known = ofWebhooks.get(key) ?? observer(webhooks.observe, { name, type });
    ofWebhooks.set(key, known);
    return known;
  };
  return {
    timed: (plugin) => timedPlugin(plugin, { now, observe: plugins.observe }),
    timedSteps: ({ mutate, validate }) => {
      const admitted = timer(now, observer(observeStep, { type: "admit" }));
      const validated = timer(now, observer(observeStep, { type: "validate" }));
      return {
        mutate: (request) => admitted(request, () => mutate(request)),
        validate: (request) => validated(request, () => validate(request)),
      };
    },
    webhookAsked: ({ name, stage, operation, isRejected, ms }) =>
      observerOf(name, stage === "mutating" ? "admit" : "validating")(operation, isRejected, ms),
    text: () => plugins.text() + steps.text() + summaries.text() + webhooks.text(),
  };
}

function timedPlugin(
  { mutate, validate, ...plugin }: AdmissionPlugin,
  { now, observe }: { readonly now: () => number; readonly observe: (labels: string, seconds: number) => void },
): AdmissionPlugin {
  const admitted = timer(now, observer(observe, { name: plugin.name, type: "admit" }));
  const validated = timer(now, observer(observe, { name: plugin.name, type: "validate" }));
  return {
    ...plugin,
    ...(mutate && { mutate: (request, round) => admitted(request, () => mutate(request, round)) }),
    ...(validate && { validate: (request) => validated(request, () => validate(request)) }),
  };
}

type Timer = <T>(request: AdmissionRequest, run: () => Promise<T>) => Promise<T>;

function timer(now: () => number, seen: Observe): Timer {
  return async (request, run) => {
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
}

/** Formats the labels of each outcome once. */
function observer(
  observe: (labels: string, seconds: number) => void,
  { type, ...named }: { readonly name?: string; readonly type: string },
): Observe {
  const labelsOf = (operation: string): { readonly rejected: string; readonly passed: string } => ({
    rejected: labelText({ ...named, operation, rejected: "true", type }),
    passed: labelText({ ...named, operation, rejected: "false", type }),
  });
  const labels = {
    CREATE: labelsOf("CREATE"),
    UPDATE: labelsOf("UPDATE"),
    DELETE: labelsOf("DELETE"),
    CONNECT: labelsOf("CONNECT"),
  };
  return (operation, isRejected, ms) =>
    observe(isRejected ? labels[operation].rejected : labels[operation].passed, ms / 1000);
}
