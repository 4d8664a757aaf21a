import { apiVersionOf } from "../apimachinery/object.ts";
import type { AnySchema, Field, ObjectSchema, Schema, StringSchema } from "../apimachinery/schema.ts";
import type { Steps } from "../apimachinery/steps.ts";
import { CelError } from "../policy/cel/cel-error.ts";
import {
  dynType,
  type CelType,
  boolType,
  bytesType,
  doubleType,
  durationType,
  intType,
  listType,
  mapType,
  stringType,
  timestampType,
  type CelField,
} from "../policy/cel/types.ts";
import { escapeName } from "../policy/kubernetes/escape-name.ts";
import { checkedType, type CheckedScope } from "./admission-expression.ts";
import type { AdmissionRule } from "./admission-match.ts";
import type { Resource } from "./resource.ts";
import { publishedMeta } from "./schemas/published.ts";
import type { PolicySpec } from "./validating-admission-policy.ts";

/** An expression of a policy that does not fit the kinds that the policy matches. Source: api/admissionregistration/v1. */
export interface ExpressionWarning {
  readonly fieldRef: string;
  readonly warning: string;
}

/** Maximum number of kinds checked. Source: apiserver pkg/admission/plugin/policy/validating typechecking. */
const maxTypes = 10;
/** Maximum length of all warnings of a policy together, in characters, so that its status can be stored; Kubernetes has no limit. */
const maxCharacters = 128 * 1024;

/** A kind that a policy matches, and the type of its objects. */
interface CheckedKind {
  /** As Go prints a GroupVersionKind. */
  readonly name: string;
  readonly scope: CheckedScope;
}

/**
 * Checks the validations and message expressions of a policy against the types of the objects that it matches: at most ten kinds, of
 * rules without wildcards. It does not change the effect of the policy. Source: apiserver
 * pkg/admission/plugin/policy/validating TypeChecker.
 */
export function* expressionWarnings(
  spec: PolicySpec,
  resources: readonly Resource[],
): Steps<readonly ExpressionWarning[]> {
  const kinds: CheckedKind[] = [];
  const params = yield* paramsType(spec, resources);
  for (const resource of matchedKinds(spec.matchConstraints?.resourceRules ?? [], resources)) {
    const object = yield* objectTypeOf(resource);
    yield;
    const scope = withVariables(spec, { object: object ?? dynType, params });
    kinds.push({ name: kindName(resource), scope });
    yield;
  }
  const found: ExpressionWarning[] = [];
  let left = maxCharacters;
  for (const [fieldRef, expression] of checkedExpressions(spec)) {
    const warning = yield* warningOf(expression, kinds);
    left -= warning.length;
    if (warning !== "" && left >= 0) found.push({ fieldRef, warning });
  }
  return found;
}

function checkedExpressions({ validations = [] }: PolicySpec): readonly (readonly [path: string, source: string])[] {
  const all = validations.flatMap(({ expression, messageExpression = "" }, index) => [
    [`spec.validations[${index}].expression`, expression] as const,
    [`spec.validations[${index}].messageExpression`, messageExpression] as const,
  ]);
  return all.filter(([, source]) => source !== "");
}

function* warningOf(expression: string, kinds: readonly CheckedKind[]): Steps<string> {
  const problems: string[] = [];
  for (const { name, scope } of kinds) {
    const problem = typeOrProblem(expression, scope);
    if (typeof problem === "string") problems.push(`${name}: ${problem}\n`);
    yield;
  }
  return problems.join("\n");
}

/** The type of an expression, or its error. */
function typeOrProblem(expression: string, scope: CheckedScope): CelType | string {
  try {
    return checkedType(expression, scope);
  } catch (error) {
    if (error instanceof CelError) return error.message;
    throw error;
  }
}

/** A variable whose own expression does not fit is dyn, and is not reported. */
function withVariables({ variables = [] }: PolicySpec, scope: CheckedScope): CheckedScope {
  if (variables.length === 0) return scope;
  let types: Readonly<Record<string, CelType>> = {};
  for (const { name, expression } of variables) {
    const type = typeOrProblem(expression, { ...scope, variables: types });
    types = { ...types, [name]: typeof type === "string" ? dynType : type };
  }
  return { ...scope, variables: types };
}

function* paramsType({ paramKind }: PolicySpec, resources: readonly Resource[]): Steps<CelType | undefined> {
  if (paramKind === undefined) return undefined;
  const { apiVersion = "", kind = "" } = paramKind;
  const resource = resources.find((one) => one.kind === kind && apiVersionOf(one.group, one.version) === apiVersion);
  return resource === undefined ? dynType : ((yield* objectTypeOf(resource)) ?? dynType);
}

/** In the order of group, version and kind. */
function matchedKinds(rules: readonly AdmissionRule[], resources: readonly Resource[]): readonly Resource[] {
  const found = new Map<string, Resource>();
  for (const rule of rules) {
    let count = 0;
    for (const resource of kindsOfRule(rule, resources)) {
      found.set(kindName(resource), resource);
      count += 1;
      if (count === maxTypes) return sorted([...found.values()]);
    }
  }
  return sorted([...found.values()]);
}

