import { compiledBinding, compiledPolicy, type CompiledPolicy } from "../admission/policy.ts";
import type { ParamLookup } from "../admission/policy-params.ts";
import type { BoundPolicy } from "../admission/validating-policies.ts";
import { objectOf } from "../registry/entry.ts";
import type { EntryVersions } from "../registry/entry-versions.ts";
import { storagePrefix } from "../resources/resource.ts";
import type { ValidatingAdmissionPolicyBinding } from "../resources/validating-admission-policy-binding.ts";
import type { ValidatingAdmissionPolicy } from "../resources/validating-admission-policy.ts";
import type { WatchCache } from "../storage/watch-cache.ts";
import { compiledObjects } from "./compiled-objects.ts";

const group = "admissionregistration.k8s.io";

/** Policies and bindings; each counts before its write is acknowledged. */
export interface AdmissionPolicies {
  /** The policies in force with their bindings. */
  readonly bound: () => readonly BoundPolicy[];
  /** The paramKind of a policy, in force or not; undefined without one. */
  readonly paramKindOf: (policy: string) => CompiledPolicy["paramKind"];
}

/** Follows the policies and bindings in the cache. */
export function admissionPolicies(cache: WatchCache): AdmissionPolicies {
  const policies = compiledObjects(cache, {
    prefix: storagePrefix({ group, plural: "validatingadmissionpolicies" }),
    compile: (entry) => compiledPolicy(objectOf(entry) as ValidatingAdmissionPolicy),
  });
  const bindings = compiledObjects(cache, {
    prefix: storagePrefix({ group, plural: "validatingadmissionpolicybindings" }),
    compile: (entry) => compiledBinding(objectOf(entry) as ValidatingAdmissionPolicyBinding),
  });
  let from: readonly unknown[] = [];
  let bound: readonly BoundPolicy[] = [];
  const inForce = (): readonly BoundPolicy[] => {
    const [allPolicies, allBindings] = [policies(), bindings()];
    if (from[0] !== allPolicies || from[1] !== allBindings) {
      from = [allPolicies, allBindings];
      bound = allPolicies
        .map((policy) => ({ policy, bindings: allBindings.filter(({ policyName }) => policyName === policy.name) }))
        .filter((one) => one.bindings.length > 0);
    }
    return bound;
  };
  return {
    bound: inForce,
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
