import { type FieldError, forbiddenField, invalid, required, tooLong } from "../apimachinery/field-error.ts";
import {
  dnsLabelProblems,
  dnsSubdomainProblems,
  labelValueProblems,
  pathSegmentProblems,
  qualifiedNameProblems,
} from "../apimachinery/names.ts";
import type { ApiObject, ObjectMeta, OwnerReference } from "../apimachinery/object.ts";
import { utf8Length } from "../apimachinery/utf8.ts";
import { collectErrors, fieldErrors, nameErrors, type FieldResult } from "./field-rules.ts";
import { fieldListAt, isSameJson, stringAt } from "./json-fields.ts";
import type { Resource } from "./resource.ts";

const maxAnnotationBytes = 256 * 1024;
/** Kubernetes does not limit path names and relies on etcd; the store needs a limit of its keys. */
const maxPathNameBytes = 512;
const maxManagerBytes = 128;
const orphanFinalizer = "orphan";
const foregroundFinalizer = "foregroundDeletion";

/**
 * Errors of the metadata of an object whose name was generated already. With `isCreate` false
 * generateName, name and namespace are skipped, since an update cannot change them. Source: apimachinery api/validation/objectmeta.go.
 */
export function validateObjectMeta(
  object: ApiObject,
  resource: Pick<Resource, "group" | "names" | "scope">,
  options: { readonly isCreate: boolean },
): readonly FieldError[] {
  const { metadata } = object;
  return [
    ...(options.isCreate ? [...validateName(metadata, resource), ...validateNamespace(metadata, resource)] : []),
    ...validateLabels(metadata),
    ...validateAnnotations(metadata),
    ...validateOwnerReferences(metadata),
    ...validateFinalizers(metadata, resource),
    ...validateManagedFields(metadata),
  ];
}

/**
 * Errors of an update of metadata; the server has restored its own fields (uid, times) where the client
 * omitted them. Runs in addition to `validateObjectMeta`. Source: apimachinery api/validation ValidateObjectMetaUpdate.
 */
export function validateObjectMetaUpdate(next: ApiObject, stored: ApiObject): readonly FieldError[] {
  return fieldErrors(
    validateNoNewFinalizers(next.metadata, stored.metadata),
    immutableFields
      .filter((field) => !isSameJson(next.metadata[field], stored.metadata[field]))
      .map((field) => invalid(`metadata.${field}`, next.metadata[field] ?? "null", "field is immutable")),
  );
}

const immutableFields = [
  "name",
  "namespace",
  "uid",
  "creationTimestamp",
  "deletionTimestamp",
  "deletionGracePeriodSeconds",
] as const satisfies readonly (keyof ObjectMeta)[];

function validateName(metadata: ObjectMeta, resource: Pick<Resource, "names">): readonly FieldError[] {
  const name = stringAt(metadata, "name");
  const prefix = stringAt(metadata, "generateName");
  return fieldErrors(
    prefix !== "" && prefixProblems(prefix, resource.names).map((why) => invalid("metadata.generateName", prefix, why)),
    name === ""
      ? required("metadata.name", "name or generateName is required")
      : nameProblems(name, resource.names).map((why) => invalid("metadata.name", name, why)),
  );
}

/** Errors of an object's name under one of the three rules; empty when it is valid. */
export function nameProblems(name: string, rule: Resource["names"]): readonly string[] {
  switch (rule) {
    case "dns-label":
      return dnsLabelProblems(name);
    case "dns-subdomain":
      return dnsSubdomainProblems(name);
    case "path":
      return [...pathSegmentProblems(name), ...storageProblems(name)];
  }
}

/** A prefix may end in a hyphen, since letters follow, and it may be a word that is forbidden as a whole name. */
function prefixProblems(prefix: string, rule: Resource["names"]): readonly string[] {
  if (rule === "path") return nameProblems(`${prefix}x`, rule);
  return nameProblems(prefix.length > 1 && prefix.endsWith("-") ? `${prefix.slice(0, -1)}a` : prefix, rule);
}

/** Names become keys of the store and segments of a path: two names must never be the same bytes. */
function storageProblems(name: string): readonly string[] {
  return [
    ...(utf8Length(name) > maxPathNameBytes ? [`must be no more than ${maxPathNameBytes} bytes`] : []),
    ...(/\p{Cc}|\p{Cs}/u.test(name) ? ["may not contain control characters"] : []),
  ];
}

function validateNamespace(metadata: ObjectMeta, resource: Pick<Resource, "scope">): readonly FieldError[] {
  const namespace = stringAt(metadata, "namespace");
  if (resource.scope === "Cluster") {
    return namespace === "" ? [] : [forbiddenField("metadata.namespace", "not allowed on this type")];
  }
  if (namespace === "") return [required("metadata.namespace")];
  return nameErrors("metadata.namespace", namespace, dnsLabelProblems);
}

function validateLabels(metadata: ObjectMeta): readonly FieldError[] {
  return collectErrors(Object.entries(metadata.labels ?? {}), ([key, value]) => [
    ...nameErrors("metadata.labels", key, qualifiedNameProblems),
    ...nameErrors("metadata.labels", value, labelValueProblems),
  ]);
}