function* kindsOfRule(rule: AdmissionRule, resources: readonly Resource[]): Generator<Resource> {
  const { apiGroups = [], apiVersions = [] } = rule;
  if ([...apiGroups, ...apiVersions].some((name) => name.includes("*"))) return;
  const names = (rule.resources ?? []).filter((name) => !/[*/]/.test(name));
  for (const group of apiGroups.toSorted()) {
    for (const version of apiVersions.toSorted()) {
      for (const name of names.toSorted()) {
        yield* resources.filter((one) => isNamed(one, name) && one.version === version && isOfGroup(one, group));
      }
    }
  }
}

/** As the RESTMapper of Kubernetes finds kinds: by plural or singular, and the core group matches any. */
function isNamed({ plural, singular }: Resource, name: string): boolean {
  return name.toLowerCase() === plural || name.toLowerCase() === singular;
}

function isOfGroup(resource: Resource, group: string): boolean {
  return group === "" || resource.group === group;
}

function sorted(resources: readonly Resource[]): readonly Resource[] {
  const parts = ({ group, version, kind }: Resource): readonly string[] => [group, version, kind];
  return resources.toSorted((one, other) => {
    const [left, right] = [parts(one), parts(other)];
    const at = left.findIndex((part, index) => part !== right[index]);
    if (at < 0) return 0;
    return (left[at] ?? "") < (right[at] ?? "") ? -1 : 1;
  });
}

function kindName({ group, version, kind }: Resource): string {
  return `${group}/${version}, Kind=${kind}`;
}

type Fields = ReadonlyMap<string, CelField>;

/**
 * The type of objects of a kind in policies; undefined where it is unknown. Messages name the type after the
 * kind. Source: apiserver pkg/cel/common SchemaDeclType over the published OpenAPI, references resolved by
 * pkg/cel/openapi/resolver.
 */
function* objectTypeOf(resource: Resource): Steps<CelType | undefined> {
  const { kind, custom, schema } = resource;
  const meta = metaFields(kind);
  if (custom === undefined)
    return { kind: "object", name: kind, fields: new Map([...meta, ...fieldsOf(schema, kind, [schema])]) };
  const type = yield* custom.celType();
  // The fields that each object has override what the schema declares for them.
  return type?.kind === "object" ? { ...type, name: kind, fields: new Map([...type.fields, ...meta]) } : type;
}

function metaFields(name: string): Fields {
  const schema = publishedMeta("ObjectMeta");
  const type = objectIn(schema, `${name}.metadata`, []);
  return new Map([
    ["apiVersion", { type: stringType }],
    ["kind", { type: stringType }],
    ["metadata", { type }],
  ]);
}

/** `above` are the objects that contain this one. */
function typeOf(schema: Schema, name: string, above: readonly Schema[]): CelType | undefined {
  switch (schema.type) {
    case "string":
      return textType(schema);
    case "integer":
      return intType;
    case "number":
      return doubleType;
    case "boolean":
      return boolType;
    case "array":
      return mapped(typeOf(schema.items, `${name}.@idx`, above), listType);
    case "map":
      return mapped(typeOf(schema.values, `${name}.@elem`, above), (value) => mapType(stringType, value));
    case "object":
      return objectIn(schema, name, above);
    case "any":
      return anyType(schema, name);
  }
}

function mapped(inside: CelType | undefined, made: (inside: CelType) => CelType): CelType | undefined {
  return inside === undefined ? undefined : made(inside);
}

/** A quantity is published without a type, so it is omitted. */
function textType({ format }: StringSchema): CelType | undefined {
  switch (format) {
    case "byte":
      return bytesType;
    case "date-time":
    case "micro-time":
      return timestampType;
    case "duration":
      return durationType;
    case "int-or-string":
      return dynType;
    case "quantity":
      return undefined;
    default:
      return stringType;
  }
}

/** An object published without fields has no known field. */
function anyType({ object }: AnySchema, name: string): CelType | undefined {
  return object === true ? { kind: "object", name, fields: new Map() } : undefined;
}

/** An object inside itself is unknown. */
function objectIn(schema: ObjectSchema, name: string, above: readonly Schema[]): CelType {
  const fields = above.includes(schema) ? new Map<string, CelField>() : fieldsOf(schema, name, [...above, schema]);
  return { kind: "object", name, fields };
}

function fieldsOf({ properties }: ObjectSchema, name: string, above: readonly Schema[]): Fields {
  const found = new Map<string, CelField>();
  for (const [property, field] of Object.entries(properties)) {
    const inlined = field.inline === true && field.schema.type === "object" ? fieldsOf(field.schema, name, above) : [];
    for (const one of inlined) found.set(...one);
    if (field.inline === true || !isTyped(field.schema)) continue;
    const made = lazyField(field, `${name}.${property}`, above);
    const escaped = escapeName(property);
    if (escaped !== undefined) found.set(escaped, made);
    // A reserved word of CEL is also readable unescaped after a dot.
    if (escaped === `__${property}__`) found.set(property, made);
  }
  return found;
}

/** Whether values of the schema have a type at all, which does not depend on the types inside an object. */
function isTyped(schema: Schema): boolean {
  switch (schema.type) {
    case "array":
      return isTyped(schema.items);
    case "map":
      return isTyped(schema.values);
    case "object":
      return true;
    default:
      return typeOf(schema, "", []) !== undefined;
  }
}

/** The type is created when an expression reads the field: a Pod has thousands, and policies use few. */
function lazyField({ schema }: Field, name: string, above: readonly Schema[]): CelField {
  let made: CelType | undefined;
  return {
    get type() {
      return (made ??= typeOf(schema, name, above) ?? dynType);
    },
  };
}
