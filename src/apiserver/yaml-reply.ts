import { StatusError } from "../apimachinery/status.ts";
import { YamlError } from "../serializer/yaml/yaml-error.ts";
import type { YamlWork } from "../serializer/yaml/yaml-thread.ts";

/** Up to so many characters of JSON are written as YAML on the main thread: the worst value of this length takes less than 10 ms. */
const maxInlineCharacters = 4096;

/** Whether JSON text of this length is written on the main thread. */
export function isWrittenInline(characters: number): boolean {
  return characters <= maxInlineCharacters;
}

/**
 * JSON text, or the parts of one in order, as YAML, written by the YAML thread unless it is short. Parts are joined by the thread, and
 * leave no garbage here.
 * @throws StatusError NotAcceptable where that is too much work, TooManyRequests where too many texts wait.
 */
export async function yamlOfJson(thread: YamlWork, json: string | readonly string[]): Promise<string> {
  const characters = typeof json === "string" ? json.length : json.reduce((sum, { length }) => sum + length, 0);
  if (isWrittenInline(characters)) {
    const { yamlText } = await import("../serializer/yaml/bounded-yaml.ts");
    return yamlText(JSON.parse(typeof json === "string" ? json : json.join("")));
  }
  try {
    return await thread.stringify(json);
  } catch (error) {
    throw tooCostly(error);
  }
}

/** The answer where the YAML thread takes no more jobs; every other error as it is. */
export function yamlThreadStatus(error: YamlError): StatusError | YamlError {
  switch (error.code) {
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

function tooCostly(error: unknown): unknown {
  if (!(error instanceof YamlError)) return error;
  if (error.code !== "time" && error.code !== "memory") return yamlThreadStatus(error);
  return new StatusError("NotAcceptable", `the answer ${error.message} as application/yaml; ask for application/json`);
}
