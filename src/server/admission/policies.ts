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
  type ParamLookup,
} from "../../admission/policy.ts";
import { objectOf } from "../../registry/entry.ts";
import type { EntryVersions } from "../../registry/conversion.ts";
import { mutatingAdmissionPolicies } from "../../apis/mutating-admission-policy.ts";
import {
  mutatingAdmissionPolicyBindings,
  validatingAdmissionPolicyBindings,
} from "../../apis/admission-policy-binding.ts";
import { storagePrefix, type Resource } from "../../apis/resource.ts";
import { validatingAdmissionPolicies } from "../../apis/validating-admission-policy.ts";
import type { WatchCache } from "../../storage/watch-cache.ts";
import type { Entry } from "../../storage/stored-object.ts";
import { compiledObjects } from "../../storage/compiled-objects.ts";

/** Policies and bindings of one kind; each counts before its write is acknowledged. */
export interface AdmissionPolicies<Policy, Binding> {
  /** The policies in force with their bindings. */
  readonly bound: () => readonly BoundPolicy<Policy, Binding>[];
  /** The paramKind of a policy, in force or not; undefined without one. */
  readonly paramKindOf: (policy: string) => CompiledTerms["paramKind"];
}

/** Follows the policies that validate in the cache. */
export function validatingPoliciesIn(cache: WatchCache): AdmissionPolicies<CompiledPolicy, CompiledBinding> {
  return boundPolicies(cache, {
    policies: { resource: validatingAdmissionPolicies, compile: (entry) => compiledPolicy(objectOf(entry)) },
    bindings: { resource: validatingAdmissionPolicyBindings, compile: (entry) => compiledBinding(objectOf(entry)) },
  });
}

/** Follows the policies that mutate in the cache. */
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

/** Parameters, as they are in the watch cache at this moment. */
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
      // Names from a binding are one segment of a path each.
      const entry = cache.get(storagePrefix(resource) + (namespace === "" ? name : `${namespace}/${name}`));
      return entry === undefined ? undefined : objectOf(await versions.shown(resource, entry));
    },
  };
}
