import { apiVersionOf } from "../apimachinery/object.ts";
import type { Steps } from "../apimachinery/steps.ts";
import { CelError } from "../policy/cel/cel-error.ts";
import { dynType, type CelType } from "../policy/cel/types.ts";
import { checkedType, type CheckedScope } from "./admission-expression.ts";
import type { AdmissionRule } from "./admission-match.ts";
import type { Resource } from "./resource.ts";
import { objectTypeOf } from "./schema-type.ts";
import type { PolicySpec } from "./validating-admission-policy.ts";

/** An expression of a policy that does not fit the kinds that the policy matches. Source: api/admissionregistration/v1. */
export interface ExpressionWarning {
  readonly fieldRef: string;
  readonly warning: string;
}

/** So many kinds are checked. Source: apiserver pkg/admission/plugin/policy/validating typechecking. */
const maxTypes = 10;
/** All warnings of a policy together, in characters, so that its status can be stored; Kubernetes has no limit. */
const maxCharacters = 128 * 1024;

/** A kind that a policy matches, and what is known of its objects. */
interface CheckedKind {
  /** As Go prints a GroupVersionKind. */
  readonly name: string;
  readonly scope: CheckedScope;
}

/**
 * Checks the validations and message expressions of a policy against the types of the objects that it matches: at most ten kinds, of
 * rules without wildcards. It changes nothing about what the policy does. Source: apiserver
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
  for (const [index, validation] of (spec.validations ?? []).entries()) {
    for (const field of ["expression", "messageExpression"] as const) {
      const expression = validation[field] ?? "";
      if (expression === "") continue;
      const warning = yield* warningOf(expression, kinds);
      left -= warning.length;
      if (warning === "" || left < 0) continue;
      found.push({ fieldRef: `spec.validations[${index}].${field}`, warning });
    }
  }
  return found;
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

/** The type of an expression, or what is wrong with it. */
function typeOrProblem(expression: string, scope: CheckedScope): CelType | string {
  try {
    return checkedType(expression, scope);
  } catch (error) {
    if (error instanceof CelError) return error.message;
    throw error;
  }
}

/** A variable whose own expression does not fit is dynamic, and told nowhere. */
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

/** As the RESTMapper of Kubernetes finds kinds: by plural or singular, and the core group stands for any. */
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
