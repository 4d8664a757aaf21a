import type { ApiObject } from "../apimachinery/object.ts";
import { jsonEqual } from "../apimachinery/equal.ts";
import { forbiddenField, invalidObject } from "../apimachinery/field-error.ts";
import { mastersGroup } from "../apimachinery/user.ts";
import type { PolicyTerms } from "../apis/admission-policy.ts";
import type { BindingTerms } from "../apis/admission-policy-binding.ts";
import type { Resource } from "../apis/resource.ts";
import type { AccessCheck, AdmissionPlugin, AdmissionRequest } from "./admission.ts";
import type { CompiledTerms } from "./policy.ts";

export interface PolicyParamAccessOptions {
  readonly may: AccessCheck;
  readonly resourceOf: (apiVersion: string, kind: string) => Resource | undefined;
  /** The paramKind of a policy, by the kind of the policy; undefined where the policy is missing or has none. */
  readonly paramKindOf: Readonly<Record<PolicyKind, (policy: string) => CompiledTerms["paramKind"]>>;
}

type PolicyKind = "ValidatingAdmissionPolicy" | "MutatingAdmissionPolicy";

const policyGroup = "admissionregistration.k8s.io";

/** Any resource, where the parameter resource is unknown. */
const anything = { group: "*", version: "*", resource: "*" };

/**
 * Requires read permission for objects that a policy uses as parameters: its messages could reveal their contents. Source: kubernetes
 * pkg/registry/admissionregistration, the strategies of policies and bindings.
 */
export function policyParamAccess(options: PolicyParamAccessOptions): AdmissionPlugin {
  return {
    name: "PolicyParamAccess",
    concerns: ({ group }) => group === policyGroup,
    validate: async (request) => {
      const { resource, subresource, operation, user } = request;
      if (resource.group !== policyGroup || subresource !== "" || operation === "DELETE") return;
      if (user.groups.includes(mastersGroup)) return;
      for (const kind of Object.keys(options.paramKindOf) as PolicyKind[]) {
        if (resource.kind === kind) await checkPolicy(request, options);
        if (resource.kind === `${kind}Binding`) await checkBinding(request, options, options.paramKindOf[kind]);
      }
    },
  };
}

async function checkPolicy(request: AdmissionRequest, { may, resourceOf }: PolicyParamAccessOptions): Promise<void> {
  const next = specOf<PolicyTerms>(request.object).paramKind;
  const before = specOf<PolicyTerms>(request.oldObject).paramKind;
  if (next === undefined || (before !== undefined && jsonEqual(next, before))) return;
  const { apiVersion = "", kind = "" } = next;
  const wanted = { ...readable({ apiVersion, kind }, resourceOf), subresource: "", namespace: "*", name: "*" };
  if ((await may({ user: request.user, verb: "get", ...wanted })).allowed) return;
  refuse(
    request,
    "spec.paramKind",
    `user ${request.user.username} must have "get" permission on all objects of the referenced paramKind (kind=${kind}, apiVersion=${apiVersion})`,
  );
}

async function checkBinding(
  request: AdmissionRequest,
  options: Pick<PolicyParamAccessOptions, "may" | "resourceOf">,
  paramKindOf: PolicyParamAccessOptions["paramKindOf"][PolicyKind],
): Promise<void> {
  const { paramRef, policyName = "" } = specOf<BindingTerms>(request.object);
  const before = specOf<BindingTerms>(request.oldObject);
  if (paramRef === undefined || jsonEqual([paramRef, policyName], [before.paramRef, before.policyName])) return;
  const { namespace = "", name = "" } = paramRef;
  const kind = paramKindOf(policyName);
  const verb = name === "" ? "list" : "get";
  const wanted = { ...readable(kind, options.resourceOf), subresource: "", namespace, name };
  if ((await options.may({ user: request.user, verb, ...wanted })).allowed) return;
  refuse(
    request,
    "spec.paramRef",
    `user ${request.user.username} does not have ${JSON.stringify(verb)} permission on the object referenced by paramRef`,
  );
}

function specOf<Terms>(object: ApiObject | undefined): Partial<Terms> {
  return object?.["spec"] ?? {};
}

function readable(
  kind: { readonly apiVersion: string; readonly kind: string } | undefined,
  resourceOf: PolicyParamAccessOptions["resourceOf"],
): typeof anything {
  if (kind === undefined) return anything;
  const found = resourceOf(kind.apiVersion, kind.kind);
  return found === undefined ? anything : { group: found.group, version: found.version, resource: found.plural };
}

function refuse({ resource, name }: AdmissionRequest, path: string, why: string): never {
  throw invalidObject(resource, name, [forbiddenField(path, why)]);
}
