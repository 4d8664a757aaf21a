import { invalid, type FieldError } from "../../core/field-error.ts";
import { endsStep, type Pace } from "../../core/pace.ts";
import type { Steps } from "../../core/steps.ts";
import { patternProblem } from "./pattern.ts";
import type { StructuralSchema } from "./structural-schema.ts";

/**
 * How many characters the different patterns of one schema may have in all. Compiling a pattern takes time, and there would be
 * room for thousands of long ones in one definition; those of real kinds have a few hundred.
 */
const maximumCharacters = 65_536;
const placesOfPattern = 16;

/** The patterns of a schema that are none, each different one compiled once. Source: apiextensions-apiserver pkg/apiserver/schema. */
export function* patternErrors(schema: StructuralSchema, path: string): Steps<readonly FieldError[]> {
  const walk: Walk = { problems: new Map(), characters: 0, errors: [], pace: { places: 0 } };
  yield* collect(schema, path, walk);
  return walk.errors;
}

interface Walk {
  /** What is wrong with each pattern seen so far. */
  readonly problems: Map<string, string | undefined>;
  characters: number;
  readonly errors: FieldError[];
  readonly pace: Pace;
}

function* collect(schema: StructuralSchema, path: string, walk: Walk): Steps<void> {
  // Compiling a pattern costs about as much as looking at sixteen places.
  if (endsStep(walk.pace, schema.pattern === undefined ? 1 : placesOfPattern)) yield;
  const { pattern, items, additionalProperties, not } = schema;
  if (pattern !== undefined) {
    const problem = problemOf(pattern.source, walk);
    if (problem !== undefined) walk.errors.push(invalid(`${path}.pattern`, pattern.source, problem));
  }
  if (items !== undefined) yield* collect(items, `${path}.items`, walk);
  if (typeof additionalProperties === "object")
    yield* collect(additionalProperties, `${path}.additionalProperties`, walk);
  for (const [name, property] of schema.properties) yield* collect(property, `${path}.properties[${name}]`, walk);
  for (const keyword of ["allOf", "anyOf", "oneOf"] as const) {
    for (const [index, one] of schema[keyword].entries()) yield* collect(one, `${path}.${keyword}[${index}]`, walk);
  }
  if (not !== undefined) yield* collect(not, `${path}.not`, walk);
}

function problemOf(source: string, walk: Walk): string | undefined {
  if (walk.problems.has(source)) return walk.problems.get(source);
  walk.characters += source.length;
  if (walk.characters > maximumCharacters) {
    return `must not bring the patterns of the schema above ${maximumCharacters} characters in all`;
  }
  const why = patternProblem(source);
  const problem = why === undefined ? undefined : `must be a valid regular expression, but isn't: ${why}`;
  walk.problems.set(source, problem);
  return problem;
}
