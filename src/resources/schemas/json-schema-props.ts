import type { AnyForm, AnySchema, Field, ObjectSchema } from "../../core/schema.ts";
import {
  about,
  anything,
  atomic,
  bool,
  byKey,
  described,
  int64,
  list,
  mapOf,
  pointer,
  required,
  str,
  strings,
} from "./shorthand.ts";

// The schema of schemas. Source: k8s.io/apiextensions-apiserver apis/apiextensions/v1.

const validationRule: ObjectSchema = described(
  "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.ValidationRule",
  "A rule in CEL over the value at hand, which is `self`.",
  {
    rule: about("The expression that must be true.", required(str(1))),
    message: about("What to say when it is not.", str(2)),
    messageExpression: about("An expression that makes the message.", str(3)),
    reason: about("The machine-readable reason of the failure.", pointer(str(4))),
    fieldPath: about("Which field the failure is told of.", str(5)),
    optionalOldSelf: about("Evaluates a transition rule also where there is no old value.", pointer(bool(6))),
  },
);

const externalDocumentation: ObjectSchema = described(
  "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.ExternalDocumentation",
  "Where more is written about something.",
  { description: str(1), url: str(2) },
);

const number = (at: number): Field => pointer({ number: at, schema: { type: "number" } });
const count = (at: number): Field => pointer(int64(at));

/** JSONSchemaProps, which contains itself. What may be a schema, a list or a boolean is open in JSON and read as a schema later. */
export const jsonSchemaProps: ObjectSchema = selfContaining();

function selfContaining(): ObjectSchema {
  const properties: Record<string, Field> = {};
  const schema: ObjectSchema = {
    type: "object",
    name: "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps",
    description: "A JSON schema after draft 4, with the extensions of Kubernetes.",
    properties,
  };
  return Object.assign(schema, { properties: Object.assign(properties, keywords(schema)) });
}

function keywords(schema: ObjectSchema): ObjectSchema["properties"] {
  const own: AnyForm = { json: "object", number: 1, schema };
  const schemaOrList: AnySchema = { type: "any", forms: [own, { json: "array", number: 2, schema }] };
  const texts: AnyForm = { json: "array", number: 2, schema: { type: "string" } };
  const schemaOrTexts: AnySchema = { type: "any", forms: [own, texts] };
  const flag: AnyForm = { json: "boolean", number: 1, schema: { type: "boolean" } };
  const schemaOrBool: AnySchema = { type: "any", forms: [flag, { ...own, number: 2 }] };
  return {
    id: str(1),
    $schema: str(2),
    $ref: pointer(str(3)),
    description: about("What the value means.", str(4)),
    type: about("object, array, string, integer, number or boolean.", str(5)),
    format: about("The form of a text or number, such as date-time or int32.", str(6)),
    title: str(7),
    default: about("What a field that is left out becomes.", pointer(anything(8))),
    maximum: number(9),
    exclusiveMaximum: bool(10),
    minimum: number(11),
    exclusiveMinimum: bool(12),
    maxLength: count(13),
    minLength: count(14),
    pattern: about("A regular expression that a text must match.", str(15)),
    maxItems: count(16),
    minItems: count(17),
    uniqueItems: bool(18),
    multipleOf: number(19),
    enum: about("The values that are allowed.", list(20, { type: "any" }, atomic)),
    maxProperties: count(21),
    minProperties: count(22),
    required: about("Fields that must be present.", strings(23, atomic)),
    items: about("The schema of the elements of an array.", pointer({ number: 24, schema: schemaOrList })),
    allOf: list(25, schema, atomic),
    oneOf: list(26, schema, atomic),
    anyOf: list(27, schema, atomic),
    not: pointer({ number: 28, schema }),
    properties: about("The fields of an object and their schemas.", mapOf(29, schema)),
    additionalProperties: about(
      "The schema of all other fields, or whether there may be any.",
      pointer({ number: 30, schema: schemaOrBool }),
    ),
    patternProperties: mapOf(31, schema),
    dependencies: mapOf(32, schemaOrTexts),
    additionalItems: pointer({ number: 33, schema: schemaOrBool }),
    definitions: mapOf(34, schema),
    externalDocs: pointer({ number: 35, schema: externalDocumentation }),
    example: pointer(anything(36)),
    nullable: about("Whether null is a value.", bool(37)),
    "x-kubernetes-preserve-unknown-fields": about("Keeps fields that the schema does not know.", pointer(bool(38))),
    "x-kubernetes-embedded-resource": about("The object has apiVersion, kind and metadata.", bool(39)),
    "x-kubernetes-int-or-string": about("A number or a text.", bool(40)),
    "x-kubernetes-list-map-keys": about("The fields that tell elements apart.", strings(41, atomic)),
    "x-kubernetes-list-type": about("atomic, set or map.", pointer(str(42))),
    "x-kubernetes-map-type": about("granular or atomic.", pointer(str(43))),
    "x-kubernetes-validations": about("Rules in CEL.", list(44, validationRule, byKey("rule"))),
  };
}
