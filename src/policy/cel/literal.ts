import type { CelLiteral } from "./ast.ts";
import type { CelToken } from "./lexer.ts";
import { celDouble, celInt, celUint, maxInt64, minInt64, maxUint64 } from "./values.ts";

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
  const second = tokens[at + 1];
  if (first?.kind === "sign" && first.text === "-" && second !== undefined) return numberOf(second, { negative: true });
  return first === undefined ? undefined : (numberOf(first, { negative: false }) ?? wordOf(first));
}

function numberOf(token: CelToken, { negative }: { readonly negative: boolean }): LiteralResult | undefined {
  const length = negative ? 2 : 1;
  if (token.kind === "int") {
    const value = BigInt(token.text) * (negative ? -1n : 1n);
    if (value < minInt64 || value > maxInt64) return { problem: "invalid int literal" };
    return { value: celInt(value), length };
  }
  if (token.kind !== "double") return undefined;
  const value = Number(token.text);
  return Number.isFinite(value)
    ? { value: celDouble(negative ? -value : value), length }
    : { problem: "invalid double literal" };
}

function wordOf(token: CelToken): LiteralResult | undefined {
  switch (token.kind) {
    case "uint": {
      const value = BigInt(token.text);
      return value > maxUint64 ? { problem: "invalid uint literal" } : { value: celUint(value), length: 1 };
    }
    case "string":
      return { value: token.text, length: 1 };
    case "bytes":
      return { value: token.bytes ?? new Uint8Array(), length: 1 };
    case "identifier": {
      const value = constants.get(token.text);
      return value === undefined ? undefined : { value, length: 1 };
    }
    default:
      return undefined;
  }
}
