import { invalid, type FieldError } from "../../apimachinery/field-error.ts";
import { endsStep, type Pace } from "../../apimachinery/step-budget.ts";
import type { Steps } from "../../apimachinery/steps.ts";
import { patternProblem } from "./pattern.ts";
import { type StructuralSchema, alternatives } from "./structural-schema.ts";

/**
 * Maximum number of characters of the different patterns of one definition. Compiling a pattern takes time, and there would be
 * room for thousands of long ones in one definition; those of real kinds have a few hundred.
 */
const maxCharacters = 65_536;
const placesOfPattern = 16;

/** The invalid patterns of a schema; each different one is compiled once. Source: apiextensions-apiserver pkg/apiserver/schema. */
export function* patternErrors(
  schema: StructuralSchema,
  path: string,
  seen: SeenPatterns,
): Steps<readonly FieldError[]> {
  const walk: Walk = { seen, errors: [], pace: { places: 0 } };
  yield* collect(schema, path, walk);
  return walk.errors;
}

/** The patterns of a definition that were checked so far. */
export interface SeenPatterns {
  /** The error of each. */
  readonly problems: Map<string, string | undefined>;
  characters: number;
}

/** No patterns. */
export function newSeenPatterns(): SeenPatterns {
  return { problems: new Map(), characters: 0 };
}

interface Walk {
  readonly seen: SeenPatterns;
  readonly errors: FieldError[];
  readonly pace: Pace;
}

function* collect(schema: StructuralSchema, path: string, walk: Walk): Steps<void> {
  // Compiling a pattern costs about as much as visiting sixteen places.
  if (endsStep(walk.pace, schema.pattern === undefined ? 1 : placesOfPattern)) yield;
  const { pattern, items, additionalProperties } = schema;
  const problem = pattern && problemOf(pattern.source, walk.seen);
  if (problem !== undefined) walk.errors.push(invalid(`${path}.pattern`, pattern?.source, problem));
  if (items !== undefined) yield* collect(items, `${path}.items`, walk);
  if (typeof additionalProperties === "object") {
    yield* collect(additionalProperties, `${path}.additionalProperties`, walk);
  }
  for (const [name, property] of schema.properties) yield* collect(property, `${path}.properties[${name}]`, walk);
  for (const [step, one] of alternatives(schema)) yield* collect(one, `${path}.${step}`, walk);
}

function problemOf(source: string, seen: SeenPatterns): string | undefined {
  if (seen.problems.has(source)) return seen.problems.get(source);
  seen.characters += source.length;
  if (seen.characters > maxCharacters) {
    return `must not bring the patterns of the definition above ${maxCharacters} characters in all`;
  }
  const why = patternProblem(source);
  const problem = why === undefined ? undefined : `must be a valid regular expression, but isn't: ${why}`;
  seen.problems.set(source, problem);
  return problem;
}
