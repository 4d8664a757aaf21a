import { duplicate, invalid, required, type FieldError } from "../../apimachinery/field-error.ts";
import { fieldListAt, fieldsAt, stringAt, type Fields } from "../json-fields.ts";
import { pathFields } from "./simple-path.ts";

const maxFields = 8;
const selectable: ReadonlySet<unknown> = new Set(["string", "boolean", "integer"]);

/** What is wrong with the selectable fields of a version whose schema is right. Source: apiextensions-apiserver pkg/apis/apiextensions/validation. */
export function selectableFieldErrors(version: Fields, path: string): readonly FieldError[] {
  const schema = fieldsAt(version, "schema", "openAPIV3Schema");
  const seen = new Set<string>();
  const errors: FieldError[] = [];
  for (const [index, field] of fieldListAt(version, "selectableFields").entries()) {
    if (index > 4 * maxFields) break;
    errors.push(...fieldErrors(schema, stringAt(field, "jsonPath"), { at: `${path}[${index}]`, seen }));
  }
  if (seen.size > maxFields) {
    const message = `Too many: ${seen.size}: must have at most ${maxFields} items`;
    errors.push({ path, type: "FieldValueTooMany", message });
  }
  return errors;
}

function fieldErrors(
  schema: Fields,
  jsonPath: string,
  { at, seen }: { readonly at: string; readonly seen: Set<string> },
): readonly FieldError[] {
  if (jsonPath === "") return [required(`${at}.jsonPath`)];
  const found = propertyAt(schema, jsonPath);
  if (typeof found === "string") return [invalid(`${at}.jsonPath`, jsonPath, `is an invalid path: ${found}`)];
  const repeated = seen.has(jsonPath);
  seen.add(jsonPath);
  return [
    ...(pathFields(jsonPath)[0] === "metadata" ? [invalid(at, jsonPath, "must not point to fields in metadata")] : []),
    ...(selectable.has(found["type"])
      ? []
      : [
          invalid(
            at,
            jsonPath,
            "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.",
          ),
        ]),
    ...(repeated ? [duplicate(at, jsonPath)] : []),
  ];
}

/** The schema of the property under a path, or why there is none. */
function propertyAt(schema: Fields, jsonPath: string): Fields | string {
  if (!jsonPath.startsWith(".")) return "must be a simple json path starting with .";
  if (!/^(?:\.[A-Za-z_$][\w$-]*)+$/.test(jsonPath)) return "it is not a path in the dot notation";
  let at = schema;
  for (const field of pathFields(jsonPath)) {
    const properties = fieldsAt(at, "properties");
    if (!Object.hasOwn(properties, field)) return `does not refer to a valid field: no field ${JSON.stringify(field)}`;
    at = fieldsAt(properties, field);
  }
  return at;
}
