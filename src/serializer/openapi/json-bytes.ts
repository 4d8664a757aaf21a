import { isJsonArray, isJsonObject, type JsonObject } from "../../apimachinery/json-value.ts";
import { endsStep, type Pace } from "../../apimachinery/step-budget.ts";
import type { Steps } from "../../apimachinery/steps.ts";

/** The bytes that `JSON.stringify` makes of plain JSON values, in steps; fields that are undefined are left out. */
export function* jsonBytes(value: unknown): Steps<Buffer> {
  const output: Output = { chunks: [], text: "", pace: { places: 0 } };
  yield* write(output, value);
  yield;
  return Buffer.concat([...output.chunks, Buffer.from(output.text)]);
}

interface Output {
  readonly chunks: Buffer[];
  /** What follows the chunks. */
  text: string;
  readonly pace: Pace;
}

/** How many characters are gathered before they become bytes. */
const chunkCharacters = 64 * 1024;

function put(output: Output, text: string): void {
  output.text += text;
  if (output.text.length < chunkCharacters) return;
  output.chunks.push(Buffer.from(output.text));
  output.text = "";
}

function* write(output: Output, value: unknown): Steps<void> {
  if (isJsonArray(value)) yield* writeList(output, value);
  else if (isJsonObject(value)) yield* writeObject(output, value);
  else put(output, JSON.stringify(value) ?? "null");
}

function* writeList(output: Output, list: readonly unknown[]): Steps<void> {
  if (endsStep(output.pace, 1 + list.length)) yield;
  if (list.every(isScalar)) return put(output, JSON.stringify(list));
  put(output, "[");
  for (const [index, element] of list.entries()) {
    if (index > 0) put(output, ",");
    yield* write(output, element);
  }
  put(output, "]");
}

function* writeObject(output: Output, object: JsonObject): Steps<void> {
  const keys = Object.keys(object);
  if (endsStep(output.pace, 1 + keys.length)) yield;
  if (keys.every((key) => isScalar(object[key]))) return put(output, JSON.stringify(object));
  let separator = "{";
  for (const key of keys) {
    if (object[key] === undefined) continue;
    put(output, `${separator}${JSON.stringify(key)}:`);
    separator = ",";
    yield* write(output, object[key]);
  }
  put(output, "}");
}

function isScalar(value: unknown): boolean {
  return typeof value !== "object" || value === null;
}
