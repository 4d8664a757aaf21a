import { isJsonArray } from "../../apimachinery/json-value.ts";
import { kindOf, type CelMap, type CelOpaque, type CelValue } from "./values.ts";

/** The name of a value's type, as `type` and messages show it. */
export function typeNameOf(value: CelValue): string {
  if (value === null) return "null_type";
  if (typeof value === "boolean") return "bool";
  if (typeof value === "string") return "string";
  if (typeof value !== "object") return "int";
  if (value instanceof Uint8Array) return "bytes";
  if (isJsonArray(value)) return "list";
  const kind = kindOf(value);
  switch (kind) {
    case undefined:
      return "map";
    case "timestamp":
      return "google.protobuf.Timestamp";
    case "duration":
      return "google.protobuf.Duration";
    case "optional":
      return "optional_type";
    case "map":
      return (value as CelMap).message ?? kind;
    case "opaque":
      return (value as CelOpaque).name;
    default:
      return kind;
  }
}
