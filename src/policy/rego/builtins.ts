import type { Builtin } from "./builtin.ts";
import { collectionBuiltins, typeBuiltins } from "./collection-builtins.ts";
import { encodingBuiltins, netBuiltins, semverBuiltins } from "./format-builtins.ts";
import { pathBuiltins } from "./json-paths.ts";
import { bitBuiltins, numberBuiltins } from "./number-builtins.ts";
import { graphBuiltins, objectBuiltins } from "./object-builtins.ts";
import { patternBuiltins } from "./pattern-builtins.ts";
import { textBuiltins } from "./text-builtins.ts";
import { timeBuiltins } from "./time-builtins.ts";

/** All built-in functions. A policy that calls any other function of OPA does not compile. */
export const builtins: readonly Builtin[] = [
  ...bitBuiltins,
  ...collectionBuiltins,
  ...encodingBuiltins,
  ...graphBuiltins,
  ...netBuiltins,
  ...numberBuiltins,
  ...objectBuiltins,
  ...pathBuiltins,
  ...patternBuiltins,
  ...semverBuiltins,
  ...textBuiltins,
  ...timeBuiltins,
  ...typeBuiltins,
];

const byName: ReadonlyMap<string, Builtin> = new Map(builtins.map((each) => [each.name, each]));

/** The function of this name. */
export function builtinNamed(name: string): Builtin | undefined {
  return byName.get(name);
}

/** Functions that v1 no longer has. */
export const deprecatedBuiltins: ReadonlySet<string> = new Set([
  "all",
  "any",
  "net.cidr_overlap",
  "re_match",
  "set_diff",
  "cast_array",
  "cast_set",
  "cast_string",
  "cast_boolean",
  "cast_null",
  "cast_object",
]);
