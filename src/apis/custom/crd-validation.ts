import { forbiddenField, invalid, notSupported, required, type FieldError } from "../../apimachinery/field-error.ts";
import { jsonEqual } from "../../apimachinery/equal.ts";
import { dnsSubdomainProblems } from "../../apimachinery/names.ts";
import type { ApiObject } from "../../apimachinery/object.ts";
import { finish, type Steps } from "../../apimachinery/steps.ts";
import { collectErrors, fieldErrors, repetitions } from "../field-rules.ts";
import {
  fieldListAt,
  fieldsAt,
  isFields,
  isTrueAt,
  stringAt,
  stringsAt,
  valueAt,
  type Fields,
} from "../json-fields.ts";
import { validateClientConfig } from "../webhook-client.ts";
import { approvalErrors, type CustomResourceDefinition, isEstablished } from "./crd-object.ts";
import { versionsErrors } from "./crd-version-errors.ts";
import { dns1035LabelProblems } from "../object-validation.ts";

/**
 * Errors of a definition. A stored specification was checked when it was written.
 * Source: apiextensions-apiserver pkg/apis/apiextensions/validation.
 */
export function crdErrors(crd: ApiObject, stored?: ApiObject): readonly FieldError[] {
  return finish(crdErrorSteps(crd, stored));
}

/** The same in steps: a definition may have a schema of many thousand parts, and many rules. */
export function* crdErrorSteps(crd: ApiObject, stored?: ApiObject): Steps<readonly FieldError[]> {
  const same = stored !== undefined && jsonEqual(crd["spec"], stored["spec"]);
  const spec = same ? [] : yield* specErrors(fieldsAt(crd, "spec"));
  return [
    ...(stored === undefined ? nameErrors(crd) : []),
    ...spec,
    ...approvalErrors(crd, stored),
    ...storedVersionErrors(crd),
  ];
}

/** Errors of an update: a kind in use keeps its scope and its name, and every kind its path. */
export function crdUpdateErrors(next: ApiObject, stored: ApiObject): readonly FieldError[] {
  const inUse = isEstablished(stored as CustomResourceDefinition);
  const paths = [...(inUse ? [["scope"], ["names", "kind"]] : []), ["group"], ["names", "plural"]];
  return paths
    .filter((path) => valueAt(next, "spec", ...path) !== valueAt(stored, "spec", ...path))
    .map((path) => invalid(["spec", ...path].join("."), valueAt(next, "spec", ...path), "field is immutable"));
}

function nameErrors(crd: ApiObject): readonly FieldError[] {
  const name = `${stringAt(crd, "spec", "names", "plural")}.${stringAt(crd, "spec", "group")}`;
  if (crd.metadata.name === name) return [];
  return [invalid("metadata.name", crd.metadata.name, 'must be spec.names.plural+"."+spec.group')];
}

function* specErrors(spec: Fields): Steps<readonly FieldError[]> {
  const versions = yield* versionListErrors(fieldListAt(spec, "versions"));
  return fieldErrors(
    groupErrors(stringAt(spec, "group")),
    oneOf(spec, "scope", { path: "spec.scope", allowed: ["Cluster", "Namespaced"] }),
    isTrueAt(spec, "preserveUnknownFields") && invalid("spec.preserveUnknownFields", true, noPreserving),
    versions,
    requiredNames(fieldsAt(spec, "names")),
    namesErrors(fieldsAt(spec, "names"), "spec.names"),
    conversionErrors(spec),
  );
}

const noPreserving =
  "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead";

function groupErrors(group: string): readonly FieldError[] {
  const path = "spec.group";
  if (group === "") return [required(path)];
  const problems = dnsSubdomainProblems(group);
  if (problems.length > 0) return [invalid(path, group, problems.join(","))];
  return group.includes(".") ? [] : [invalid(path, group, "should be a domain with at least one dot")];
}

function oneOf(
  parent: Fields,
  field: string,
  { path, allowed }: { readonly path: string; readonly allowed: readonly string[] },
): readonly FieldError[] {
  const value = stringAt(parent, field);
  if (value === "") return [required(path)];
  return allowed.includes(value) ? [] : [notSupported(path, value, allowed)];
}

function* versionListErrors(versions: readonly Fields[]): Steps<readonly FieldError[]> {
  const path = "spec.versions";
  const names = versions.map((version) => stringAt(version, "name"));
  const storage = versions.filter((version) => isTrueAt(version, "storage")).length;
  const errors = yield* versionsErrors(versions, path);
  return fieldErrors(
    errors,
    dns1035LabelProblems(names[0] ?? "x")
      .slice(0, 1)
      .map((why) => invalid("spec.version", names[0], why)),
    new Set(names).size !== names.length && invalid(path, names, "must contain unique version names"),
    storage !== 1 && invalid(path, names, "must have exactly one version marked as storage version"),
  );
}

