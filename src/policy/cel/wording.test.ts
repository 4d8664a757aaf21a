import { tests as checking } from "@bufbuild/cel-spec/testdata/checking.js";
import { tests as parsing } from "@bufbuild/cel-spec/testdata/parsing.js";
import { expect, it } from "vitest";
import { needsMessages, specCases, specType, type SpecCase } from "../../../test/kits/cel-spec.ts";
import { CelError } from "./cel-error.ts";
import { compileCel } from "./compile.ts";
import { formatType, type CelType } from "./types.ts";

/** What cel-go was told to do otherwise when it wrote its answers down, or says of things that are not here. */
const otherwise: Readonly<Record<string, RegExp>> = {
  "syntax that was switched off": /unsupported syntax/,
  "limits of the parser that were set low": /recursion|lookahead limit/,
  "numbers of different types that were not comparable":
    /overload for '_[<>]=?_' applied to '\((int|uint|double), (int|uint|double)\)'/,
  "messages and wrappers": /is not a message type|is not a type/,
  "the name of a type nothing decided": /_var0/,
  "macros of two variables that were switched off": /reference to 'existsOne'/,
};

/** Expressions whose first problem cel-go words differently, because its lexer goes on after an error. */
const known: ReadonlySet<string> = new Set([
  "*@a | b",
  "a | b",
  '{"a": 1}."a"',
  '"\\xFh"',
  "--",
  "a.`$b`",
  "x{?.",
  "'3# < 10\" '& tru ^^",
]);

/** Variables and functions that cel-go's test declares for all its cases. */
const namesOfTheirOwn = /^(?:i[a-z]|1 \+ ii|fg_s\(\)|is\.fi_s_s\(\))$/;

function compared(suite: Parameters<typeof specCases>[0]): readonly SpecCase[] {
  return specCases(suite).filter(
    (test) =>
      !needsMessages(test) &&
      !known.has(test.expr) &&
      !test.expr.includes("in.😁") &&
      !Object.values(otherwise).some((pattern) => pattern.test(test.error ?? "")),
  );
}

function outcome(test: SpecCase): string {
  const variables: Record<string, CelType> = {};
  for (const { name, ident } of test.typeEnv ?? []) if (ident !== undefined) variables[name] = specType(ident.type);
  try {
    return formatType(compileCel(test.expr, { variables, functions: [] }).type);
  } catch (error) {
    if (error instanceof CelError) return error.message;
    throw error;
  }
}

/** The first problem alone: after an error of syntax cel-go goes on, and this parser does not. */
function first(message: string): string {
  return message.replaceAll("ERROR: :", "ERROR: <input>:").split("\nERROR", 1)[0] ?? "";
}

it("words the first problem of an expression as cel-go does", () => {
  const cases = compared(parsing).filter((test) => test.error !== undefined);
  expect(cases.length).toBeGreaterThan(90);
  expect(cases.map((test) => [test.expr, first(outcome(test))])).toStrictEqual(
    cases.map((test) => [test.expr, first(test.error ?? "")]),
  );
});

it("finds the types and the problems of types that cel-go finds", () => {
  const cases = compared(checking).filter(
    (test) => (test.typeEnv ?? []).every(({ ident }) => ident !== undefined) && !namesOfTheirOwn.test(test.expr),
  );
  expect(cases.length).toBeGreaterThan(50);
  expect(cases.map((test) => [test.expr, outcome(test)])).toStrictEqual(
    cases.map((test) => [test.expr, test.error ?? test.type]),
  );
});
