import { labelSelectorFrom, matchesLabels } from "../apimachinery/label-selector.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import { SelectorError } from "../apimachinery/selector-error.ts";
import type { Resource } from "../apis/resource.ts";
import type { BindingTarget, CompiledTerms } from "./policy.ts";

/** Where parameters are looked up; both see every acknowledged write. */
export interface ParamLookup {
  readonly resourceOf: (apiVersion: string, kind: string) => Resource | undefined;
  /** The objects of a resource, in one namespace, or all of a cluster-scoped one. @throws StatusError */
  readonly objectsOf: (resource: Resource, namespace: string) => Promise<readonly ApiObject[]>;
  readonly objectOf: (resource: Resource, namespace: string, name: string) => Promise<ApiObject | undefined>;
}

/** The parameters of a binding, each of which is evaluated; `undefined` among them stands for none. Or why there are none. */
export type Params = { readonly params: readonly (ApiObject | undefined)[] } | { readonly problem: string };

/** Source: apiserver pkg/admission/plugin/policy/generic CollectParams. */
export async function bindingParams(
  { paramKind }: Pick<CompiledTerms, "paramKind">,
  { paramRef }: Pick<BindingTarget, "paramRef">,
  { namespace, lookup }: { readonly namespace: string; readonly lookup: ParamLookup },
): Promise<Params> {
  if (paramKind === undefined || paramRef === undefined) return { params: [undefined] };
  const resource = lookup.resourceOf(paramKind.apiVersion, paramKind.kind);
  if (resource === undefined) {
    return { problem: `paramKind kind \`${paramKind.apiVersion}, Kind=${paramKind.kind}\` not known` };
  }
  const isNamespaced = resource.scope === "Namespaced";
  const own = paramRef.namespace ?? "";
  if (!isNamespaced && own !== "") {
    return { problem: "paramRef.namespace must not be provided for a cluster-scoped `paramKind`" };
  }
  const place = isNamespaced && own === "" ? namespace : own;
  if (isNamespaced && place === "") {
    return { problem: "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources" };
  }
  const found = await lookedUp(resource, place, { paramRef, lookup });
  if ("params" in found && found.params.length === 0 && paramRef.parameterNotFoundAction !== "Allow") {
    return { problem: "no params found for policy binding with `Deny` parameterNotFoundAction" };
  }
  return found;
}

async function lookedUp(
  resource: Resource,
  namespace: string,
  { paramRef, lookup }: { readonly paramRef: NonNullable<BindingTarget["paramRef"]>; readonly lookup: ParamLookup },
): Promise<Params> {
  const { name = "", selector } = paramRef;
  if (name !== "") {
    const object = await lookup.objectOf(resource, namespace, name);
    return { params: object === undefined ? [] : [object] };
  }
  if (selector === undefined) return { problem: "one of name or selector must be provided" };
  try {
    const labels = labelSelectorFrom(selector);
    const objects = await lookup.objectsOf(resource, namespace);
    return { params: objects.filter((object) => matchesLabels(labels, object.metadata.labels)) };
  } catch (error) {
    if (error instanceof SelectorError) return { problem: error.message };
    throw error;
  }
}