function requiredNames(names: Fields): readonly FieldError[] {
  return ["plural", "singular", "kind", "listKind"]
    .filter((field) => stringAt(names, field) === "")
    .map((field) => required(`spec.names.${field}`));
}

const mixedCase = "may have mixed case, but should otherwise match: ";

function namesErrors(names: Fields, path: string): readonly FieldError[] {
  const label = (value: string, at: string, prefix = ""): readonly FieldError[] => {
    const problems = value === "" ? [] : dns1035LabelProblems(prefix === "" ? value : value.toLowerCase());
    return problems.length === 0 ? [] : [invalid(at, value, prefix + problems.join(","))];
  };
  const kind = stringAt(names, "kind");
  const listKind = stringAt(names, "listKind");
  return fieldErrors(
    label(stringAt(names, "plural"), `${path}.plural`),
    label(stringAt(names, "singular"), `${path}.singular`),
    label(kind, `${path}.kind`, mixedCase),
    label(listKind, `${path}.listKind`, mixedCase),
    listErrors(names, "shortNames", path),
    kind !== "" && kind === listKind && invalid(`${path}.listKind`, listKind, "kind and listKind may not be the same"),
    listErrors(names, "categories", path),
  );
}

function listErrors(names: Fields, field: "shortNames" | "categories", path: string): readonly FieldError[] {
  return collectErrors(stringsAt(names, field), (name, index) => {
    const problems = dns1035LabelProblems(name);
    return problems.length === 0 ? [] : [invalid(`${path}.${field}[${index}]`, name, problems.join(","))];
  });
}

const reviewVersions: readonly string[] = ["v1", "v1beta1"];

function conversionErrors(spec: Fields): readonly FieldError[] {
  const path = "spec.conversion";
  const conversion = fieldsAt(spec, "conversion");
  const strategy = stringAt(conversion, "strategy");
  const webhook = valueAt(conversion, "webhook");
  const errors = oneOf(conversion, "strategy", { path: `${path}.strategy`, allowed: ["None", "Webhook"] });
  const config = valueAt(webhook, "clientConfig");
  const versions = stringsAt(webhook, "conversionReviewVersions");
  // Paths follow the internal form, in which Kubernetes validates.
  const [configPath, versionsPath] = [`${path}.webhookClientConfig`, `${path}.conversionReviewVersions`];
  if (strategy !== "Webhook") {
    const why = "should not be set when strategy is not set to Webhook";
    return fieldErrors(
      errors,
      isFields(config) && forbiddenField(configPath, why),
      versions.length > 0 && forbiddenField(versionsPath, why),
    );
  }
  return fieldErrors(
    errors,
    isFields(config)
      ? validateClientConfig(config, configPath)
      : required(configPath, "required when strategy is set to Webhook"),
    reviewVersionErrors(versions, versionsPath),
  );
}

function reviewVersionErrors(versions: readonly string[], path: string): readonly FieldError[] {
  if (versions.length === 0) return [required(path)];
  const isRepeated = repetitions();
  return fieldErrors(
    collectErrors(versions, (version, index) => [
      ...(isRepeated(version) ? [invalid(`${path}[${index}]`, version, "duplicate version")] : []),
      ...dns1035LabelProblems(version).map((why) => invalid(`${path}[${index}]`, version, why)),
    ]),
    !versions.some((version) => reviewVersions.includes(version)) &&
      invalid(path, versions, `must include at least one of ${reviewVersions.join(", ")}`),
  );
}

/** Errors of the stored versions: a version can be removed only after all objects have been rewritten in another. */
export function storedVersionErrors(crd: ApiObject): readonly FieldError[] {
  const path = "status.storedVersions";
  const stored = stringsAt(crd, "status", "storedVersions");
  if (stored.length === 0) return [invalid(path, null, "must have at least one stored version")];
  const versions = fieldListAt(crd, "spec", "versions");
  const names = versions.map((version) => stringAt(version, "name"));
  return [
    ...versions
      .filter((version) => isTrueAt(version, "storage") && !stored.includes(stringAt(version, "name")))
      .map((version) => invalid(path, stored, `must have the storage version ${stringAt(version, "name")}`)),
    ...collectErrors(stored, (name, index) =>
      names.includes(name) ? [] : [invalid(`${path}[${index}]`, name, goneVersion(name))],
    ),
  ];
}

function goneVersion(name: string): string {
  return `missing from spec.versions; ${name} was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in ${name} and removes ${name} from status.storedVersions`;
}
