import { labelSelectorFrom, matchesLabels, type LabelSelector } from "../apimachinery/label-selector.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import { SelectorError } from "../apimachinery/selector-error.ts";
import { internalError, notFound } from "../apimachinery/status.ts";
import type { MatchResources, AdmissionRule } from "../apis/admission-match.ts";
import { type Resource, kindOf } from "../apis/resource.ts";
import type { AdmissionRequest } from "./admission.ts";

/** What decides whether a webhook, policy or binding matches a request. */
export interface RequestMatch {
  /** Undefined for an invalid selector: every request that the rules match then fails. */
  readonly selectors: { readonly namespace: LabelSelector; readonly object: LabelSelector } | undefined;
  /** Undefined matches every request. */
  readonly rules: readonly AdmissionRule[] | undefined;
  readonly excluded: readonly AdmissionRule[];
  readonly equivalent: boolean;
}

/** The lookups of matching; both see every acknowledged write. */
export interface MatchLookups {
  readonly namespaceOf: (name: string) => ApiObject | undefined;
  /** All served versions of the resource, this one included. */
  readonly versionsOf: (resource: Resource) => readonly Resource[];
}

/** The match of stored selectors and rules. Without rules, `MatchResources` matches every request. */
export function requestMatch(stored: MatchResources, rules: readonly AdmissionRule[] | undefined): RequestMatch {
  return {
    selectors: selectorsOf(stored),
    rules,
    excluded: stored.excludeResourceRules ?? [],
    equivalent: stored.matchPolicy !== "Exact",
  };
}

function selectorsOf({ namespaceSelector = {}, objectSelector = {} }: MatchResources): RequestMatch["selectors"] {
  try {
    return { namespace: labelSelectorFrom(namespaceSelector), object: labelSelectorFrom(objectSelector) };
  } catch (error) {
    if (error instanceof SelectorError) return undefined;
    throw error;
  }
}

/** Configurations of admission itself, which no webhook or policy may block. */
const exemptKinds: ReadonlySet<string> = new Set([
  "ValidatingWebhookConfiguration",
  "MutatingWebhookConfiguration",
  "ValidatingAdmissionPolicy",
  "ValidatingAdmissionPolicyBinding",
  "MutatingAdmissionPolicy",
  "MutatingAdmissionPolicyBinding",
]);

/** Whether webhooks and policies are skipped, so that a wrong one can always be corrected. */
export function isExempt({ resource }: Pick<AdmissionRequest, "resource">): boolean {
  return resource.group === "admissionregistration.k8s.io" && exemptKinds.has(resource.kind);
}

/** Whether the request is about an object of kind Namespace. */
export function isNamespaceKind({ resource }: Pick<AdmissionRequest, "resource">): boolean {
  return resource.group === "" && resource.plural === "namespaces";
}

/** The namespace of a request in admission: a Namespace counts as in itself. */
export function admissionNamespace(request: Pick<AdmissionRequest, "resource" | "namespace" | "name">): string {
  return isNamespaceKind(request) ? request.name : request.namespace;
}

/**
 * The version by which the request matches, the requested one before others; undefined where it does not match. @throws StatusError
 * NotFound where the namespace is missing, InternalError for an invalid selector.
 */
export function matchedResource(
  match: RequestMatch,
  request: AdmissionRequest,
  lookups: MatchLookups,
): Resource | undefined {
  const { selectors } = match;
  const isSelected = selectors === undefined || objectSelected(selectors.object, request);
  if (!isSelected) return undefined;
  const versions = match.equivalent ? lookups.versionsOf : undefined;
  if (matchedByRules(match.excluded, request, versions) !== undefined) return undefined;
  const found = match.rules === undefined ? request.resource : matchedByRules(match.rules, request, versions);
  if (found === undefined) return undefined;
  if (selectors === undefined) throw internalError("a label selector of the configuration cannot be read");
  return namespaceSelected(selectors.namespace, request, lookups) ? found : undefined;
}

/** Without `versionsOf`, other versions than that of the request do not count. */
function matchedByRules(
  rules: readonly AdmissionRule[],
  request: AdmissionRequest,
  versionsOf: MatchLookups["versionsOf"] | undefined,
): Resource | undefined {
  if (rules.length === 0) return undefined;
  if (matchesAnyRule(rules, request)) return request.resource;
  if (versionsOf === undefined) return undefined;
  const others = versionsOf(request.resource).filter((one) => one.version !== request.resource.version);
  if (others.length === 0) return undefined;
  // Earlier rules come first, whichever version they name.
  for (const rule of rules) {
    const other = others.find((resource) => matchesAnyRule([rule], { ...request, resource }));
    if (other !== undefined) return other;
  }
  return undefined;
}

