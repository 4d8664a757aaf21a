import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import type { ApiObject } from "../apimachinery/object.ts";
import { yamlText } from "../serializer/yaml/bounded-yaml.ts";
import { yamlThread } from "../serializer/yaml/yaml-thread.ts";
import { configMaps } from "../apis/config-map.ts";
import { encodeListItems, encodeProtobufList } from "../serializer/protobuf/protobuf.ts";
import { partialObjectMetadataSchema } from "../apis/schemas/shorthand.ts";
import { encodeObject, entryOf, objectOf, type Entry } from "../storage/stored-object.ts";
import { responseBody } from "./audit/audit-trail.ts";
import { partial, table, type View, negotiate } from "./encode.ts";
import { tooLong, type Reply } from "./http-types.ts";
import { listReply } from "./list-reply.ts";
import { sendBuffers, type SendBuffer } from "./connections/send-buffers.ts";

const thread = yamlThread({ maxJobMs: 60_000 });
const yaml = thread.of("a");
afterAll(thread.close);

let turns = 0;
/** Without room for more than some parts: others are encoded when they are sent. */
const buffers = sendBuffers(() => () => undefined, { maxBytes: 300_000 });
function viewOf(accept: string, pretty = false): View {
  turns = 0;
  const media = { ...negotiate(accept, { meta: true, protobuf: true }), pretty };
  const turn = async (): Promise<void> => void (turns += 1);
  const buffer = (): SendBuffer => buffers.open({ flow: "a", abandon: () => undefined });
  return { resource: configMaps, now: 0, includeObject: "Metadata", media, yaml, turn, buffer };
}

function entry(text: string, index: number): Entry {
  const object = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: `a${index}` }, data: { text } };
  return entryOf(`/registry/core/configmaps/ns/a${index}`, encodeObject(object), index + 1);
}

const metadata = { resourceVersion: "9", continue: "token", remainingItemCount: 3 };
const listed = { revision: 9, continue: "token", remaining: 3 };
const head = { kind: "ConfigMapList", apiVersion: "v1", metadata };

async function bytesOf(view: View, entries: readonly Entry[]): Promise<Buffer> {
  return bodyOf((await listReply(view, { ...listed, entries })).body);
}

async function bodyOf(body: Reply["body"]): Promise<Buffer> {
  if (typeof body === "string" || Buffer.isBuffer(body)) return Buffer.from(body);
  const made: Buffer[] = [];
  for await (const pieces of body.pieces()) for (const piece of pieces) made.push(Buffer.from(piece));
  return Buffer.concat(made);
}

/** The whole list at once, in the form that the view asks for. */
function whole(view: View, objects: readonly ApiObject[]): Buffer {
  const { media } = view;
  const list =
    media.as === "Table"
      ? table(view, objects, { metadata })
      : media.as === undefined
        ? { ...head, items: objects }
        : {
            kind: "PartialObjectMetadataList",
            apiVersion: "meta.k8s.io/v1",
            metadata,
            items: objects.map((object) => partial(object, "v1")),
          };
  if (media.format === "yaml") return Buffer.from(yamlText(list));
  if (media.format === "json")
    return Buffer.from(media.pretty ? `${JSON.stringify(list, null, 2)}\n` : JSON.stringify(list));
  const schema = media.as === undefined ? configMaps.schema : partialObjectMetadataSchema;
  const items = "items" in list ? list.items : [];
  return encodeProtobufList({ ...list, metadata }, [encodeListItems(items, schema)]);
}

const texts = [
  "a",
  "yes",
  "é€𝄞",
  "line\nline\n",
  "line\n\n\n",
  "  x: [y]  ",
  "",
  "- a",
  "#",
  "\u0007",
  "x".repeat(90_000),
];
const many = Array.from({ length: 40 }, (_, index) => texts[index % texts.length] ?? "");
const meta = "g=meta.k8s.io;v=v1";

const forms: readonly (readonly [string, boolean])[] = [
  ["application/json", false],
  ["application/json", true],
  ["application/yaml", false],
  ["application/vnd.kubernetes.protobuf", false],
  [`application/json;as=Table;${meta}`, false],
  [`application/json;as=Table;${meta}`, true],
  [`application/yaml;as=Table;${meta}`, false],
  [`application/json;as=PartialObjectMetadataList;${meta}`, false],
  [`application/json;as=PartialObjectMetadataList;${meta}`, true],
  [`application/yaml;as=PartialObjectMetadataList;${meta}`, false],
  [`application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;${meta}`, false],
];

