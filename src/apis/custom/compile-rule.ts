import { CelError } from "../../policy/cel/cel-error.ts";
import type { CelProgram } from "../../policy/cel/compile.ts";
import { optionalType, type CelType } from "../../policy/cel/types.ts";
import { compileKubernetesCel } from "../../policy/kubernetes/compile-kubernetes-cel.ts";
import type { ValidationRule } from "./structural-schema.ts";

/** One rule ready to be evaluated, or why it cannot be. */
export interface CompiledRule {
  readonly rule: ValidationRule;
  readonly program: CelProgram | undefined;
  /** What is wrong with the rule; it has no program then. */
  readonly problem: string | undefined;
  readonly message: CelProgram | undefined;
  readonly messageProblem: string | undefined;
  /** Whether the rule compares with what was before. */
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
