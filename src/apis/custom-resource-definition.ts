import { setCondition } from "../apimachinery/conditions.ts";
import type { ApiObject, Condition } from "../apimachinery/object.ts";
import { crdErrorSteps, crdErrors, crdUpdateErrors, storedVersionErrors } from "./custom/crd-validation.ts";
import { cleanupFinalizer, completeNames } from "./custom/crd-object.ts";
import { arrayAt, fieldListAt, fieldsAt, isFields, isTrueAt, stringAt, stringsAt, withField } from "./json-fields.ts";
import { builtinKind, textColumn } from "./builtin-kind.ts";
import type { Column, Resource, Subresource } from "./resource.ts";
import { defaultedClientConfig } from "./webhook-client.ts";

const columns: readonly Column[] = [
  {
    ...textColumn(
      "Created At",
      "When the server created the definition, in RFC 3339 form and in UTC.",
      "metadata",
      "creationTimestamp",
    ),
    type: "date",
  },
];

const status: Subresource = {
  verbs: ["get", "patch", "update"],
  prepareForUpdate: (incoming, stored) => ({
    ...withField(stored, "status", incoming["status"]),
    metadata: incoming.metadata,
  }),
  validateUpdate: (next) => storedVersionErrors(next),
  table: false,
};

/**
 * Kinds that are created at run time. A stored definition becomes a kind once its names are accepted; deleting it deletes all
 * objects of that kind. Source: apiextensions-apiserver apis/apiextensions/v1.
 */
export const customResourceDefinitions: Resource = builtinKind({
  group: "apiextensions.k8s.io",
  kind: "CustomResourceDefinition",
  shortNames: ["crd", "crds"],
  categories: ["api-extensions"],
  scope: "Cluster",
  schema: "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition",
  columns,
  subresources: { status },
  names: "path",
  deleteReturnsObject: true,
  generation: true,
  prepareForCreate: (object) => {
    const next = withDefaults(object);
    return withField(next, "status", { storedVersions: storageVersions(next) });
  },
  prepareForUpdate: (incoming, stored) => {
    const next = withDefaults(incoming);
    const before = fieldsAt(stored, "status");
    const known = stringsAt(before, "storedVersions");
    const added = storageVersions(next).filter((version) => !known.includes(version));
    return withField(next, "status", added.length === 0 ? before : { ...before, storedVersions: [...known, ...added] });
  },
  validate: crdErrors,
  validateInSteps: crdErrorSteps,
  validateUpdate: crdUpdateErrors,
  deletion: { marked: markForDeletion },
});

function storageVersions(crd: ApiObject): readonly string[] {
  return fieldListAt(crd, "spec", "versions")
    .filter((version) => isTrueAt(version, "storage"))
    .map((version) => stringAt(version, "name"))
    .slice(0, 1);
}

/** Source: apiextensions/v1 defaults.go. */
function withDefaults(crd: ApiObject): ApiObject {
  const spec = fieldsAt(crd, "spec");
  const names = fieldsAt(spec, "names");
  const conversion = fieldsAt(spec, "conversion");
  const webhook = conversion["webhook"];
  return withField(crd, "spec", {
    ...spec,
    names: completeNames(names),
    conversion: {
      ...conversion,
      ...(stringAt(conversion, "strategy") === "" ? { strategy: "None" } : {}),
      ...(isFields(webhook) ? { webhook: { ...webhook, ...defaultedClientConfig(webhook) } } : {}),
    },
  });
}

/** A definition that is being deleted stays until its objects are deleted, with the condition Terminating. A second deletion changes nothing. */
function markForDeletion(crd: ApiObject): ApiObject {
  const conditions = arrayAt(crd, "status", "conditions") as readonly Condition[];
  if (conditions.some((one) => one.type === "Terminating")) return crd;
  const { finalizers = [], deletionTimestamp = "" } = crd.metadata;
  const terminating: Condition = {
    type: "Terminating",
    status: "True",
    reason: "InstanceDeletionPending",
    message: "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
  };
  return {
    ...crd,
    metadata: {
      ...crd.metadata,
      finalizers: finalizers.includes(cleanupFinalizer) ? finalizers : [...finalizers, cleanupFinalizer],
    },
    status: { ...fieldsAt(crd, "status"), conditions: setCondition(conditions, terminating, deletionTimestamp) },
  };
}
