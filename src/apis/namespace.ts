import { type FieldError, invalid } from "../apimachinery/field-error.ts";
import { qualifiedNameProblems } from "../apimachinery/names.ts";
import type { ApiObject, Condition } from "../apimachinery/object.ts";
import { collectErrors, nameErrors } from "./field-rules.ts";
import { ageColumn, textColumn, builtinKind } from "./builtin-kind.ts";
import { fieldsAt, stringAt, stringsAt, withField, withMetadata } from "./json-fields.ts";
import { validateFinalizerDomain } from "./object-validation.ts";
import type { Column, Resource, Subresource } from "./resource.ts";

/** A scope of names for namespaced objects, with a life cycle of its own. Source: api/core/v1 Namespace. */
export interface Namespace extends ApiObject {
  readonly spec?: { readonly finalizers?: readonly string[] };
  readonly status?: { readonly phase?: "Active" | "Terminating"; readonly conditions?: readonly Condition[] };
}

/** The finalizer in `spec.finalizers` that is present until the contents are deleted. */
export const namespaceContentFinalizer = "kubernetes";

/** The label that carries a namespace's own name, for selectors. */
const namespaceNameLabel = "kubernetes.io/metadata.name";

/** The namespaces that a control plane creates at start. */
export const systemNamespaces: readonly string[] = ["default", "kube-system", "kube-public", "kube-node-lease"];

const columns: readonly Column[] = [
  textColumn("Status", "The phase of the namespace: Active or Terminating.", "status", "phase"),
  ageColumn,
];

const status: Subresource = {
  verbs: ["get", "patch", "update"],
  prepareForUpdate: (incoming, stored) => withPhase(withField(withNameLabel(incoming), "spec", stored["spec"])),
  validateUpdate: (next) => validatePhase(next),
};

const finalize: Subresource = {
  verbs: ["update"],
  prepareForUpdate: (incoming, stored) => withField(withNameLabel(incoming), "status", stored["status"]),
  validateUpdate: (next) => validateFinalizers(next),
  table: false,
};

export const namespaces: Resource = builtinKind({
  group: "",
  kind: "Namespace",
  shortNames: ["ns"],
  scope: "Cluster",
  verbs: ["create", "delete", "get", "list", "patch", "update", "watch"],
  schema: "io.k8s.api.core.v1.Namespace",
  columns,
  subresources: { status, finalize },
  names: "dns-label",
  unconditionalUpdate: true,
  deleteReturnsObject: true,
  serverFields: { "f:spec": { "f:finalizers": {} } },
  prepareForCreate: (object) => {
    const finalizers = stringsAt(object, "spec", "finalizers");
    const all = finalizers.includes(namespaceContentFinalizer)
      ? finalizers
      : [...finalizers, namespaceContentFinalizer];
    return { ...withNameLabel(object), spec: { finalizers: all }, status: { phase: "Active" } };
  },
  prepareForUpdate: (incoming, stored) =>
    withField(withField(withNameLabel(incoming), "spec", stored["spec"]), "status", stored["status"]),
  validate: validateFinalizers,
  deletion: {
    emptied: true,
    held: (object) => stringsAt(object, "spec", "finalizers").length > 0,
    marked: (object) => withField(object, "status", { ...fieldsAt(object, "status"), phase: "Terminating" }),
  },
  selectableFields: { "status.phase": (object) => stringAt(object, "status", "phase") },
});

function withPhase(object: ApiObject): ApiObject {
  if (stringAt(object, "status", "phase") !== "") return object;
  return withField(object, "status", { ...fieldsAt(object, "status"), phase: "Active" });
}

function withNameLabel(object: ApiObject): ApiObject {
  const name = object.metadata.name;
  if (name === undefined) return object;
  return withMetadata(object, { labels: { ...object.metadata.labels, [namespaceNameLabel]: name } });
}

function validateFinalizers(object: ApiObject): readonly FieldError[] {
  const path = "spec.finalizers";
  return collectErrors(stringsAt(object, "spec", "finalizers"), (finalizer) => [
    nameErrors(path, finalizer, qualifiedNameProblems),
    validateFinalizerDomain(finalizer, path),
  ]);
}

function validatePhase(next: ApiObject): readonly FieldError[] {
  const phase = stringAt(next, "status", "phase");
  const isDeleted = next.metadata.deletionTimestamp !== undefined;
  const only = isDeleted ? "Terminating" : "Active";
  const why = `may only be '${only}' if \`deletionTimestamp\` is ${isDeleted ? "not empty" : "empty"}`;
  return phase === only ? [] : [invalid("status.Phase", phase, why)];
}
