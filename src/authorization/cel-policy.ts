import { fieldsSchema, listSchema, readConfigurationFile, type DecodedBy } from "../apimachinery/configuration-file.ts";
import { duplicate, invalid, notSupported, required, tooMany, type FieldError } from "../apimachinery/field-error.ts";
import { CelError } from "../policy/cel/cel-error.ts";
import type { AskedSpec } from "./access-review-spec.ts";
import { compileMatchCondition, shownRequest } from "./match-conditions.ts";

/** The decision of the rules on a review; `rule` is the name of the one that decided, and absent where none did. */
export type CelDecision =
  | { readonly allow: boolean; readonly deny: boolean; readonly rule?: string; readonly reason?: string }
  | { readonly error: string };

/** Decides by the first rule whose expression is true; one that cannot be evaluated ends the search. */
export type CelPolicy = (spec: AskedSpec) => CelDecision;

const kind = "CelPolicy";
const apiVersions = ["pratique.dev/v1alpha1"];
const decisions = ["Allow", "Deny"];
const maxRules = 256;
const maxExpressionCharacters = 16_384;
const maxReasonCharacters = 1024;
/** The cost limit of one rule, and of all together. Source: apiserver pkg/apis/cel, PerCallLimit and the limit of match conditions. */
const ruleBudget = 1_000_000;
const wholeBudget = 2_500_000;

const text = { type: "string" } as const;
const ruleSchema = fieldsSchema({ name: text, expression: text, decision: text, reason: text });
const schema = fieldsSchema({ apiVersion: text, kind: text, rules: listSchema(ruleSchema) });

type WrittenRule = DecodedBy<typeof ruleSchema>;

/** Reads a CelPolicy from plain values; with any error there is no policy. Expressions are compiled. */
export function readCelPolicy(
  value: unknown,
): { readonly policy: CelPolicy } | { readonly policy?: undefined; readonly errors: readonly FieldError[] } {
  const { object, errors } = readConfigurationFile(value, { kind, apiVersions, schema });
  const { rules = [] } = object;
  const faults = errors.length > 0 ? errors : [...ruleErrors(rules)];
  return faults.length > 0 ? { errors: faults } : { policy: firstRule(rules.map(ruleOf)) };
}

/** The policy that allows what one expression is true for. @throws CelError for an expression that cannot be used */
export function celExpressionPolicy(expression: string): CelPolicy {
  if (expression.length > maxExpressionCharacters) throw new CelError("size", "the expression is too long");
  return firstRule([ruleOf({ expression, decision: "Allow" })]);
}

function* ruleErrors(rules: readonly WrittenRule[]): Generator<FieldError, void> {
  if (rules.length === 0) yield required("rules", "at least one rule must be defined");
  if (rules.length > maxRules) return yield tooMany("rules", rules.length, maxRules);
  const names = rules.map(({ name = "" }) => name);
  for (const [index, rule] of rules.entries()) {
    const at = `rules[${index}]`;
    const { name, expression, decision, reason } = { name: "", expression: "", decision: "", reason: "", ...rule };
    if (name === "") yield required(`${at}.name`);
    else if (names.indexOf(name) < index) yield duplicate(`${at}.name`, name);
    yield* expressionErrors(`${at}.expression`, expression);
    if (!decisions.includes(decision)) yield notSupported(`${at}.decision`, decision, decisions);
    if (reason.length > maxReasonCharacters)
      yield invalid(`${at}.reason`, "", `must have at most ${maxReasonCharacters} characters`);
  }
}

function* expressionErrors(at: string, expression: string): Generator<FieldError, void> {
  if (expression.trim() === "") return yield required(at);
  if (expression.length > maxExpressionCharacters)
    return yield invalid(at, "", `must have at most ${maxExpressionCharacters} characters`);
  try {
    compileMatchCondition(expression);
  } catch (error) {
    if (!(error instanceof CelError)) throw error;
    yield invalid(at, expression, `compilation failed: ${error.message}`);
  }
}

interface Rule {
  readonly name: string;
  readonly program: ReturnType<typeof compileMatchCondition>;
  readonly decided: CelDecision;
}

function ruleOf({ name = "", expression = "", decision, reason = "" }: WrittenRule): Rule {
  const allow = decision === "Allow";
  const named = name === "" ? {} : { rule: name };
  const answer = reason === "" ? {} : { reason };
  return { name, program: compileMatchCondition(expression), decided: { allow, deny: !allow, ...named, ...answer } };
}

function firstRule(rules: readonly Rule[]): CelPolicy {
  return function decide(spec) {
    const variables = { request: shownRequest(spec) };
    let left = wholeBudget;
    for (const { name, program, decided } of rules) {
      const outcome = program.evaluate(variables, { budget: Math.min(left, ruleBudget) });
      left -= outcome.cost;
      const where = name === "" ? "the expression" : `rule ${JSON.stringify(name)}`;
      if (left <= 0) return { error: `${where}: the rules cost more than they may` };
      if ("error" in outcome) return { error: `${where}: ${outcome.error}` };
      if (outcome.value === true) return decided;
    }
    return { allow: false, deny: false };
  };
}
