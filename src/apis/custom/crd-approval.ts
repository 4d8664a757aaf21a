import { invalid, required, type FieldError } from "../../apimachinery/field-error.ts";
import type { ApiObject } from "../../apimachinery/object.ts";
import { stringAt } from "../json-fields.ts";

const approvalAnnotation = "api-approved.kubernetes.io";
const policy = "see https://github.com/kubernetes/enhancements/pull/1111";

/** What the annotation of a definition in a group of Kubernetes says of its approval. */
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

/** What is wrong with the approval of a new definition, or with one that has changed. */
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
