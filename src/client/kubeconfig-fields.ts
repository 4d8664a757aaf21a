import type { YamlObject, YamlValue } from "../serializer/yaml/bounded-yaml.ts";

/** Why a kubeconfig cannot be used. */
export type KubeconfigErrorCode =
  | "unparseable"
  | "wrong-type"
  | "missing"
  | "bad-value"
  | "conflict"
  | "unsupported"
  | "unreadable-file";

/** A kubeconfig that cannot be used. The message names file and field, and contains no credential. */
export class KubeconfigError extends Error {
  readonly code: KubeconfigErrorCode;

  constructor(code: KubeconfigErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "KubeconfigError";
    this.code = code;
  }
}

/** The value of a field of a mapping. */
export function own(record: YamlObject, key: string): YamlValue | undefined {
  return Object.hasOwn(record, key) ? record[key] : undefined;
}

/** Whether a value is a mapping. */
export function isObject(value: YamlValue): value is YamlObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A list of texts, empty where it is absent. @throws KubeconfigError wrong-type */
export function textList(value: YamlValue | undefined, where: string): readonly string[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw wrongType(where, "a list of texts");
  return (value as readonly YamlValue[]).map((item) => {
    if (typeof item !== "string") throw wrongType(where, "a list of texts");
    return item;
  });
}

/** The error for a field of the wrong type. */
export function wrongType(where: string, what: string): KubeconfigError {
  return new KubeconfigError("wrong-type", `${where} must be ${what}`);
}
