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
import { randomUUID } from "node:crypto";
import type { HubBase } from "../hub-state.ts";
import type { HubOptions } from "../hub-options.ts";
import { logEntry } from "../../apimachinery/log-entry.ts";
import { objectOf } from "../../registry/entry.ts";
import type { WebhookConfiguration } from "../../apis/admission-webhook.ts";
import { compiledObjects } from "../../storage/observed-objects.ts";
import {
  compiledBinding,
  compiledMutatingPolicy,
  compiledPolicy,
  compiledTarget,
  type BindingTarget,
  type BoundPolicy,
  type CompiledBinding,
  type CompiledMutatingPolicy,
  type CompiledPolicy,
  type CompiledTerms,
} from "../../admission/policy.ts";
import type { ParamLookup } from "../../admission/policy.ts";
import { mutatingAdmissionPolicies } from "../../apis/mutating-admission-policy.ts";
import {
  mutatingAdmissionPolicyBindings,
  validatingAdmissionPolicyBindings,
} from "../../apis/admission-policy-binding.ts";
import { validatingAdmissionPolicies } from "../../apis/validating-admission-policy.ts";
import type { Entry } from "../../storage/stored-object.ts";

/** The inputs of policies and webhooks. */
export interface DynamicAdmissionParts extends HubBase {
  readonly versions: EntryVersions;
  /** The served resources. */
  readonly resources: () => readonly Resource[];
  readonly call: CallWebhook;
  readonly metrics: { readonly webhookAsked: (asked: WebhookAsked) => void };
  readonly may: AccessCheck;
  readonly authorize: Authorize;
  readonly turns: Turns;
  readonly namespaceOf: (name: string) => ApiObject | undefined;
  readonly resourceOf: (apiVersion: string, kind: string) => Resource | undefined;
}

/**
 * The plugins that objects configure: mutating policies and webhooks, then validating policies and webhooks. None is in force while the
 * hub creates its initial objects.
 */
export function dynamicAdmission(parts: DynamicAdmissionParts, log: HubOptions["log"]): readonly AdmissionPlugin[] {
  const { cache, isBootstrapped, may, authorize, turns, namespaceOf, resourceOf } = parts;
  const turn = (user: string): Promise<void> => turns.next(user);
  const lookups = { namespaceOf, versionsOf: versionsIn(parts.resources) };
  const webhooksOf = (
    plural: Parameters<typeof webhookConfigurations>[1],
  ): ReturnType<typeof webhookConfigurations> => {
    const all = webhookConfigurations(cache, plural);
    return () => (isBootstrapped() ? all() : []);
  };
  const asking = {
    call: parts.call,
    lookups,
    convert: convertObject,
    authorize,
    turn,
    uuid: randomUUID,
    now: () => performance.now(),
    asked: parts.metrics.webhookAsked,
    failedOpen: (webhook: string, error: string) =>
      log(logEntry("WebhookCallFailed", "webhook call failed; ignored by failurePolicy", { webhook, error })),
  };
  const validating = validatingPoliciesIn(cache);
  const mutating = mutatingPoliciesIn(cache);
  const judging = {
    lookups,
    params: policyParams(cache, { resourceOf, versions: parts.versions }),
    convert: convertObject,
    authorize,
    turn,
  };
  return [
    mutatingPolicies({ ...judging, policies: () => (isBootstrapped() ? mutating.bound() : []) }),
    mutatingWebhooks({ ...asking, webhooks: webhooksOf("mutatingwebhookconfigurations") }),
    policyParamAccess({
      may,
      resourceOf,
      paramKindOf: { ValidatingAdmissionPolicy: validating.paramKindOf, MutatingAdmissionPolicy: mutating.paramKindOf },
    }),
    validatingPolicies({ ...judging, policies: () => (isBootstrapped() ? validating.bound() : []) }),
    validatingWebhooks({ ...asking, webhooks: webhooksOf("validatingwebhookconfigurations") }),
  ];
}

/** All served versions of a custom kind; a built-in kind has one. */
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

/** The webhooks in force, by the name of their configuration and then in its order: a configuration is in force before its write is acknowledged. */
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

/** Policies and bindings of one kind; each is in force before its write is acknowledged. */
export interface AdmissionPolicies<Policy, Binding> {
  /** The policies in force with their bindings. */
  readonly bound: () => readonly BoundPolicy<Policy, Binding>[];
  /** The paramKind of a policy, in force or not; undefined without one. */
  readonly paramKindOf: (policy: string) => CompiledTerms["paramKind"];
}

/** Follows the validating policies in the cache. */
export function validatingPoliciesIn(cache: WatchCache): AdmissionPolicies<CompiledPolicy, CompiledBinding> {
  return boundPolicies(cache, {
    policies: { resource: validatingAdmissionPolicies, compile: (entry) => compiledPolicy(objectOf(entry)) },
    bindings: { resource: validatingAdmissionPolicyBindings, compile: (entry) => compiledBinding(objectOf(entry)) },
  });
}

/** Follows the mutating policies in the cache. */
export function mutatingPoliciesIn(cache: WatchCache): AdmissionPolicies<CompiledMutatingPolicy, BindingTarget> {
  return boundPolicies(cache, {
    policies: { resource: mutatingAdmissionPolicies, compile: (entry) => compiledMutatingPolicy(objectOf(entry)) },
    bindings: { resource: mutatingAdmissionPolicyBindings, compile: (entry) => compiledTarget(objectOf(entry)) },
  });
}

interface Compiled<T> {
  readonly resource: Resource;
  readonly compile: (entry: Entry) => T;
}

function boundPolicies<Policy extends CompiledTerms, Binding extends BindingTarget>(
  cache: WatchCache,
  source: { readonly policies: Compiled<Policy>; readonly bindings: Compiled<Binding> },
): AdmissionPolicies<Policy, Binding> {
  const following = <T>({ resource, compile }: Compiled<T>): (() => readonly T[]) =>
    compiledObjects(cache, { prefix: storagePrefix(resource), compile });
  const policies = following(source.policies);
  const bindings = following(source.bindings);
  let from: readonly unknown[] = [];
  let bound: readonly BoundPolicy<Policy, Binding>[] = [];
  return {
    bound: () => {
      const [allPolicies, allBindings] = [policies(), bindings()];
      if (from[0] !== allPolicies || from[1] !== allBindings) {
        from = [allPolicies, allBindings];
        bound = allPolicies
          .map((policy) => ({ policy, bindings: allBindings.filter(({ policyName }) => policyName === policy.name) }))
          .filter((one) => one.bindings.length > 0);
      }
      return bound;
    },
    paramKindOf: (name) => policies().find((policy) => policy.name === name)?.paramKind,
  };
}

/** Parameters, in their current state in the watch cache. */
export function policyParams(
  cache: WatchCache,
  { resourceOf, versions }: Pick<ParamLookup, "resourceOf"> & { readonly versions: EntryVersions },
): ParamLookup {
  return {
    resourceOf,
    objectsOf: async (resource, namespace) => {
      const place = namespace === "" ? "" : `${namespace}/`;
      const shown = await versions.shownAll(resource, [...cache.list(storagePrefix(resource) + place)]);
      return shown.map(objectOf);
    },
    objectOf: async (resource, namespace, name) => {
      // Names from a binding must each be one path segment.
      const entry = cache.get(storagePrefix(resource) + (namespace === "" ? name : `${namespace}/${name}`));
      return entry === undefined ? undefined : objectOf(await versions.shown(resource, entry));
    },
  };
}
