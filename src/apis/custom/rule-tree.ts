import { endsStep, type Pace } from "../../apimachinery/step-budget.ts";
import type { Steps } from "../../apimachinery/steps.ts";
import { compileRule, type CompiledRule } from "./compile-rule.ts";
import { ruleFieldPath } from "./rule-field-path.ts";
import { ruleType, type RuleType } from "./rule-type.ts";
import type { StructuralSchema } from "./structural-schema.ts";

/** A part of a schema that has rules, or below which there are some. */
export interface RuledNode {
  readonly schema: StructuralSchema;
  readonly type: RuleType | undefined;
  readonly rules: readonly NodeRule[];
  readonly allOf: readonly RuledNode[];
  readonly properties: ReadonlyMap<string, RuledNode>;
  readonly items: RuledNode | undefined;
  readonly values: RuledNode | undefined;
}

/** A rule of a node, compiled over the type of its values. */
export interface NodeRule {
  readonly compiled: CompiledRule;
  /** The path below the value that errors name. */
  readonly fieldPath: string | undefined;
}

/** Where rules stand, and the schema of the values that they apply to: of a branch of `allOf`, the schema that holds it. */
interface Schemas {
  readonly rules: StructuralSchema;
  readonly values: StructuralSchema;
}

/** What is shared by all parts of one schema. */
interface Compilation {
  readonly pace: Pace;
  readonly compiled: CompiledRules;
}

/** Rules that were compiled already, by the part of the schema that has them. */
export type CompiledRules = Map<StructuralSchema, readonly NodeRule[]>;

/** What compiling a rule costs besides its characters, next to looking at a place. */
const placesOfRule = 64;

/** Compiles the rules of a schema and of all below it, in steps; undefined where there are none. A rule that does not compile is there with its problem. */
export function* compileRuleTree(
  { rules, values }: Schemas,
  type: RuleType | undefined,
  compilation: Compilation,
): Steps<RuledNode | undefined> {
  if (endsStep(compilation.pace)) yield;
  const below = function* (
    child: StructuralSchema | undefined,
    childValues: StructuralSchema | undefined,
    known?: RuleType,
  ): Steps<RuledNode | undefined> {
    if (child === undefined || childValues === undefined) return undefined;
    return yield* compileRuleTree({ rules: child, values: childValues }, known ?? freshType(childValues), compilation);
  };
  const properties = new Map<string, RuledNode>();
  for (const [name, child] of rules.properties) {
    const node = yield* below(child, values.properties.get(name), type?.properties.get(name));
    if (node !== undefined) properties.set(name, node);
  }
  const allOf: RuledNode[] = [];
  for (const branch of rules.allOf) {
    const node = yield* compileRuleTree({ rules: branch, values }, type, compilation);
    if (node !== undefined) allOf.push(node);
  }
  const node: RuledNode = {
    schema: values,
    type,
    rules: type === undefined ? [] : yield* compiledRules({ rules, values }, type, compilation),
    allOf,
    properties,
    items: yield* below(rules.items, values.items, type?.inside),
    values: yield* below(schemaOf(rules.additionalProperties), schemaOf(values.additionalProperties), type?.inside),
  };
  const isEmpty = node.rules.length === 0 && node.allOf.length === 0 && properties.size === 0;
  return isEmpty && node.items === undefined && node.values === undefined ? undefined : node;
}

function* compiledRules(
  { rules, values }: Schemas,
  { type }: RuleType,
  { pace, compiled }: Compilation,
): Steps<readonly NodeRule[]> {
  if (rules.validations.length === 0) return [];
  const known = compiled.get(rules);
  if (known !== undefined) return known;
  const made: NodeRule[] = [];
  for (const rule of rules.validations) {
    if (endsStep(pace, placesOfRule + rule.rule.length)) yield;
    const fieldPath = rule.fieldPath === undefined ? undefined : ruleFieldPath(rule.fieldPath, values);
    made.push({ compiled: compileRule(rule, type), fieldPath });
  }
  compiled.set(rules, made);
  return made;
}

function freshType(schema: StructuralSchema): RuleType | undefined {
  return ruleType(schema, { name: "selfType", isResource: schema.embeddedResource });
}

function schemaOf(additional: StructuralSchema["additionalProperties"]): StructuralSchema | undefined {
  return typeof additional === "object" ? additional : undefined;
}
