import { tests as suite } from "@bufbuild/cel-spec/testdata/conformance.js";
import { describe, expect, it } from "vitest";
import {
  needsMessages,
  plainText,
  specCases,
  specType,
  specValue,
  type SpecCase,
} from "../../../test/kits/cel-spec.ts";
import { CelError } from "./cel-error.ts";
import { compileCel } from "./compile.ts";
import type { CelType } from "./types.ts";

/** Sections, or cases as section/case, that are not supported, by reason. Cases that need messages of Protocol Buffers are apart. */
const unsupported: Readonly<Record<string, readonly string[]>> = {
  "what an optimizer writes, never a person": ["block_ext/basic"],
  "names relative to a container": ["namespace/namespace"],
  "types of libraries with parameters, and functions that are declared only": [
    "type_deductions/functions/function_result_type",
    "type_deductions/type_parameters",
  ],
  "evaluation of what the checker refuses": [
    "basic/variables/unbound_is_runtime_error",
    "basic/functions/unbound_is_runtime_error",
    "comparisons/eq_literal/not_eq_list_length",
    "comparisons/eq_literal/eq_mixed_types",
    "comparisons/eq_literal/eq_list_elem_mixed_types",
    "comparisons/ne_literal/ne_mixed_types",
    "logic/conditional/mixed_type",
    "logic/AND/short_circuit_type_left",
    "logic/AND/short_circuit_type_right",
    "logic/OR/short_circuit_type_left",
    "logic/OR/short_circuit_type_right",
    "parse/receiver_function_names",
  ],
};

const cases = specCases(suite).filter((test) => !needsMessages(test));
const excluded = Object.values(unsupported).flat();
const isExcluded = (test: SpecCase, name: string): boolean =>
  test.section === name || `${test.section}/${test.name}` === name;

function run(test: SpecCase): string {
  const types: Record<string, CelType> = {};
  for (const { name, ident } of test.typeEnv ?? []) if (ident !== undefined) types[name] = specType(ident.type);
  const values: Record<string, unknown> = {};
  for (const [name, { value }] of Object.entries(test.bindings ?? {})) {
    types[name] ??= { kind: "dyn" };
    values[name] = specValue(value);
  }
  try {
    const program = compileCel(test.expr, { variables: types, functions: [] });
    if (test.checkOnly === true) return `type ${plainText(program.type)}`;
    const outcome = program.evaluate(values, { budget: 1_000_000 });
    return "error" in outcome ? "error" : `value ${plainText(outcome.value)}`;
  } catch (error) {
    if (error instanceof CelError) return "error";
    throw error;
  }
}

function expected(test: SpecCase): string {
  if (test.evalError !== undefined) return "error";
  if (test.checkOnly === true) return `type ${plainText(specType(test.typedResult?.deducedType ?? {}))}`;
  return `value ${plainText(specValue(test.value ?? test.typedResult?.result ?? { boolValue: true }))}`;
}

describe("the published conformance suite", () => {
  const supported = cases.filter((test) => !excluded.some((name) => isExcluded(test, name)));
  const sections = [...new Set(supported.map((test) => test.section))];

  it.each(sections)("agrees on %s", (section) => {
    const own = supported.filter((test) => test.section === section);
    const shown = (test: SpecCase, result: string): string => `${test.name}: ${test.expr} is ${result}`;
    expect(own.map((test) => shown(test, run(test)))).toStrictEqual(own.map((test) => shown(test, expected(test))));
  });

  it("is read as a whole", () => {
    expect(supported).toHaveLength(1590);
    expect(sections.length).toBeGreaterThan(100);
  });

  it.each(excluded)("still does not agree on %s, so that the list is true", (name) => {
    const named = cases.filter((test) => isExcluded(test, name));
    expect(named.length).toBeGreaterThan(0);
    expect(named.filter((test) => run(test) !== expected(test)).length).toBeGreaterThan(0);
  });
});
