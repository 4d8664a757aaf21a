import type { WebhookClientConfig } from "../../apimachinery/webhook-call.ts";
import { isConditionTrue } from "../../apimachinery/conditions.ts";
import { invalid, required, type FieldError } from "../../apimachinery/field-error.ts";
import type { ApiObject, Condition } from "../../apimachinery/object.ts";
import { arrayAt, fieldsAt, stringAt } from "../json-fields.ts";

/** A CustomResourceDefinition that has passed validation. Source: apiextensions-apiserver apis/apiextensions/v1. */
export interface CustomResourceDefinition extends ApiObject {
  readonly spec: CrdSpec;
  readonly status?: CrdStatus;
}

export interface CrdSpec {
  readonly group: string;
  readonly names: CrdNames;
  readonly scope: "Namespaced" | "Cluster";
  readonly versions: readonly CrdVersion[];
  readonly conversion?: CrdConversion;
}

/** The names of a kind. */
export interface CrdNames {
  readonly plural: string;
  readonly singular?: string;
  readonly shortNames?: readonly string[];
  readonly kind: string;
  readonly listKind?: string;
  readonly categories?: readonly string[];
}

export interface CrdVersion {
  readonly name: string;
  readonly served: boolean;
  readonly storage: boolean;
  readonly schema?: { readonly openAPIV3Schema?: unknown };
  readonly subresources?: { readonly status?: object; readonly scale?: ScalePaths };
  readonly additionalPrinterColumns?: readonly PrinterColumn[];
  readonly selectableFields?: readonly { readonly jsonPath: string }[];
  readonly deprecated?: boolean;
  readonly deprecationWarning?: string;
}

/** The paths of the replica counts of an object, as simple JSON paths. */
export interface ScalePaths {
  readonly specReplicasPath: string;
  readonly statusReplicasPath: string;
  readonly labelSelectorPath?: string;
}

export interface PrinterColumn {
  readonly name: string;
  readonly type: "integer" | "number" | "string" | "boolean" | "date";
  readonly format?: string;
  readonly description?: string;
  readonly priority?: number;
  readonly jsonPath: string;
}

export interface CrdConversion {
  readonly strategy: "None" | "Webhook";
  readonly webhook?: ConversionWebhook;
}

/** A webhook that converts objects between versions. */
export interface ConversionWebhook {
  readonly clientConfig?: WebhookClientConfig;
  readonly conversionReviewVersions: readonly string[];
}

export interface CrdStatus {
  readonly conditions?: readonly Condition[];
  readonly acceptedNames?: CrdNames;
  readonly storedVersions?: readonly string[];
}

/** The finalizer that keeps a definition until its objects are deleted. */
export const cleanupFinalizer = "customresourcecleanup.apiextensions.k8s.io";

/** The names with their defaults: the singular is the kind in lower case, the list kind is the kind and `List`. */
export function completeNames<T extends Partial<CrdNames>>(names: T): T {
  const { kind = "", singular = "", listKind = "" } = names;
  if (kind === "") return names;
  return {
    ...names,
    singular: singular === "" ? kind.toLowerCase() : singular,
    listKind: listKind === "" ? `${kind}List` : listKind,
  };
}

/** Whether the kind of a definition is in use: its names were accepted, and it was established. */
export function isEstablished(crd: CustomResourceDefinition): boolean {
  return isConditionTrue(crd.status?.conditions, "Established");
}

/** Whether an object has the fields of every valid definition; a stored one was valid once. */
export function isDefinition(object: ApiObject): object is CustomResourceDefinition {
  const names = fieldsAt(object, "spec", "names");
  return (
    stringAt(object, "spec", "group") !== "" &&
    stringAt(names, "plural") !== "" &&
    stringAt(names, "kind") !== "" &&
    arrayAt(object, "spec", "versions").length > 0
  );
}

const approvalAnnotation = "api-approved.kubernetes.io";
const policy = "see https://github.com/kubernetes/enhancements/pull/1111";

/** The meaning of the approval annotation of a definition in a group of Kubernetes. */
export interface Approval {
  readonly state: "missing" | "invalid" | "bypassed" | "approved";
  readonly why: string;
}

/** The approval of a definition; undefined where its group needs none. Source: apiextensions-apiserver pkg/apihelpers. */
export function approvalOf(crd: ApiObject): Approval | undefined {
  if (!isCommunityGroup(stringAt(crd, "spec", "group"))) return undefined;
  const annotation = crd.metadata.annotations?.[approvalAnnotation] ?? "";
  const must = `protected groups must have approval annotation ${JSON.stringify(approvalAnnotation)}`;
  if (annotation === "") return { state: "missing", why: `${must}, ${policy}` };
  if (annotation.startsWith("unapproved")) {
    return { state: "bypassed", why: `not approved: ${JSON.stringify(annotation)}` };
  }
  if (isUrl(annotation)) return { state: "approved", why: `approved in ${annotation}` };
  return { state: "invalid", why: `${must} with either a URL or a reason starting with "unapproved", ${policy}` };
}

/** Errors of the approval of a new definition, or of a changed one. */
export function approvalErrors(crd: ApiObject, stored: ApiObject | undefined): readonly FieldError[] {
  const approval = approvalOf(crd);
  if (approval === undefined || (stored !== undefined && approvalOf(stored)?.state === approval.state)) return [];
  const path = `metadata.annotations[${approvalAnnotation}]`;
  if (approval.state === "missing") return [required(path, approval.why)];
  if (approval.state !== "invalid") return [];
  return [invalid(path, crd.metadata.annotations?.[approvalAnnotation], approval.why)];
}

function isCommunityGroup(group: string): boolean {
  return ["k8s.io", "kubernetes.io"].some((domain) => group === domain || group.endsWith(`.${domain}`));
}

function isUrl(text: string): boolean {
  return URL.canParse(text) && new URL(text).host !== "";
}
