import { type ApiObject, apiVersionOf } from "../apimachinery/object.ts";
import { type Entry, objectOf, passingObjectOf } from "../registry/entry.ts";
import { type PartSize, partsOf } from "../registry/turns.ts";
import type { Listed } from "../registry/read.ts";
import {
  encodeListItems,
  encodeProtobufList,
  measureListItems,
  protobufListEnvelope,
} from "../serializer/protobuf/protobuf.ts";
import { partialObjectMetadataSchema } from "../apis/schemas/shorthand.ts";
import { type View, contentTypes, isPlainJson, notAcceptable, partial, table } from "./encode.ts";
import { type Reply, tooLong } from "./http-types.ts";
import type { Piece } from "./response-writer.ts";
import { internalType } from "./body/undecodable.ts";
import { yamlOfJson } from "./yaml.ts";

/** Takes about 10 ms in the slowest form. */
const partSize: PartSize = { maxCharacters: 64 * 1024, maxEntries: 256 };
/** YAML takes five times as long. Where its thread shares a core with the event loop, that waits for as long. */
const yamlPartSize: PartSize = { maxCharacters: 32 * 1024, maxEntries: 128 };
/** The texts of items are only copied, which is fast. With commas between them most parts are one chunk of the writer. */
const joinedPartSize: PartSize = { maxCharacters: 120 * 1024, maxEntries: 1024 };

type Part = readonly Entry[];

/**
 * A list as a reply; for plain JSON the cached text of its items is only joined. A list of more than one part is encoded part by part
 * while it is sent, each in its turn, and no further once its client is gone. @throws StatusError NotAcceptable
 */
export async function listReply(view: View, listed: Listed): Promise<Reply> {
  const { as, format, pretty } = view.media;
  if (as === "PartialObjectMetadata") {
    const type = internalType(view.resource, "List");
    throw notAcceptable(`you requested PartialObjectMetadata, but the requested object is a list (*${type})`);
  }
  const isJoined = isPlainJson(view.media);
  const size = isJoined ? joinedPartSize : format === "yaml" ? yamlPartSize : partSize;
  const parts = partsOf(listed.entries, size);
  const list = shownList(view, listed, parts.length > 1 ? passingObjectOf : objectOf);
  if (format === "protobuf") return protobufReply(view, list, parts);
  const form = format === "yaml" ? yamlForm(view, list) : jsonForm(list, pretty ? "  " : "");
  return textReply(view, { list, parts, form: isJoined ? { ...form, part: joinedText, isEncoded: false } : form });
}

/** A list of the requested kind, without its items. */
interface ShownList {
  readonly head: { readonly kind: string; readonly apiVersion: string; readonly metadata: ListMetadata };
  /** The field of the items, after those of the head. */
  readonly field: "items" | "rows";
  readonly shown: (entries: Part) => readonly object[];
  /** Whether the items are the entries unchanged. */
  readonly isWhole: boolean;
}

interface ListMetadata {
  readonly resourceVersion: string;
  readonly continue?: string;
  readonly remainingItemCount?: number;
  readonly [field: string]: unknown;
}

function shownList(view: View, listed: Listed, read: (entry: Entry) => ApiObject): ShownList {
  const { media, resource } = view;
  const { revision, continue: token, remaining } = listed;
  const metadata: ListMetadata = {
    resourceVersion: String(revision),
    ...(token === undefined ? {} : { continue: token }),
    ...(remaining === undefined ? {} : { remainingItemCount: remaining }),
  };
  if (media.as === "Table") {
    const { rows: _none, ...head } = table(view, [], { metadata });
    const shown = (entries: Part): readonly object[] =>
      table(view, entries.map(read), { columnDefinitions: "omit" }).rows;
    return { head: { ...head, metadata }, field: "rows", shown, isWhole: false };
  }
  if (media.as !== undefined) {
    const head = { kind: "PartialObjectMetadataList", apiVersion: `meta.k8s.io/${media.version}`, metadata };
    const shown = (entries: Part): readonly object[] => entries.map((entry) => partial(read(entry), media.version));
    return { head, field: "items", shown, isWhole: false };
  }
  const head = { kind: `${resource.kind}List`, apiVersion: apiVersionOf(resource.group, resource.version), metadata };
  return { head, field: "items", shown: (entries) => entries.map(read), isWhole: true };
}

