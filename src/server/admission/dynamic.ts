import type { AdmissionPlugin, AccessCheck } from "../../admission/admission.ts";
import { compiledWebhooks, type WebhookAsked, type CompiledWebhook } from "../../admission/webhook-ask.ts";
import type { Authorize } from "../../admission/expression-inputs.ts";
import { mutatingPolicies } from "../../admission/mutating-policies.ts";
import { mutatingWebhooks, validatingWebhooks } from "../../admission/webhooks.ts";
import { policyParamAccess } from "../../admission/policy-param-access.ts";
import { validatingPolicies } from "../../admission/validating-policies.ts";
import { apiVersionOf, type ApiObject } from "../../apimachinery/object.ts";
import { internalError } from "../../apimachinery/status.ts";
import type { CallWebhook } from "../../apimachinery/webhook-call.ts";
import type { EntryVersions } from "../../registry/conversion.ts";
import type { Turns } from "../../registry/turns.ts";
import { storagePrefix, type Resource } from "../../apis/resource.ts";
import type { WatchCache } from "../../storage/watch-cache.ts";
import { mutatingPoliciesIn, policyParams, validatingPoliciesIn } from "./policies.ts";
import { logEntry, type LogEntry } from "../../apimachinery/log-entry.ts";
import { objectOf } from "../../registry/entry.ts";
import type { WebhookConfiguration } from "../../apis/admission-webhook.ts";
import { compiledObjects } from "../../storage/compiled-objects.ts";

export interface DynamicAdmissionOptions {
  readonly cache: WatchCache;
  readonly versions: EntryVersions;
  /** The resources served now. */
  readonly resources: () => readonly Resource[];
  readonly call: CallWebhook;
  readonly uuid: () => string;
  readonly log: (entry: LogEntry) => void;
  readonly metrics: { readonly webhookAsked: (asked: WebhookAsked) => void };
  /** False while the hub makes its own first objects, which no webhook or policy may keep from being there. */
  readonly inForce: () => boolean;
  readonly may: AccessCheck;
  readonly authorize: Authorize;
  readonly turns: Turns;
  readonly namespaceOf: (name: string) => ApiObject | undefined;
  readonly resourceOf: (apiVersion: string, kind: string) => Resource | undefined;
}

/** The plugins that are governed by objects: policies and webhooks that mutate, then policies and webhooks that validate. */
export function dynamicAdmission(options: DynamicAdmissionOptions): readonly AdmissionPlugin[] {
  const { cache, inForce, may, authorize, turns, namespaceOf, resourceOf } = options;
  const turn = (user: string): Promise<void> => turns.next(user);
  const lookups = { namespaceOf, versionsOf: versionsIn(options.resources) };
  const webhooksOf = (
    plural: Parameters<typeof webhookConfigurations>[1],
  ): ReturnType<typeof webhookConfigurations> => {
    const all = webhookConfigurations(cache, plural);
    return () => (inForce() ? all() : []);
  };
  const asking = {
    call: options.call,
    lookups,
    convert: convertObject,
    authorize,
    turn,
    uuid: options.uuid,
    now: () => performance.now(),
    asked: options.metrics.webhookAsked,
    failedOpen: (webhook: string, error: string) =>
      options.log(logEntry("WebhookCallFailed", "webhook call failed; ignored by failurePolicy", { webhook, error })),
  };
  const validating = validatingPoliciesIn(cache);
  const mutating = mutatingPoliciesIn(cache);
  const judging = {
    lookups,
    params: policyParams(cache, { resourceOf, versions: options.versions }),
    convert: convertObject,
    authorize,
    turn,
  };
  return [
    mutatingPolicies({ ...judging, policies: () => (inForce() ? mutating.bound() : []) }),
    mutatingWebhooks({ ...asking, webhooks: webhooksOf("mutatingwebhookconfigurations") }),
    policyParamAccess({
      may,
      resourceOf,
      paramKindOf: { ValidatingAdmissionPolicy: validating.paramKindOf, MutatingAdmissionPolicy: mutating.paramKindOf },
    }),
    validatingPolicies({ ...judging, policies: () => (inForce() ? validating.bound() : []) }),
    validatingWebhooks({ ...asking, webhooks: webhooksOf("validatingwebhookconfigurations") }),
  ];
}

/** All versions of a custom kind that are served; a built-in kind has one. */
function versionsIn(resources: () => readonly Resource[]): (resource: Resource) => readonly Resource[] {
  return (resource) =>
    resource.custom === undefined
      ? [resource]
      : resources().filter(({ group, plural }) => group === resource.group && plural === resource.plural);
}

async function convertObject(object: ApiObject, to: Resource): Promise<ApiObject> {
  const apiVersion = apiVersionOf(to.group, to.version);
  const convert = to.custom?.storage.convert;
  if (object.apiVersion === apiVersion || convert === undefined) return { ...object, apiVersion };
  const [converted] = await convert([object], apiVersion);
  if (converted === undefined) throw internalError(`conversion to ${apiVersion} returned no object`);
  return converted;
}

/** The webhooks in force, by the name of their configuration and then as listed: a configuration counts before its write is acknowledged. */
function webhookConfigurations(
  cache: WatchCache,
  plural: "mutatingwebhookconfigurations" | "validatingwebhookconfigurations",
): () => readonly CompiledWebhook[] {
  const configurations = compiledObjects(cache, {
    prefix: storagePrefix({ group: "admissionregistration.k8s.io", plural }),
    compile: (entry) => compiledWebhooks(objectOf(entry) as WebhookConfiguration),
  });
  let from: ReturnType<typeof configurations> | undefined;
  let webhooks: readonly CompiledWebhook[] = [];
  return () => {
    const now = configurations();
    if (now !== from) {
      from = now;
      webhooks = now.flat();
    }
    return webhooks;
  };
}
