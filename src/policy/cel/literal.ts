import type { CelLiteral } from "./ast.ts";
import type { CelToken } from "./lexer.ts";
import { celDouble, celInt, celUint, int64Maximum, int64Minimum, uint64Maximum } from "./values.ts";

/** A literal and how many words it takes, or why it is none. */
export type LiteralResult = { readonly value: CelLiteral; readonly length: number } | { readonly problem: string };

const constants: ReadonlyMap<string, CelLiteral> = new Map<string, CelLiteral>([
  ["true", true],
  ["false", false],
  ["null", null],
]);

/** The literal that starts at a word, its sign included; undefined when none does. */
export function literalOf(tokens: readonly CelToken[], at: number): LiteralResult | undefined {
  const first = tokens[at];
  if (first === undefined) return undefined;
  const negative = first.kind === "sign" && first.text === "-";
  const token = negative ? tokens[at + 1] : first;
  if (token === undefined) return undefined;
  const length = negative ? 2 : 1;
  switch (token.kind) {
    case "int":
      return within(BigInt(token.text) * (negative ? -1n : 1n), length);
    case "double": {
      const value = Number(token.text);
      if (!Number.isFinite(value)) return { problem: "invalid double literal" };
      return { value: celDouble(negative ? -value : value), length };
    }
    case "uint": {
      const value = BigInt(token.text);
      return negative
        ? undefined
        : value > uint64Maximum
          ? { problem: "invalid uint literal" }
          : { value: celUint(value), length };
    }
    case "string":
      return negative ? undefined : { value: token.text, length };
    case "bytes":
      return negative ? undefined : { value: token.bytes ?? new Uint8Array(), length };
    case "identifier": {
      const value = constants.get(token.text);
      return negative || value === undefined ? undefined : { value, length };
    }
    case "name":
    case "sign":
    case "end":
      return undefined;
  }
}

function within(value: bigint, length: number): LiteralResult {
  return value < int64Minimum || value > int64Maximum
    ? { problem: "invalid int literal" }
    : { value: celInt(value), length };
}