/** How the text of a list is joined from the texts of its parts. */
interface ListForm {
  /** The text of a list without parts. */
  readonly none: () => string | Promise<string>;
  readonly start: () => string | Promise<string>;
  readonly part: (entries: Part) => PartText | Promise<PartText>;
  readonly between: string;
  readonly end: string;
  /** Whether texts are created for this list, and are not those of the cache. */
  readonly isEncoded: boolean;
}

interface PartText {
  readonly text: readonly string[];
  /** The length of the part in JSON. */
  readonly characters: number;
}

/** The items as their texts in the cache. */
function joinedText(entries: Part): PartText {
  const text: string[] = [];
  for (const { json } of entries) text.push(",", json);
  return { text: text.slice(1), characters: charactersOf(entries) };
}

function charactersOf(entries: Part): number {
  return entries.reduce((sum, { json }) => sum + json.length, 0);
}

function jsonForm({ head, field, shown }: ShownList, indent: "" | "  "): ListForm {
  const [before, after, lineEnd] =
    indent === "" ? [`{"${field}":[`, "]}", ""] : [`{\n  "${field}": [`, "\n  ]\n}", "\n"];
  const write = (value: object): string => JSON.stringify(value, undefined, indent);
  return {
    none: () => write({ ...head, [field]: [] }) + lineEnd,
    start: () => `${write(head).slice(0, -1 - lineEnd.length)},${before.slice(1)}`,
    part: (entries) => {
      const text = write({ [field]: shown(entries) }).slice(before.length, -after.length);
      return { text: [text], characters: text.length };
    },
    between: ",",
    end: after + lineEnd,
    isEncoded: true,
  };
}

function yamlForm({ yaml }: View, list: ShownList): ListForm {
  const { head, field, isWhole } = list;
  const json = jsonForm(list, "");
  const before = `${field}:\n`;
  return {
    none: async () => yamlOfJson(yaml, await json.none()),
    start: async () => `${await yamlOfJson(yaml, JSON.stringify(head))}${before}`,
    part: async (entries) => {
      // Items that are shown as they are need not be parsed here.
      const { text, characters } = await (isWhole ? joinedText(entries) : json.part(entries));
      const written = await yamlOfJson(yaml, [`{"${field}":[`, ...text, "]}"]);
      return { text: [written.slice(before.length)], characters };
    },
    between: "",
    end: "",
    isEncoded: true,
  };
}

interface TextList {
  readonly list: ShownList;
  readonly parts: readonly Part[];
  readonly form: ListForm;
}

/** Encodes the first part at once, so that its failure is answered as an error, and each other when the client has read those before. */
async function textReply(view: View, { list, parts, form }: TextList): Promise<Reply> {
  const isYaml = view.media.format === "yaml";
  const about = { status: 200, contentType: isYaml ? contentTypes.yaml : contentTypes.json };
  const [first] = parts;
  let characters = 0;
  let isSent = true;
  const plain = plainOf(list, parts, () => (isSent ? characters : Infinity));
  const shownPlain = isYaml ? { plain } : {};
  if (first === undefined) return { ...about, body: await form.none(), ...shownPlain };
  const make = async (entries: Part): Promise<readonly string[]> => {
    const made = await form.part(entries);
    characters += made.characters;
    return made.text;
  };
  const start = await form.start();
  if (isSmall(parts)) return { ...about, body: [start, ...(await make(first)), form.end].join(""), ...shownPlain };
  isSent = false;
  const buffer = view.buffer();
  // Texts of the cache take no room until they are written.
  const cost = (entries: Part): number => (form.isEncoded ? charactersOf(entries) : 0);
  await buffer.reserve(cost(first));
  await view.turn();
  const kept = [{ pieces: buffer.isClosed() ? [] : await make(first), room: cost(first) }];
  const sent = (): void => void (isSent = true);
  const sending: Sending = { parts, kept, start, between: form.between, end: form.end, cost, make, sent };
  return { ...about, body: { pieces: () => sentPieces(view, sending) }, plain };
}

