import type { Literal, With } from "./ast.ts";
import { parseTerm } from "./parse-term.ts";
import type { TokenReader } from "./token-reader.ts";

/** The expression with what is replaced while it is evaluated, if that follows. */
export function withReplaced(reader: TokenReader, literal: Literal): Literal {
  const replaced: With[] = [];
  while (reader.took("with")) {
    const target = parseTerm(reader);
    reader.expect("as");
    replaced.push({ target, value: parseTerm(reader) });
  }
  return replaced.length === 0 ? literal : { ...literal, with: replaced };
}

/** A term, or two with `:=` or `=` between them. */
export function parseExpression(reader: TokenReader): Literal {
  const { at } = reader.peek();
  const left = parseTerm(reader, true);
  if (reader.took(":=")) return { kind: "assign", left, right: parseTerm(reader, true), with: [], at };
  if (reader.took("=")) return { kind: "unify", left, right: parseTerm(reader, true), with: [], at };
  return { kind: "expression", term: left, with: [], at };
}
