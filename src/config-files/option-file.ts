import { DecodeError } from "../apimachinery/decode-error.ts";
import { decodeObject } from "../apimachinery/decode.ts";
import type { JsonObject } from "../apimachinery/json-value.ts";
import type { ObjectSchema } from "../apimachinery/schema.ts";
import { HubError } from "../apimachinery/hub-error.ts";
import { loadYaml, YamlError } from "../serializer/yaml/bounded-yaml.ts";

/** The maximum size of such a file, in characters. */
const maxCharacters = 1 << 20;

/** The value of a file that an option of the hub names; `place` is option and file, for messages. @throws HubError options */
export function yamlOf(text: string, place: string): unknown {
  try {
    return loadYaml(text, { maxCharacters, numbers: "number" });
  } catch (error) {
    if (!(error instanceof YamlError)) throw error;
    throw new HubError("options", `${place}: ${error.message}`, { cause: error });
  }
}

/** All problems of the fields of such a file, in one sentence. */
export function fieldsError(
  place: string,
  errors: readonly { readonly path: string; readonly message: string }[],
): HubError {
  return new HubError("options", `${place}: ${errors.map(({ path, message }) => `${path}: ${message}`).join("; ")}`);
}

/** The object in such a file, by its schema; the message has its first problem with the path. @throws HubError options */
export function decodedFile(schema: ObjectSchema, text: string, place: string): JsonObject {
  const value = yamlOf(text, place);
  try {
    const { object, unknown } = decodeObject(schema, value);
    const [first] = unknown;
    if (first === undefined) return object;
    throw new HubError("options", `${place}: unknown field ${quoted(first)}`);
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    const at = error.path === "" ? "" : `${error.path}: `;
    throw new HubError("options", `${place}: ${at}${error.message}`, { cause: error });
  }
}

/** The first problem that one of the values has; undefined where none has one. */
export function firstProblem<T>(
  values: readonly T[],
  problemOf: (value: T, index: number) => string | undefined,
): string | undefined {
  for (const [index, value] of values.entries()) {
    const problem = problemOf(value, index);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** The contents of a file, as quoted in a message. */
export function quoted(text: string): string {
  return JSON.stringify(text.slice(0, 200));
}
