import { jsonEqual } from "../../apimachinery/equal.ts";
import { type FieldError, duplicate, invalid, required } from "../../apimachinery/field-error.ts";
import type { Steps } from "../../apimachinery/steps.ts";
import { collectErrors, fieldErrors } from "../field-rules.ts";
import { type Fields, fieldListAt, fieldsAt, isFields, isTrueAt, stringAt, valueAt } from "../json-fields.ts";
import { dns1035LabelProblems } from "../object-validation.ts";
import type { DefaultRuleErrors } from "./default-errors.ts";
import { type SeenPatterns, newSeenPatterns } from "./pattern-errors.ts";
import { type RulesSize, newRulesSize, ruleSchemaErrors } from "./rule-schema-errors.ts";
import { type SchemaErrorOptions, schemaErrorSteps } from "./schema-errors.ts";
import { pathFields, pathLengthErrors } from "./simple-path.ts";
import { newDefaultRules } from "./validation-rules.ts";

/** Fields that Kubernetes validates at the top level where all versions agree. */
const parts = ["schema", "subresources", "additionalPrinterColumns", "selectableFields"] as const;
type Part = (typeof parts)[number];

/** The path of the field then. */
const commonPaths: Readonly<Record<Part, string>> = {
  schema: "spec.validation",
  subresources: "spec.subresources",
  additionalPrinterColumns: "spec.additionalPrinterColumns",
  selectableFields: "spec.selectableFields",
};

/** Errors of the versions of a definition; `path` is their field. Source: apiextensions/v1 conversion.go, apiextensions-apiserver pkg/apis/apiextensions/validation. */
export function* versionsErrors(versions: readonly Fields[], path: string): Steps<readonly FieldError[]> {
  const [first] = versions;
  if (first === undefined) return [];
  const common = new Set(parts.filter((part) => isCommon(versions, part)));
  const shared = newShared();
  const errors: FieldError[] = [];
  for (const part of common)
    errors.push(...(yield* partErrors(first, part, { path: commonPaths[part], shared, versions: versions.length })));
  const ofAll = errors.length;
  for (const [index, version] of versions.entries()) {
    yield;
    errors.push(...ownErrors(version, `${path}[${index}]`));
    for (const part of parts) {
      if (common.has(part)) continue;
      const place = { path: `${path}[${index}].${part}`, shared, versions: 1 };
      errors.push(...(yield* partErrors(version, part, place)));
    }
    if (errors.length - ofAll >= enoughErrors) break;
  }
  return errors;
}

/** What remains of the limits that the schemas of all versions share. */
interface Shared {
  readonly rules: RulesSize;
  readonly patterns: SeenPatterns;
  readonly defaultRules: DefaultRuleErrors;
  /** Of the paths of columns. */
  readonly paths: { characters: number };
}

function newShared(): Shared {
  return {
    rules: newRulesSize(),
    patterns: newSeenPatterns(),
    defaultRules: newDefaultRules(),
    paths: { characters: 0 },
  };
}

interface Place {
  readonly path: string;
  readonly shared: Shared;
  /** The number of versions with the same schema. */
  readonly versions: number;
}

/** Maximum number of errors before the remaining versions are skipped. */
const enoughErrors = 32;

function ownErrors(version: Fields, path: string): readonly FieldError[] {
  const schemaPath = `${path}.schema.openAPIV3Schema`;
  return fieldErrors(
    dns1035LabelProblems(stringAt(version, "name"))
      .slice(0, 1)
      .map((why) => invalid(`${path}.name`, stringAt(version, "name"), why)),
    deprecationErrors(version, `${path}.deprecationWarning`),
    !isFields(valueAt(version, "schema", "openAPIV3Schema")) && required(schemaPath),
  );
}

function isCommon([first, ...others]: readonly Fields[], part: Part): boolean {
  return others.every((one) => jsonEqual(one[part], first?.[part]));
}

function* partErrors(version: Fields, part: Part, place: Place): Steps<readonly FieldError[]> {
  const { path } = place;
  switch (part) {
    case "schema":
      return yield* openApiErrors(version, { ...place, path: `${path}.openAPIV3Schema` });
    case "subresources":
      return scaleErrors(fieldsAt(version, "subresources", "scale"), version, `${path}.scale`);
    case "additionalPrinterColumns":
      return collectErrors(fieldListAt(version, "additionalPrinterColumns"), (column, index) =>
        columnErrors(column, { ...place, path: `${path}[${index}]` }),
      );
    case "selectableFields":
      return selectableFieldErrors(version, path);
  }
}

function* openApiErrors(version: Fields, { path, shared, versions }: Place): Steps<readonly FieldError[]> {
  const schema = valueAt(version, "schema", "openAPIV3Schema");
  if (!isFields(schema)) return [];
  const statusSubresource = isFields(valueAt(version, "subresources", "status"));
  const options: SchemaErrorOptions = {
    statusSubresource,
    rules: (structural, at) => ruleSchemaErrors(structural, at, { used: shared.rules, versions }),
    patterns: shared.patterns,
    defaultRules: shared.defaultRules,
  };
  return yield* schemaErrorSteps(schema, path, options);
}

const maxWarningCharacters = 256;

function deprecationErrors(version: Fields, path: string): readonly FieldError[] {
  const warning = valueAt(version, "deprecationWarning");
  if (typeof warning !== "string") return [];
  const problems = [
    ...(isTrueAt(version, "deprecated") ? [] : ["can only be set for deprecated versions"]),
    ...(warning.length > maxWarningCharacters ? [`must be <= ${maxWarningCharacters} characters long`] : []),
    ...(warning === "" ? ["must not be an empty string"] : []),
    ...unprintable(warning),
  ];
  return problems.map((why) => invalid(path, warning, why));
}