describe.each(forms)("a list as %s, pretty: %s", (accept, pretty) => {
  it.each([
    ["nothing", []],
    ["one object", ["a"]],
    ["many objects in several parts", many],
  ])("has the bytes of the list that is encoded at once: %s", async (_what, some) => {
    const view = viewOf(accept, pretty);
    const entries = some.map(entry);
    const bytes = await bytesOf(view, entries);
    expect(bytes.equals(whole(view, entries.map(objectOf)))).toBe(true);
  });

  it("makes no further part once the client is gone while a part waits for its turn", async () => {
    const view = viewOf(accept, pretty);
    const buffer = view.buffer();
    let awaited = 0;
    const turn = async (): Promise<void> => {
      awaited += 1;
      if (awaited === 2) buffer.close();
    };
    const reply = await listReply({ ...view, turn, buffer: () => buffer }, { ...listed, entries: many.map(entry) });
    await bodyOf(reply.body);
    expect(awaited).toBeGreaterThanOrEqual(2);
    expect(awaited).toBeLessThanOrEqual(3);
    expect(reply.plain?.()).toBe(tooLong);
  });

  it("makes no part before there is room for it, and none once the answer has ended", async () => {
    const asked: number[] = [];
    const none = (): void => undefined;
    const buffer: SendBuffer = {
      window: () => 0,
      add: none,
      remove: none,
      close: none,
      isClosed: () => false,
      tryReserve: () => false,
      reserve: async (bytes) => (asked.push(bytes) < 3 ? "reserved" : "closed"),
    };
    const view: View = { ...viewOf(accept, pretty), buffer: () => buffer };
    const entries = many.map(entry);
    const { body } = await listReply(view, { ...listed, entries });
    // A list in protobuf begins with its length alone.
    expect(asked.length).toBe(view.media.format === "protobuf" ? 0 : 1);
    const bytes = await bodyOf(body);
    expect(asked.length).toBe(3);
    expect(bytes.length).toBeLessThan(whole(view, entries.map(objectOf)).length);
  });

  it("is made in one go where it is small", async () => {
    await bytesOf(
      viewOf(accept, pretty),
      Array.from({ length: 100 }, (_, index) => entry("a", index)),
    );
    expect(turns).toBe(0);
  });

  it("waits for its turn before each part where it is large, and keeps no parsed objects", async () => {
    const entries = Array.from({ length: 9000 }, (_, index) => entry("a", index));
    await bytesOf(viewOf(accept, pretty), entries);
    const isCopied = accept === "application/json" && !pretty;
    expect(turns).toBeGreaterThanOrEqual(isCopied ? 3 : 18);
    expect(entries.some(({ parsed }) => parsed !== undefined)).toBe(false);
  });

  it("is recorded by the audit log as JSON, unless it is too long", async () => {
    const small = await listReply(viewOf(accept, pretty), { ...listed, entries: [entry("a", 0)] });
    const recorded = responseBody(small, "keep");
    expect(recorded).toMatchObject({ text: expect.stringContaining('"resourceVersion":"9"') });
    const large = Array.from({ length: 12_000 }, (_, index) => entry("a", index));
    const reply = await listReply(viewOf(accept, pretty), { ...listed, entries: large });
    await bodyOf(reply.body);
    expect(responseBody(reply, "keep")).toBe("tooLong");
  });
});

describe("a list in YAML", () => {
  it("has the bytes of the list that is encoded at once, for any objects", async () => {
    const object = fc.record({
      text: fc.string({ unit: "binary" }),
      lines: fc.array(fc.string()).map((all) => all.join("\n")),
    });
    const property = fc.asyncProperty(fc.array(object, { maxLength: 4 }), fc.boolean(), async (some, isLong) => {
      const view = viewOf("application/yaml");
      const entries = [...some.map(({ text, lines }) => text + lines), isLong ? "x".repeat(200_000) : "x"].map(entry);
      expect((await bytesOf(view, entries)).equals(whole(view, entries.map(objectOf)))).toBe(true);
    });
    await expect(fc.assert(property, { numRuns: 100 })).resolves.toBeUndefined();
  });
});

describe("a list in JSON", () => {
  it.each([
    ["characters of two, three and four bytes", ["é", "€", "𝄞"]],
    ["a longer character in the last alone", ["a", "b", "é"]],
    ["a longer character in the first alone", ["é", "b", "c"]],
    ["longer characters behind much plain text", ["x".repeat(2_000_000), "é", "𝄞"]],
  ])("holds the texts of its entries as they are: %s", async (_what, some) => {
    const entries = some.map(entry);
    const items = entries.map(({ json }): unknown => JSON.parse(json));
    expect(JSON.parse((await bytesOf(viewOf("application/json"), entries)).toString())).toEqual({ ...head, items });
  });

  it("is right for any texts", async () => {
    const some = fc.array(fc.oneof(fc.string(), fc.string({ unit: "binary" })), { maxLength: 5 });
    const property = fc.asyncProperty(some, async (all) => {
      const entries = all.map(entry);
      const items = entries.map(({ json }): unknown => JSON.parse(json));
      expect(JSON.parse((await bytesOf(viewOf("application/json"), entries)).toString())).toMatchObject({ items });
    });
    await expect(fc.assert(property, { numRuns: 200 })).resolves.toBeUndefined();
  });
});