/**
 * In protobuf the length of a list precedes its items. So all parts are measured before the first is sent; those for which there is
 * room are encoded then, and the others when it is their turn to be sent.
 */
async function protobufReply(view: View, list: ShownList, parts: readonly Part[]): Promise<Reply> {
  const about = { status: 200, contentType: contentTypes.protobuf };
  const schema = view.media.as === undefined ? view.resource.schema : partialObjectMetadataSchema;
  const shown = (entries: Part): readonly ApiObject[] => list.shown(entries) as readonly ApiObject[];
  const encode = (entries: Part): Buffer => asBuffer(encodeListItems(shown(entries), schema));
  if (isSmall(parts)) {
    const body = encodeProtobufList(list.head, parts.map(encode));
    return { ...about, body, plain: plainOf(list, parts, () => body.length) };
  }
  const buffer = view.buffer();
  const kept: (Kept | undefined)[] = [];
  let length = 0;
  for (const entries of parts) {
    await view.turn();
    if (buffer.isClosed()) break;
    const { bytes, encoded } = measureListItems(shown(entries), schema);
    length += bytes;
    kept.push(buffer.tryReserve(bytes) ? { pieces: [asBuffer(encoded())], room: bytes } : undefined);
  }
  const isMeasured = kept.length === parts.length;
  const { head: start, end } = protobufListEnvelope(list.head, length);
  const make = (entries: Part): readonly Piece[] => [encode(entries)];
  const sending: Sending = { parts, kept, start, between: "", end, cost: charactersOf, make };
  const plain = plainOf(list, parts, () => (isMeasured ? length : Infinity));
  return { ...about, body: { pieces: () => sentPieces(view, sending) }, plain };
}

function isSmall(parts: readonly Part[]): boolean {
  return parts.length < 2 && charactersOf(parts[0] ?? []) <= joinedPartSize.maxCharacters;
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** An encoded part, and the room that is reserved for it. */
interface Kept {
  readonly pieces: readonly Piece[];
  readonly room: number;
}

/** How the pieces of a lazy body are created. */
interface Sending {
  readonly parts: readonly Part[];
  /** The parts that are encoded already; each is released when it was sent. */
  readonly kept: (Kept | undefined)[];
  readonly start: Piece;
  readonly between: Piece;
  readonly end: Piece;
  /** The room that a part takes from its encoding until it is sent. */
  readonly cost: (entries: Part) => number;
  readonly make: (entries: Part) => readonly Piece[] | Promise<readonly Piece[]>;
  /** Called when all parts have been encoded. */
  readonly sent?: () => void;
}

async function* sentPieces(view: View, sending: Sending): AsyncGenerator<readonly Piece[]> {
  const { parts, kept, start, between, end, cost, make } = sending;
  const buffer = view.buffer();
  for (const [index, entries] of parts.entries()) {
    const room = kept[index]?.room ?? cost(entries);
    let pieces = kept[index]?.pieces;
    if (pieces === undefined) {
      if ((await buffer.reserve(room)) === "closed") return;
      await view.turn();
      if (buffer.isClosed()) return;
      pieces = await make(entries);
    }
    yield [index === 0 ? start : between, ...pieces];
    buffer.remove(room);
    kept[index] = undefined;
  }
  sending.sent?.();
  yield [end];
}

/** The list for the audit log, which records none that is longer in JSON than this. */
const maxPlainCharacters = 2 * 1024 * 1024;

function plainOf({ head, field, shown }: ShownList, parts: readonly Part[], characters: () => number): () => unknown {
  return () => (characters() > maxPlainCharacters ? tooLong : { ...head, [field]: parts.flatMap(shown) });
}
