import { isJsonArray, isJsonObject, type JsonObject } from "../../apimachinery/json-value.ts";
import { StatusError } from "../../apimachinery/status.ts";
import type { YamlWork } from "../../serializer/yaml/yaml-thread.ts";
import { publishedMeta } from "../../apis/schemas/published.ts";
import { jsonOf, mediaType, parseBody, textOf, type RawBody } from "../body/decode-body.ts";
import { tooLong, type Reply } from "../http-types.ts";
import type { ReceivedBody } from "../progress.ts";

/** The longest body that is recorded, in characters of JSON. */
const longest = 1 << 20;
/** As many values as the largest body may hold. */
const maxValues = 65_536;

/** A body as JSON on one line; `tooLong` where it is beyond 1 MiB or YAML that finds no place to be read, undefined where there is none. */
export type AuditBody = { readonly text: string } | "tooLong" | undefined;

/** What was sent, as JSON: protobuf and YAML too. What cannot be read was refused, and is left out. */
export async function requestBody(
  receivedBody: ReceivedBody | undefined,
  managedFields: ManagedFields,
  yaml: YamlWork,
): Promise<AuditBody> {
  if (receivedBody === undefined) return undefined;
  if ("value" in receivedBody) return lineOf(receivedBody.value, managedFields);
  if (receivedBody.bytes.length === 0) return undefined;
  if (receivedBody.bytes.length > longest) return "tooLong";
  try {
    return lineOf(
      await parsed({ bytes: receivedBody.bytes, contentType: receivedBody.contentType, maxValues, yaml }),
      managedFields,
    );
  } catch (error) {
    // It was served, though there is no room to read it once more.
    if (error instanceof StatusError && error.code === 429) return "tooLong";
    if (error instanceof StatusError || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** Whether `metadata.managedFields` is recorded. */
export type ManagedFields = "keep" | "omit";

/** What was answered, as JSON: a Table as a Table, protobuf and YAML as what they say. */
export function responseBody(reply: Reply, managedFields: ManagedFields): AuditBody {
  if (reply.plain !== undefined) {
    const plain = reply.plain();
    return plain === tooLong ? "tooLong" : lineOf(plain, managedFields);
  }
  if (mediaType(reply.contentType) !== "application/json") return undefined;
  if (typeof reply.body === "object" && "pieces" in reply.body) return undefined;
  if (reply.body.length > longest) return "tooLong";
  const text = reply.body.toString();
  // Ours, so it is JSON; a line break is only between tokens, where it was made to be read by people.
  if (!text.includes("\n") && (managedFields === "keep" || !text.includes('"managedFields"'))) return { text };
  return lineOf(JSON.parse(text), managedFields);
}

async function parsed(raw: RawBody): Promise<unknown> {
  const type = mediaType(raw.contentType);
  if (type.endsWith("+json")) return jsonOf(textOf(raw.bytes), maxValues);
  const contentType = type.endsWith("+yaml") ? "application/yaml" : raw.contentType;
  return (await parseBody({ ...raw, contentType }, () => publishedMeta("DeleteOptions"))).value;
}

function lineOf(value: unknown, managedFields: ManagedFields): AuditBody {
  const text = JSON.stringify(managedFields === "keep" ? value : withoutManagedFields(value));
  return text.length > longest ? "tooLong" : { text };
}

/** Of an object, of the items of a list, and of the objects in the rows of a table. */
function withoutManagedFields(value: unknown): unknown {
  if (!isJsonObject(value)) return value;
  const { metadata, items, rows, object } = value;
  return {
    ...value,
    ...(isJsonObject(metadata) ? { metadata: withoutField(metadata) } : {}),
    ...(isJsonArray(items) ? { items: items.map(withoutManagedFields) } : {}),
    ...(isJsonArray(rows) ? { rows: rows.map(withoutManagedFields) } : {}),
    ...(isJsonObject(object) ? { object: withoutManagedFields(object) } : {}),
  };
}

function withoutField({ managedFields: _managedFields, ...metadata }: JsonObject): JsonObject {
  return metadata;
}
