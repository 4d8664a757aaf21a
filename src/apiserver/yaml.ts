import { findDuplicateFields, jsonExcess } from "../apimachinery/json-scan.ts";
import { StatusError } from "../apimachinery/status.ts";
import type { YamlDuplicate, YamlRead } from "../serializer/yaml/bounded-yaml.ts";
import { YamlError } from "../serializer/yaml/yaml-error.ts";
import type { YamlWork } from "../serializer/yaml/yaml-thread.ts";
import { maxBodyBytes } from "./body/body.ts";

/** Up to this length in characters, YAML is read and written on the main thread: the worst such text takes less than 10 ms. */
const maxInlineCharacters = { read: 1024, written: 4096 } as const;
/** The nesting limit of `loadYaml`. */
const maxDepth = 64;

/** What a body of YAML contains, and the keys that occur twice in it; the last value of each is taken. */
export interface YamlBody {
  readonly value: unknown;
  readonly duplicates: readonly YamlDuplicate[];
}

/**
 * What a body of YAML contains. JSON, which is YAML too and what kubectl sends, is read as JSON; other text is read by the YAML
 * thread, unless it is short.
 * @throws YamlError for text that cannot be read; StatusError RequestEntityTooLarge where the text is too much work, TooManyRequests
 * where too many texts wait.
 */
export async function parseYamlBody(
  thread: YamlWork,
  text: string,
  { maxValues }: { readonly maxValues: number },
): Promise<YamlBody> {
  const json = jsonIn(text, maxValues);
  // In YAML a duplicate key is reported with its line, which only the reader of YAML knows.
  if (json !== undefined && findDuplicateFields(text).length === 0) return { value: json, duplicates: [] };
  const limits = { maxCharacters: maxBodyBytes, maxValues };
  try {
    if (text.length > maxInlineCharacters.read) return JSON.parse(await thread.parse(text, limits)) as YamlRead;
    const { readYaml } = await import("../serializer/yaml/bounded-yaml.ts");
    return readYaml(text, { ...limits, numbers: "number" });
  } catch (error) {
    throw refusedWork(error, (why) => {
      const message = `Request entity too large: the YAML body ${why}; send less, or application/json`;
      return new StatusError("RequestEntityTooLarge", message);
    });
  }
}

/** The object or list in a JSON text; undefined for other text, and for JSON beyond the limits, which is then refused as YAML. */
function jsonIn(text: string, maxValues: number): object | undefined {
  if (!/^[\t\n\r ]*[[{]/.test(text) || jsonExcess(text, { maxDepth, maxValues }) !== undefined) return undefined;
  try {
    return JSON.parse(text) as object;
  } catch {
    return undefined;
  }
}

/**
 * JSON text, or the parts of one in order, as YAML, written by the YAML thread unless it is short. Parts are joined by the thread, and
 * leave no garbage here.
 * @throws StatusError NotAcceptable where that is too much work, TooManyRequests where too many texts wait.
 */
export async function yamlOfJson(thread: YamlWork, json: string | readonly string[]): Promise<string> {
  const characters = typeof json === "string" ? json.length : json.reduce((sum, { length }) => sum + length, 0);
  if (characters <= maxInlineCharacters.written) {
    const { yamlText } = await import("../serializer/yaml/bounded-yaml.ts");
    return yamlText(JSON.parse(typeof json === "string" ? json : json.join("")));
  }
  try {
    return await thread.stringify(json);
  } catch (error) {
    throw refusedWork(error, (why) => {
      const message = `the answer ${why} as application/yaml; ask for application/json`;
      return new StatusError("NotAcceptable", message);
    });
  }
}

/** The answer to YAML that is too much work, or for which there is no room; every other error as it is. */
function refusedWork(error: unknown, tooMuch: (why: string) => StatusError): unknown {
  if (!(error instanceof YamlError)) return error;
  switch (error.code) {
    case "values":
      return tooMuch(`holds ${error.message}`);
    case "time":
    case "memory":
      return tooMuch(error.message);
    case "busy": {
      const message = `${error.message}; try again later, or use application/json`;
      return new StatusError("TooManyRequests", message, { details: { retryAfterSeconds: 1 } });
    }
    case "closed":
      return new StatusError("ServiceUnavailable", "the hub is shutting down");
    default:
      return error;
  }
}