function unprintable(text: string): readonly string[] {
  const at = text.search(/[^\P{C}]|[\p{Zl}\p{Zp}]/u);
  return at < 0 ? [] : [`must only contain printable UTF-8 characters; non-printable character found at index ${at}`];
}

function scaleErrors(scale: Fields, version: Fields, path: string): readonly FieldError[] {
  if (!isFields(valueAt(version, "subresources", "scale"))) return [];
  const selector = stringAt(scale, "labelSelectorPath");
  return [
    ...pathBelow(stringAt(scale, "specReplicasPath"), [".spec."], {
      path: `${path}.specReplicasPath`,
      why: "should be a json path under .spec",
    }),
    ...pathBelow(stringAt(scale, "statusReplicasPath"), [".status."], {
      path: `${path}.statusReplicasPath`,
      why: "should be a json path under .status",
    }),
    ...(selector === ""
      ? []
      : pathBelow(selector, [".spec.", ".status."], {
          path: `${path}.labelSelectorPath`,
          why: "should be a json path under either .status or .spec",
        })),
  ];
}

function pathBelow(
  value: string,
  roots: readonly string[],
  { path, why }: { readonly path: string; readonly why: string },
): readonly FieldError[] {
  if (value === "") return [required(path)];
  const long = pathLengthErrors(value, path);
  if (long.length > 0) return long;
  if (!value.startsWith(".")) return [invalid(path, value, "must be a simple json path starting with .")];
  // Array notation, which other parts of Kubernetes accept, matches nothing here.
  if (/[[\]]/.test(value)) return [invalid(path, value, "must be a json path in the dot notation")];
  return roots.some((root) => value.startsWith(root) && value.length > root.length) ? [] : [invalid(path, value, why)];
}

const columnTypes: readonly string[] = ["boolean", "date", "integer", "number", "string"];
const columnFormats: readonly string[] = ["byte", "date", "date-time", "double", "float", "int32", "int64", "password"];

function columnErrors(column: Fields, place: Place): readonly FieldError[] {
  const { path } = place;
  const type = stringAt(column, "type");
  const format = stringAt(column, "format");
  const jsonPath = stringAt(column, "jsonPath");
  const oneType = `must be one of ${columnTypes.join(",")}`;
  return fieldErrors(
    stringAt(column, "name") === "" && required(`${path}.name`),
    type === "" && required(`${path}.type`, oneType),
    type !== "" && !columnTypes.includes(type) && invalid(`${path}.type`, type, oneType),
    format !== "" &&
      !columnFormats.includes(format) &&
      invalid(`${path}.format`, format, `must be one of ${columnFormats.join(",")}`),
    jsonPathErrors(jsonPath, { ...place, path: `${path}.JSONPath` }),
  );
}

/** How many characters the paths of the columns of all versions may have together: a kind reads them all when it is first used. */
const maxPathCharacters = 65_536;

function jsonPathErrors(jsonPath: string, { path, shared, versions }: Place): readonly FieldError[] {
  if (jsonPath === "") return [required(path)];
  const long = pathLengthErrors(jsonPath, path);
  if (long.length > 0) return long;
  shared.paths.characters += versions * jsonPath.length;
  if (shared.paths.characters > maxPathCharacters) {
    const why = `must not bring the paths of the columns of the definition above ${maxPathCharacters} characters in all`;
    return [invalid(path, jsonPath, why)];
  }
  // A path without a match only makes an empty column.
  return jsonPath.startsWith(".") ? [] : [invalid(path, jsonPath, "must be a simple json path starting with .")];
}

const maxFields = 8;
const selectable: ReadonlySet<unknown> = new Set(["string", "boolean", "integer"]);

/** Errors of the selectable fields of a version whose schema is valid. Source: apiextensions-apiserver pkg/apis/apiextensions/validation. */
function selectableFieldErrors(version: Fields, path: string): readonly FieldError[] {
  const schema = fieldsAt(version, "schema", "openAPIV3Schema");
  const seen = new Set<string>();
  const errors: FieldError[] = [];
  for (const [index, field] of fieldListAt(version, "selectableFields").entries()) {
    if (index > 4 * maxFields) break;
    errors.push(...selectableErrors(schema, stringAt(field, "jsonPath"), { at: `${path}[${index}]`, seen }));
  }
  if (seen.size > maxFields) {
    const message = `Too many: ${seen.size}: must have at most ${maxFields} items`;
    errors.push({ path, type: "FieldValueTooMany", message });
  }
  return errors;
}

function selectableErrors(
  schema: Fields,
  jsonPath: string,
  { at, seen }: { readonly at: string; readonly seen: Set<string> },
): readonly FieldError[] {
  if (jsonPath === "") return [required(`${at}.jsonPath`)];
  const long = pathLengthErrors(jsonPath, `${at}.jsonPath`);
  if (long.length > 0) return long;
  const found = propertyAt(schema, jsonPath);
  if (typeof found === "string") return [invalid(`${at}.jsonPath`, jsonPath, `is an invalid path: ${found}`)];
  const repeated = seen.has(jsonPath);
  seen.add(jsonPath);
  return fieldErrors(
    pathFields(jsonPath)[0] === "metadata" && invalid(at, jsonPath, "must not point to fields in metadata"),
    !selectable.has(found["type"]) &&
      invalid(
        at,
        jsonPath,
        "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.",
      ),
    repeated && duplicate(at, jsonPath),
  );
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
