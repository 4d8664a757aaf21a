import { findDuplicateFields, jsonExcess } from "../../apimachinery/json-scan.ts";
import { StatusError } from "../../apimachinery/status.ts";
import type { YamlDuplicate, YamlRead } from "../../serializer/yaml/bounded-yaml.ts";
import { YamlError } from "../../serializer/yaml/yaml-error.ts";
import type { YamlWork } from "../../serializer/yaml/yaml-thread.ts";
import { maxBodyBytes } from "./body.ts";
import { yamlThreadStatus } from "../yaml-reply.ts";

/** Up to so many characters YAML is read on the main thread: the worst text of this length takes less than 10 ms. */
const maxInlineCharacters = 1024;
/** As deep as `loadYaml` goes. */
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
  // In YAML a key that occurs twice goes by its line, which only the reader of YAML knows.
  if (json !== undefined && findDuplicateFields(text).length === 0) return { value: json, duplicates: [] };
  try {
    if (text.length <= maxInlineCharacters) {
      const { readYaml } = await import("../../serializer/yaml/bounded-yaml.ts");
      return readYaml(text, { maxCharacters: maxBodyBytes, maxValues, numbers: "number" });
    }
    return JSON.parse(await thread.parse(text, { maxCharacters: maxBodyBytes, maxValues })) as YamlRead;
  } catch (error) {
    throw tooCostly(error);
  }
}

/** The object or list that a JSON text holds; undefined for other text, and for JSON beyond the limits, which is refused as YAML then. */
function jsonIn(text: string, maxValues: number): object | undefined {
  if (!/^[\t\n\r ]*[[{]/.test(text) || jsonExcess(text, { maxDepth, maxValues }) !== undefined) return undefined;
  try {
    return JSON.parse(text) as object;
  } catch {
    return undefined;
  }
}

/** The answer to a body that is too much work; every other error as it is. */
function tooCostly(error: unknown): unknown {
  if (!(error instanceof YamlError)) return error;
  switch (error.code) {
    case "values":
    case "time":
    case "memory": {
      const why = error.code === "values" ? `holds ${error.message}` : error.message;
      const next = "send less, or application/json";
      return new StatusError("RequestEntityTooLarge", `Request entity too large: the YAML body ${why}; ${next}`);
    }
    default:
      return yamlThreadStatus(error);
  }
}
