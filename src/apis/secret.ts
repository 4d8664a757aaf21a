import { type FieldError, invalid, required, tooLong } from "../apimachinery/field-error.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import { ageColumn, column, textColumn, builtinKind } from "./builtin-kind.ts";
import { maxDataBytes, validateDataKeys, validateImmutableData } from "./config-map.ts";
import { fieldsAt, isFields, stringAt, withField } from "./json-fields.ts";
import type { Column, Resource } from "./resource.ts";
import { fieldErrors } from "./field-rules.ts";

/** Small confidential data. `stringData` is write-only. Source: api/core/v1 Secret. */
export interface Secret extends ApiObject {
  readonly type?: string;
  readonly immutable?: boolean;
  /** Values in base64. */
  readonly data?: Readonly<Record<string, string>>;
  readonly stringData?: Readonly<Record<string, string>>;
}

export const opaqueSecretType = "Opaque";
export const serviceAccountTokenSecretType = "kubernetes.io/service-account-token";
export const serviceAccountNameAnnotation = "kubernetes.io/service-account.name";
export const serviceAccountUidAnnotation = "kubernetes.io/service-account.uid";

const columns: readonly Column[] = [
  textColumn("Type", "What the data is for, and by that which keys it needs.", "type"),
  column("Data", "How many keys the Secret holds.", (object) => Object.keys(fieldsAt(object, "data")).length),
  ageColumn,
];

export const secrets: Resource = builtinKind({
  group: "",
  kind: "Secret",
  scope: "Namespaced",
  schema: "io.k8s.api.core.v1.Secret",
  columns,
  unconditionalUpdate: true,
  prepareForCreate: prepare,
  prepareForUpdate: prepare,
  validate: validateSecret,
  validateUpdate: (next, stored) =>
    fieldErrors(
      stringAt(next, "type") !== stringAt(stored, "type") &&
        invalid("type", stringAt(next, "type"), "field is immutable"),
      validateImmutableData(next, stored, ["data"]),
    ),
  selectableFields: { type: (object) => stringAt(object, "type") },
});

/** Merges `stringData` into `data`, which it overrides, and sets the default type. */
function prepare(object: ApiObject): ApiObject {
  const typed: ApiObject = stringAt(object, "type") === "" ? { ...object, type: opaqueSecretType } : object;
  if (!isFields(typed["stringData"])) return typed;
  const folded = Object.entries(typed["stringData"]).map(
    ([key, text]) => [key, typeof text === "string" ? Buffer.from(text).toString("base64") : ""] as const,
  );
  const data = { ...fieldsAt(typed, "data"), ...Object.fromEntries(folded) };
  return withField(withField(typed, "stringData", undefined), "data", data);
}

function validateSecret(object: ApiObject): readonly FieldError[] {
  const data = fieldsAt(object, "data");
  const size = Object.values(data).reduce<number>((sum, value) => sum + decodedLength(value), 0);
  return fieldErrors(
    validateDataKeys("data", data),
    size > maxDataBytes && tooLong("data", maxDataBytes),
    typeRules.get(stringAt(object, "type"))?.(object, data) ?? [],
  );
}

type TypeRule = (object: ApiObject, data: Readonly<Record<string, unknown>>) => readonly FieldError[];

/** The types whose contents are checked; bootstrap tokens are not among them, as in Kubernetes. Source: pkg/apis/core/validation ValidateSecret. */
const typeRules: ReadonlyMap<string, TypeRule> = new Map<string, TypeRule>([
  [
    serviceAccountTokenSecretType,
    (object) =>
      stringAt(object, "metadata", "annotations", serviceAccountNameAnnotation) === ""
        ? [required(`metadata.annotations[${serviceAccountNameAnnotation}]`)]
        : [],
  ],
  ["kubernetes.io/dockercfg", (_object, data) => jsonKey(data, ".dockercfg")],
  ["kubernetes.io/dockerconfigjson", (_object, data) => jsonKey(data, ".dockerconfigjson")],
  [
    "kubernetes.io/basic-auth",
    (_object, data) =>
      Object.hasOwn(data, "username") || Object.hasOwn(data, "password")
        ? []
        : [required("data[username]"), required("data[password]")],
  ],
  [
    "kubernetes.io/ssh-auth",
    (_object, data) => (decodedLength(data["ssh-privatekey"]) === 0 ? [required("data[ssh-privatekey]")] : []),
  ],
  [
    "kubernetes.io/tls",
    (_object, data) =>
      ["tls.crt", "tls.key"].filter((key) => !Object.hasOwn(data, key)).map((key) => required(`data[${key}]`)),
  ],
]);

function jsonKey(data: Readonly<Record<string, unknown>>, key: string): readonly FieldError[] {
  const path = `data[${key}]`;
  if (!Object.hasOwn(data, key)) return [required(path)];
  // The parser's own message quotes the text, which is secret.
  return isJsonObject(data[key]) ? [] : [invalid(path, "<secret contents redacted>", "must be a JSON object")];
}

function isJsonObject(value: unknown): boolean {
  if (typeof value !== "string") return false;
  try {
    return isFields(JSON.parse(Buffer.from(value, "base64").toString()));
  } catch {
    return false;
  }
}

function decodedLength(value: unknown): number {
  return typeof value === "string" ? Buffer.byteLength(value, "base64") : 0;
}