function objectSelected(selector: LabelSelector, { object, oldObject }: AdmissionRequest): boolean {
  if (selector.length === 0) return true;
  return [object, oldObject].some((one) => one !== undefined && matchesLabels(selector, one.metadata.labels));
}

/** Cluster-scoped objects are in no namespace and always selected, except namespaces, which their own labels select. */
function namespaceSelected(selector: LabelSelector, request: AdmissionRequest, { namespaceOf }: MatchLookups): boolean {
  const name = admissionNamespace(request);
  if (selector.length === 0 || (name === "" && !isNamespaceKind(request))) return true;
  const isWritten = isNamespaceKind(request) && request.subresource === "" && request.object !== undefined;
  const namespace = isWritten ? request.object : (namespaceOf(name) ?? namespaceItself(request));
  if (namespace === undefined) throw notFound({ group: "", plural: "namespaces" }, name);
  return matchesLabels(selector, namespace.metadata.labels);
}

function namespaceItself(request: AdmissionRequest): ApiObject | undefined {
  return isNamespaceKind(request) ? request.oldObject : undefined;
}

/** The fields of a write that rules match; `resource` may be another version than the requested one. */
export type RuleSubject = Pick<AdmissionRequest, "operation" | "subresource" | "namespace" | "name"> & {
  readonly resource: Pick<Resource, "group" | "version" | "plural" | "scope">;
};

/** Whether any of the rules matches the write. Source: apiserver pkg/admission/plugin/webhook/predicates/rules. */
export function matchesAnyRule(rules: readonly AdmissionRule[], subject: RuleSubject): boolean {
  return rules.some((rule) => matchesRule(rule, subject));
}

function matchesRule(rule: AdmissionRule, { operation, resource, subresource, name }: RuleSubject): boolean {
  const { scope = "*", resources = [], resourceNames = [] } = rule;
  return (
    (scope === "*" || scope === resource.scope) &&
    listed(rule.operations, operation) &&
    listed(rule.apiGroups, resource.group) &&
    listed(rule.apiVersions, resource.version) &&
    resources.some((one) => isNamed(one, resource.plural, subresource)) &&
    isListedOrAny(resourceNames, name)
  );
}

function isListedOrAny(names: readonly string[], name: string): boolean {
  return names.length === 0 || names.includes(name);
}

function listed(items: readonly string[] = [], wanted: string): boolean {
  return items.includes("*") || items.includes(wanted);
}

/** `pods`, `pods/log`, `pods/*`, `*`, `*` with a subresource, and `*` with all of them. Without a slash, subresources do not match. */
function isNamed(pattern: string, plural: string, subresource: string): boolean {
  const slash = pattern.indexOf("/");
  const [resource, part] = slash < 0 ? [pattern, ""] : [pattern.slice(0, slash), pattern.slice(slash + 1)];
  return (resource === "*" || resource === plural) && (part === "*" || part === subresource);
}

/** An object of a resource in another version of it. @throws StatusError InternalError */
export type ConvertObject = (object: ApiObject, to: Resource) => Promise<ApiObject>;

/** A request, and the version by which it matched a webhook or a policy. */
export interface Presentation {
  readonly request: AdmissionRequest;
  readonly resource: Resource;
  readonly convert: ConvertObject;
}

/** The objects of a request as webhooks and policies see them: a subresource of another kind as that kind, all else in the matched version. */
export async function presentedObjects({
  request,
  resource,
  convert,
}: Presentation): Promise<Pick<AdmissionRequest, "object" | "oldObject">> {
  const shownAs = request.subresource === "" ? undefined : request.resource.subresources[request.subresource]?.shownAs;
  const presented = async (object: ApiObject | undefined): Promise<ApiObject | undefined> => {
    if (object === undefined) return undefined;
    if (shownAs !== undefined) return shownAs.show(object);
    // Connection options have no versions.
    if (request.operation === "CONNECT") return object;
    return resource === request.resource ? object : convert(object, resource);
  };
  return { object: await presented(request.object), oldObject: await presented(request.oldObject) };
}

/** The result of `change` on the object in the matched version; its kind is a parameter. Converted to the version of the request. */
export async function changedObject(
  { request, resource, convert }: Presentation,
  object: ApiObject,
  change: (presented: ApiObject, kind: Resource) => ApiObject | Promise<ApiObject>,
): Promise<ApiObject> {
  const part = request.resource.subresources[request.subresource];
  const shownAs = part?.shownAs;
  if (shownAs !== undefined) {
    const { kind, show, write } = shownAs;
    return write(await change(show(object), kind), object);
  }
  if (resource === request.resource) return change(object, kindOf(resource, part));
  return convert(await change(await convert(object, resource), resource), request.resource);
}
