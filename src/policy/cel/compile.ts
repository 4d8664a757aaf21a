import { checkCel, type CelChecked } from "./check.ts";
import { functionTable, newScope, type CelEnvironment } from "./environment.ts";
import { CelLimitError, maxRoom, newPatterns, type Frame } from "./frame.ts";
import { parseCel } from "./parser.ts";
import { standardFunctions } from "./standard-library.ts";
import { compileSteps } from "./steps.ts";
import type { CelType } from "./types.ts";
import type { CelValue } from "./values.ts";

const standardLibrary = functionTable(standardFunctions);

/** The outcome of an evaluation and its cost; an error has the wording of cel-go. */
export type CelOutcome = ({ readonly value: CelValue } | { readonly error: string }) & { readonly cost: number };

/** A compiled expression, which can be evaluated any number of times. */
export interface CelProgram {
  readonly type: CelType;
  /** The nodes, their types and the meanings of their names; for estimates of cost. */
  readonly ast: CelChecked;
  /**
   * The value for these variables, which may be JSON as it was parsed; it is not copied. The evaluation ends when its cost reaches
   * `budget`, in the units of Kubernetes. Throws nothing.
   */
  readonly evaluate: (variables: Readonly<Record<string, unknown>>, options: { readonly budget: number }) => CelOutcome;
}

/**
 * Reads and checks an expression.
 * @throws CelError when it cannot be used; the message is what a client should see
 */
export function compileCel(source: string, environment: CelEnvironment): CelProgram {
  const scope = newScope(environment, environment.library ?? standardLibrary);
  const ast = checkCel(parseCel(source), source, scope);
  const { run, inputs, slots } = compileSteps(ast, environment);
  const patterns = newPatterns();
  return {
    type: ast.typeOf(ast.root),
    ast,
    evaluate: (variables, options) => {
      const frame: Frame = {
        slots: Array.from<CelValue | undefined>({ length: slots }),
        budget: options.budget,
        room: maxRoom,
        patterns,
        counted: new Map(),
        error: "",
        converted: undefined,
      };
      try {
        for (const [slot, { name, convert }] of inputs.entries()) {
          const raw = Object.hasOwn(variables, name) ? variables[name] : undefined;
          frame.slots[slot] = raw === undefined ? undefined : convert(raw, frame);
        }
        const value = run(frame);
        const cost = options.budget - frame.budget;
        return value === undefined ? { error: frame.error, cost } : { value, cost };
      } catch (error) {
        // RangeError: a value too large or too deep for the runtime also exceeds the limit.
        if (error instanceof CelLimitError || error instanceof RangeError)
          return { error: new CelLimitError().message, cost: options.budget - frame.budget };
        throw error;
      }
    },
  };
}