function validateAnnotations(metadata: ObjectMeta): readonly FieldError[] {
  const entries = Object.entries(metadata.annotations ?? {});
  const size = entries.reduce((sum, [key, value]) => sum + utf8Length(key) + utf8Length(value), 0);
  return fieldErrors(
    collectErrors(entries, ([key]) =>
      qualifiedNameProblems(key.toLowerCase()).map((why) => invalid("metadata.annotations", key, why)),
    ),
    size > maxAnnotationBytes && tooLong("metadata.annotations", maxAnnotationBytes),
  );
}

function validateOwnerReferences({ ownerReferences: owners = [] }: ObjectMeta): readonly FieldError[] {
  const path = "metadata.ownerReferences";
  const [first, second] = owners.filter(({ controller }) => controller === true).map(ownerText);
  return fieldErrors(
    collectErrors(owners, (owner) => [
      !owner.apiVersion && invalid(`${path}.apiVersion`, "", "version must not be empty"),
      (["kind", "name", "uid"] as const).map(
        (field) => !owner[field] && invalid(`${path}.${field}`, "", "must not be empty"),
      ),
      owner.apiVersion === "v1" &&
        owner.kind === "Event" &&
        invalid(path, owner, "/v1, Kind=Event is disallowed from being an owner"),
    ]),
    // Once is enough: each of these errors shows all owners.
    second !== undefined &&
      invalid(
        path,
        owners,
        `Only one reference can have Controller set to true. Found "true" in references for ${first} and ${second}`,
      ),
  );
}

function ownerText({ kind, name }: Partial<OwnerReference>): string {
  return `${kind ?? ""}/${name ?? ""}`;
}

function validateFinalizers(
  { finalizers = [] }: ObjectMeta,
  { group }: Pick<Resource, "group">,
): readonly FieldError[] {
  const path = "metadata.finalizers";
  const mustHaveDomain = domainGroups.has(group);
  return fieldErrors(
    collectErrors(finalizers, (finalizer) => nameErrors(path, finalizer, qualifiedNameProblems)),
    mustHaveDomain &&
      collectErrors(finalizers, (finalizer, index) => validateFinalizerDomain(finalizer, `${path}[${index}]`)),
    finalizers.includes(orphanFinalizer) &&
      finalizers.includes(foregroundFinalizer) &&
      invalid(path, finalizers, `finalizer ${orphanFinalizer} and ${foregroundFinalizer} cannot be both set`),
  );
}

/** Errors of a finalizer that needs a domain unless it is a standard one. Source: pkg/apis/core/helper IsStandardFinalizerName. */
export function validateFinalizerDomain(finalizer: string, path: string): FieldResult {
  const isStandard = ["kubernetes", orphanFinalizer, foregroundFinalizer].includes(finalizer);
  const why = "name is neither a standard finalizer name nor is it fully qualified";
  return !isStandard && !finalizer.includes("/") && invalid(path, finalizer, why);
}

/** The groups whose kinds have only finalizers with a domain. Source: the callers of pkg/apis/core/validation ValidateObjectMeta. */
const domainGroups: ReadonlySet<string> = new Set(["", "rbac.authorization.k8s.io", "certificates.k8s.io"]);

function validateNoNewFinalizers(next: ObjectMeta, stored: ObjectMeta): FieldResult {
  if (stored.deletionTimestamp === undefined) return false;
  const before = new Set(stored.finalizers);
  const added = [...new Set(next.finalizers)].filter((finalizer) => !before.has(finalizer)).sort();
  const shown = `[]string{${added.map((one) => JSON.stringify(one)).join(", ")}}`;
  const why = `no new finalizers can be added if the object is being deleted, found new finalizers ${shown}`;
  return added.length > 0 && forbiddenField("metadata.finalizers", why);
}

function validateManagedFields(metadata: ObjectMeta): readonly FieldError[] {
  return collectErrors(fieldListAt(metadata, "managedFields"), (entry, index) => {
    const path = `metadata.managedFields[${index}]`;
    const operation = stringAt(entry, "operation");
    const type = stringAt(entry, "fieldsType");
    return [
      utf8Length(stringAt(entry, "manager")) > maxManagerBytes && tooLong(`${path}.manager`, maxManagerBytes),
      operation !== "Apply" &&
        operation !== "Update" &&
        invalid(`${path}.operation`, operation, "must be `Apply` or `Update`"),
      type !== "" && type !== "FieldsV1" && invalid(`${path}.fieldsType`, type, "must be `FieldsV1`"),
    ];
  });
}

/** Errors of `value` as a DNS label that begins with a letter, at most 63 bytes; empty when it is valid. Source: apimachinery IsDNS1035Label. */
export function dns1035LabelProblems(value: string): readonly string[] {
  const problems = value.length > 63 ? ["must be no more than 63 characters"] : [];
  if (value.length <= 253 && /^[a-z](?:[-a-z0-9]*[a-z0-9])?$/.test(value)) return problems;
  return [
    ...problems,
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
  ];
}
