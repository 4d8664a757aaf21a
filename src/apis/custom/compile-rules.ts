import { endsStep, type Pace } from "../../apimachinery/step-budget.ts";
import type { Steps } from "../../apimachinery/steps.ts";
import { CelError } from "../../policy/cel/cel-error.ts";
import type { CelProgram } from "../../policy/cel/compile.ts";
import { optionalType, type CelType } from "../../policy/cel/types.ts";
import { compileKubernetesCel } from "../../policy/kubernetes/compile-kubernetes-cel.ts";
import { ruleType, type RuleType } from "./rule-type.ts";
import type { StructuralSchema, ValidationRule } from "./structural-schema.ts";
import { memberSchema, joinedPath } from "./correlation.ts";

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
  /** The path in errors, below the value. */
  readonly fieldPath: string | undefined;
}

/** The schema that has the rules, and the schema of the values that they apply to: for a branch of `allOf`, the parent schema. */
interface Schemas {
  readonly rules: StructuralSchema;
  readonly values: StructuralSchema;
}

/** State that all parts of one schema share. */
interface Compilation {
  readonly pace: Pace;
  readonly compiled: CompiledRules;
}

/** Compiled rules, by the part of the schema that has them. */
export type CompiledRules = Map<StructuralSchema, readonly NodeRule[]>;

/** The cost of compiling a rule besides its characters, relative to visiting a place. */
const placesOfRule = 64;

/** Compiles the rules of a schema and of all below it, in steps; undefined where there are none. A rule that does not compile has a problem. */
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
    rules: yield* compiledRules({ rules, values }, type, compilation),
    allOf,
    properties,
    items: yield* below(rules.items, values.items, type?.inside),
    values: yield* below(schemaOf(rules.additionalProperties), schemaOf(values.additionalProperties), type?.inside),
  };
  return isEmpty(node) ? undefined : node;
}

function isEmpty({ rules, allOf, properties, items, values }: RuledNode): boolean {
  const isBare = rules.length === 0 && allOf.length === 0 && properties.size === 0;
  return isBare && items === undefined && values === undefined;
}

function* compiledRules(
  { rules, values }: Schemas,
  type: RuleType | undefined,
  { pace, compiled }: Compilation,
): Steps<readonly NodeRule[]> {
  if (type === undefined || rules.validations.length === 0) return [];
  const known = compiled.get(rules);
  if (known !== undefined) return known;
  const results: NodeRule[] = [];
  for (const rule of rules.validations) {
    if (endsStep(pace, placesOfRule + rule.rule.length)) yield;
    const fieldPath = rule.fieldPath === undefined ? undefined : ruleFieldPath(rule.fieldPath, values);
    results.push({ compiled: compileRule(rule, type.type), fieldPath });
  }
  compiled.set(rules, results);
  return results;
}

function freshType(schema: StructuralSchema): RuleType | undefined {
  return ruleType(schema, { name: "selfType", isResource: schema.embeddedResource });
}

function schemaOf(additional: StructuralSchema["additionalProperties"]): StructuralSchema | undefined {
  return typeof additional === "object" ? additional : undefined;
}

/** A compiled rule, or why it does not compile. */
export interface CompiledRule {
  readonly rule: ValidationRule;
  readonly program: CelProgram | undefined;
  /** The error of the rule; it has no program then. */
  readonly problem: string | undefined;
  readonly message: CelProgram | undefined;
  readonly messageProblem: string | undefined;
  /** Whether the rule uses `oldSelf`. */
  readonly usesOldSelf: boolean;
}

/** Compiles a rule over values of a type. Never throws. Source: apiextensions-apiserver schema/cel compileRule. */
export function compileRule(rule: ValidationRule, type: CelType): CompiledRule {
  const variables = { self: type, oldSelf: rule.optionalOldSelf === true ? optionalType(type) : type };
  const compiled = (source: string, result: "bool" | "string", words: Words): Compiled => {
    try {
      const program = compileKubernetesCel(source, variables);
      return program.type.kind === result ? { program } : { problem: words.result };
    } catch (error) {
      if (error instanceof CelError) return { problem: `${words.compilation}: ${error.message}` };
      throw error;
    }
  };
  const condition = compiled(rule.rule, "bool", ruleWords);
  const hasMessage = condition.program !== undefined && rule.messageExpression !== undefined;
  const message = hasMessage ? compiled(rule.messageExpression, "string", messageWords) : {};
  return {
    rule,
    program: condition.program,
    problem: condition.problem,
    message: message.program,
    messageProblem: message.problem,
    usesOldSelf: condition.program?.ast.variables.includes("oldSelf") === true,
  };
}

interface Compiled {
  readonly program?: CelProgram;
  readonly problem?: string;
}

interface Words {
  readonly compilation: string;
  readonly result: string;
}

const ruleWords: Words = {
  compilation: "compilation failed",
  result: "cel expression must evaluate to a bool",
};
const messageWords: Words = {
  compilation: "messageExpression compilation failed",
  result: "messageExpression must evaluate to a string",
};

/**
 * The path of a rule's `fieldPath` below the value of `schema`, as errors write it (`.spec['a.b']` is `spec[a.b]` of a map), or
 * undefined where it names no field of the schema. Source: apiextensions-apiserver schema/cel ValidFieldPath.
 */
export function ruleFieldPath(fieldPath: string, schema: StructuralSchema): string | undefined {
  // Each step is `.name` or `['name']`, in which a backslash escapes.
  const step = /\.([^.[\]]+)|\['((?:[^'\\]|\\.)*)'\]/sy;
  let found = schema;
  let path = "";
  while (step.lastIndex < fieldPath.length) {
    const [, plain, quoted] = step.exec(fieldPath) ?? [];
    const name: string | undefined = plain ?? unescape(quoted);
    const below = fieldSchema(found, name);
    if (name === undefined || below === undefined) return undefined;
    path = found.properties.has(name) ? joinedPath(path, name) : `${path}[${name}]`;
    found = below;
  }
  return path === "" ? undefined : path;
}

/** The schema of a property, or of the values of a map. */
function fieldSchema(schema: StructuralSchema, name: string | undefined): StructuralSchema | undefined {
  if (name === undefined) return undefined;
  return schema.properties.size > 0 ? schema.properties.get(name) : memberSchema(schema, name);
}

const escapes: ReadonlyMap<string, string> = new Map([
  ["a", "\u0007"],
  ["b", "\b"],
  ["f", "\f"],
  ["n", "\n"],
  ["r", "\r"],
  ["t", "\t"],
  ["v", "\v"],
  ["'", "'"],
  ["\\", "\\"],
]);

function unescape(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const isKnown = [...text.matchAll(/\\(.)/gs)].every(([, character = ""]) => escapes.has(character));
  return isKnown ? text.replaceAll(/\\(.)/gs, (_match, character: string) => escapes.get(character) ?? "") : undefined;
}
