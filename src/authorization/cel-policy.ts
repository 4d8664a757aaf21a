import { fieldsSchema, listSchema, readConfigurationFile } from "../apimachinery/configuration-file.ts";
import { duplicate, invalid, notSupported, required, tooMany, type FieldError } from "../apimachinery/field-error.ts";
import { CelError } from "../policy/cel/cel-error.ts";
import { fieldListAt, stringAt, type Fields } from "../apis/json-fields.ts";
import type { AskedSpec } from "./access-review-spec.ts";
import { compileMatchCondition, shownRequest } from "./match-conditions.ts";

/** What the rules say of a review; `rule` is the name of the one that decided, and absent where none did. */
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
/** What one rule, and what all together may cost. Source: apiserver pkg/apis/cel, PerCallLimit and the limit of match conditions. */
const ruleBudget = 1_000_000;
const wholeBudget = 2_500_000;

const text = { type: "string" } as const;
const schema = fieldsSchema({
  apiVersion: text,
  kind: text,
  rules: listSchema(fieldsSchema({ name: text, expression: text, decision: text, reason: text })),
});

/** Reads a CelPolicy from plain values; with any error there is no policy. Expressions are compiled. */
export function readCelPolicy(
  value: unknown,
): { readonly policy: CelPolicy } | { readonly policy?: undefined; readonly errors: readonly FieldError[] } {
  const { object, errors } = readConfigurationFile(value, { kind, apiVersions, schema });
  if (errors.length > 0) return { errors };
  const list = fieldListAt(object, "rules");
  if (list.length === 0) return { errors: [required("rules", "at least one rule must be defined")] };
  if (list.length > maxRules) return { errors: [tooMany("rules", list.length, maxRules)] };
  const faults = ruleErrors(list);
  return faults.length > 0 ? { errors: faults } : { policy: firstRule(list.map(ruleOf)) };
}

/** The policy that allows what one expression is true for. @throws CelError for an expression that cannot be used */
export function celExpressionPolicy(expression: string): CelPolicy {
  if (expression.length > maxExpressionCharacters) throw new CelError("size", "the expression is too long");
  return firstRule([ruleOf({ name: "", expression, decision: "Allow" })]);
}

function ruleErrors(list: readonly Fields[]): readonly FieldError[] {
  const names = new Set<string>();
  return list.flatMap((rule, index) => {
    const at = `rules[${index}]`;
    const [name, decision, reason] = [stringAt(rule, "name"), stringAt(rule, "decision"), stringAt(rule, "reason")];
    const isKnown = names.has(name);
    names.add(name);
    return [
      ...(name === "" ? [required(`${at}.name`)] : isKnown ? [duplicate(`${at}.name`, name)] : []),
      ...expressionErrors(`${at}.expression`, stringAt(rule, "expression")),
      ...(decisions.includes(decision) ? [] : [notSupported(`${at}.decision`, decision, decisions)]),
      ...(reason.length > maxReasonCharacters
        ? [invalid(`${at}.reason`, "", `must have at most ${maxReasonCharacters} characters`)]
        : []),
    ];
  });
}

function expressionErrors(at: string, expression: string): readonly FieldError[] {
  if (expression.trim() === "") return [required(at)];
  if (expression.length > maxExpressionCharacters)
    return [invalid(at, "", `must have at most ${maxExpressionCharacters} characters`)];
  try {
    compileMatchCondition(expression);
    return [];
  } catch (error) {
    if (error instanceof CelError) return [invalid(at, expression, `compilation failed: ${error.message}`)];
    throw error;
  }
}

interface Rule {
  readonly name: string;
  readonly program: ReturnType<typeof compileMatchCondition>;
  readonly decided: CelDecision;
}

function ruleOf(rule: Fields): Rule {
  const [name, reason] = [stringAt(rule, "name"), stringAt(rule, "reason")];
  const allow = stringAt(rule, "decision") === "Allow";
  const named = name === "" ? {} : { rule: name };
  const answer = reason === "" ? {} : { reason };
  return {
    name,
    program: compileMatchCondition(stringAt(rule, "expression")),
    decided: { allow, deny: !allow, ...named, ...answer },
  };
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
