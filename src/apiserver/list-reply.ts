import { apiVersionOf, type ApiObject } from "../apimachinery/object.ts";
import { objectOf, passingObjectOf, type Entry } from "../registry/entry.ts";
import { partsOf, type PartSize } from "../registry/entry-parts.ts";
import type { Listed } from "../registry/list.ts";
import {
  encodeListItems,
  encodeProtobufList,
  measureListItems,
  protobufListEnvelope,
} from "../serializer/protobuf/protobuf.ts";
import { partialObjectMetadataSchema } from "../apis/schemas/shorthand.ts";
import { notAcceptable, partial, table, type View } from "./encode.ts";
import { tooLong, type LazyBody, type Reply } from "./http-types.ts";
import { contentTypes } from "./negotiate.ts";
import type { Piece } from "./response-writer.ts";
import { internalType } from "./body/undecodable.ts";
import { yamlOfJson } from "./yaml-reply.ts";

/** Takes about 10 ms in the slowest form. */
const partSize: PartSize = { maxCharacters: 64 * 1024, maxEntries: 256 };
/** YAML takes five times as long. Where its thread shares a core with the event loop, that waits for as long. */
const yamlPartSize: PartSize = { maxCharacters: 32 * 1024, maxEntries: 128 };
/** The texts of items are only copied, which is fast. With commas between them most parts are one chunk of the writer. */
const joinedPartSize: PartSize = { maxCharacters: 120 * 1024, maxEntries: 1024 };

/**
 * A list as a reply; for plain JSON the cached text of its items is only joined. A list of more than one part is encoded part by part
 * while it is sent, each in its turn, and no further once its client is gone. @throws StatusError NotAcceptable
 */
export async function listReply(view: View, listed: Listed): Promise<Reply> {
  const { media, resource } = view;
  if (media.as === "PartialObjectMetadata") {
    throw notAcceptable(
      `you requested PartialObjectMetadata, but the requested object is a list (*${internalType(resource, "List")})`,
    );
  }
  const metadata = listMetadata(listed);
  const isJoined = media.as === undefined && media.format === "json" && !media.pretty;
  const parts = partsOf(listed.entries, isJoined ? joinedPartSize : media.format === "yaml" ? yamlPartSize : partSize);
  const list = shownList(view, metadata, parts.length > 1 ? passingObjectOf : objectOf);
  if (media.format === "protobuf") return protobufReply(view, list, parts);
  const form = isJoined
    ? joinedForm(list)
    : media.format === "yaml"
      ? yamlForm(view, list)
      : media.pretty
        ? prettyForm(list)
        : plainForm(list);
  const contentType = media.format === "yaml" ? contentTypes.yaml : contentTypes.json;
  const { body, characters } = await textBody(view, { parts, form });
  const plain = plainOf(list, { parts, characters });
  return { status: 200, contentType, body, ...(media.format === "yaml" || typeof body === "object" ? { plain } : {}) };
}

/** A list in the kind that is asked for, without what it lists. */
interface ShownList {
  readonly head: {
    readonly kind: string;
    readonly apiVersion: string;
    readonly metadata: ReturnType<typeof listMetadata>;
  };
  /** The field, behind those of the head, in which stands what is listed. */
  readonly field: "items" | "rows";
  readonly shown: (entries: readonly Entry[]) => readonly object[];
  /** Whether what is listed are the entries as they are. */
  readonly isWhole: boolean;
}

function shownList(
  view: View,
  metadata: ReturnType<typeof listMetadata>,
  read: (entry: Entry) => ApiObject,
): ShownList {
  const { media, resource } = view;
  if (media.as === "Table") {
    const { rows: _none, ...head } = table(view, [], metadata);
    const shown = (entries: readonly Entry[]): readonly object[] => table(view, entries.map(read), {}, "omit").rows;
    return { head: { ...head, metadata }, field: "rows", shown, isWhole: false };
  }
  if (media.as !== undefined) {
    const head = { kind: "PartialObjectMetadataList", apiVersion: `meta.k8s.io/${media.version}`, metadata };
    const shown = (entries: readonly Entry[]): readonly ApiObject[] =>
      entries.map((entry) => partial(read(entry), media.version));
    return { head, field: "items", shown, isWhole: false };
  }
  const head = { kind: `${resource.kind}List`, apiVersion: apiVersionOf(resource.group, resource.version), metadata };
  return { head, field: "items", shown: (entries) => entries.map(read), isWhole: true };
}

/** How the text of a list is put together from the texts of its parts. */
interface ListForm {
  /** What is said of a list without a part. */
  readonly none: () => string | Promise<string>;
  readonly start: () => string | Promise<string>;
  readonly part: (entries: readonly Entry[]) => PartText | Promise<PartText>;
  readonly between: string;
  readonly end: string;
  /** Whether texts are made for this list, and are not those of the cache. */
  readonly isEncoded: boolean;
}

interface PartText {
  readonly text: readonly string[];
  /** Of what the part is in JSON on one line. */
  readonly characters: number;
}

/** Items are sent as their texts lie in the cache. */
function joinedForm(list: ShownList): ListForm {
  return {
    ...plainForm(list),
    part: joinedText,
    isEncoded: false,
  };
}

function joinedText(entries: readonly Entry[]): PartText {
  const text: string[] = [];
  let characters = 0;
  for (const { json } of entries) {
    if (text.length > 0) text.push(",");
    text.push(json);
    characters += json.length;
  }
  return { text, characters };
}

function encodedText(items: readonly object[]): PartText {
  const text = JSON.stringify(items).slice(1, -1);
  return { text: [text], characters: text.length };
}

function charactersOf(entries: readonly Entry[]): number {
  return entries.reduce((sum, { json }) => sum + json.length, 0);
}

function plainForm({ head, field, shown }: ShownList): ListForm {
  return {
    none: () => JSON.stringify({ ...head, [field]: [] }),
    start: () => `${JSON.stringify(head).slice(0, -1)},"${field}":[`,
    part: (entries) => encodedText(shown(entries)),
    between: ",",
    end: "]}",
    isEncoded: true,
  };
}

function prettyForm({ head, field, shown }: ShownList): ListForm {
  const before = `{\n  "${field}": [`;
  const after = "\n  ]\n}";
  return {
    none: () => `${JSON.stringify({ ...head, [field]: [] }, null, 2)}\n`,
    start: () => `${JSON.stringify(head, null, 2).slice(0, -2)},${before.slice(1)}`,
    part: (entries) => {
      const text = JSON.stringify({ [field]: shown(entries) }, null, 2).slice(before.length, -after.length);
      return { text: [text], characters: text.length };
    },
    between: ",",
    end: `${after}\n`,
    isEncoded: true,
  };
}

function yamlForm({ yaml }: View, { head, field, shown, isWhole }: ShownList): ListForm {
  const before = `${field}:\n`;
  return {
    none: () => yamlOfJson(yaml, JSON.stringify({ ...head, [field]: [] })),
    start: async () => `${await yamlOfJson(yaml, JSON.stringify(head))}${before}`,
    part: async (entries) => {
      // Items that are shown as they are need not be parsed here.
      const items = isWhole ? joinedText(entries) : encodedText(shown(entries));
      const text = await yamlOfJson(yaml, [`{"${field}":[`, ...items.text, "]}"]);
      return { text: [text.slice(before.length)], characters: items.characters };
    },
    between: "",
    end: "",
    isEncoded: true,
  };
}

/** The text of a list, lazy where it has more than one part, and how long it is in JSON once it was made. */
async function textBody(
  view: View,
  { parts, form }: { readonly parts: readonly (readonly Entry[])[]; readonly form: ListForm },
): Promise<{ readonly body: Reply["body"]; readonly characters: () => number }> {
  const [first, ...others] = parts;
  if (first === undefined) return { body: await form.none(), characters: () => 0 };
  const start = await form.start();
  if (others.length === 0 && charactersOf(first) <= joinedPartSize.maxCharacters) {
    const { text, characters } = await form.part(first);
    return { body: `${start}${text.join("")}${form.end}`, characters: () => characters };
  }
  let characters = 0;
  let isWhole = false;
  const part = async (entries: readonly Entry[]): Promise<readonly string[]> => {
    await view.turn();
    if (view.buffer().isClosed()) return [];
    const made = await form.part(entries);
    characters += made.characters;
    return made.text;
  };
  const steps: Steps = {
    first: async () => [start, ...(await part(first))],
    next: async (entries) => [form.between, ...(await part(entries))],
    last: () => {
      isWhole = true;
      return [form.end];
    },
  };
  const body = await encodedInSteps(view, { parts, steps, isEncoded: form.isEncoded });
  return { body, characters: () => (isWhole ? characters : Infinity) };
}

/** How the pieces of a lazy body are made. */
interface Steps {
  readonly first: () => Promise<readonly Piece[]>;
  readonly next: (entries: readonly Entry[]) => Promise<readonly Piece[]>;
  readonly last: () => readonly Piece[];
}

/** A body whose first part is made at once, so that what fails with it is answered as an error, and each other when the client has read those before. */
async function encodedInSteps(
  view: View,
  about: { readonly parts: readonly (readonly Entry[])[]; readonly steps: Steps; readonly isEncoded: boolean },
): Promise<LazyBody> {
  const { parts, steps, isEncoded } = about;
  const [entries = [], ...others] = parts;
  const buffer = view.buffer();
  // Texts of the cache take no room until they are written.
  const cost = (of: readonly Entry[]): number => (isEncoded ? charactersOf(of) : 0);
  await buffer.reserve(cost(entries));
  const first = await steps.first();
  return {
    pieces: async function* made() {
      yield first;
      buffer.remove(cost(entries));
      for (const more of others) {
        if ((await buffer.reserve(cost(more))) === "closed") return;
        yield await steps.next(more);
        buffer.remove(cost(more));
      }
      yield steps.last();
    },
  };
}

/**
 * In protobuf the length of a list is told before its items. So all parts are measured before the first is sent; those for which there is
 * room are encoded then, and the others when it is their turn to be sent.
 */
async function protobufReply(view: View, list: ShownList, parts: readonly (readonly Entry[])[]): Promise<Reply> {
  const { media, resource } = view;
  const schema = media.as === undefined ? resource.schema : partialObjectMetadataSchema;
  const shown = (entries: readonly Entry[]): readonly ApiObject[] => list.shown(entries) as readonly ApiObject[];
  const encode = (entries: readonly Entry[]): Buffer => asBuffer(encodeListItems(shown(entries), schema));
  const [first = [], ...others] = parts;
  if (others.length === 0 && charactersOf(first) <= joinedPartSize.maxCharacters) {
    const body = encodeProtobufList(list.head, [encode(first)]);
    const plain = plainOf(list, { parts, characters: () => body.length });
    return { status: 200, contentType: contentTypes.protobuf, body, plain };
  }
  const buffer = view.buffer();
  const kept: (Buffer | undefined)[] = [];
  let length = 0;
  let isMeasured = true;
  for (const entries of parts) {
    await view.turn();
    isMeasured = !buffer.isClosed();
    if (!isMeasured) break;
    const { bytes, encoded } = measureListItems(shown(entries), schema);
    length += bytes;
    kept.push(buffer.tryReserve(bytes) ? asBuffer(encoded()) : undefined);
  }
  const { head, end } = protobufListEnvelope(list.head, length);
  const pieces = async function* made(): AsyncGenerator<readonly Piece[]> {
    yield [head];
    for (const [index, entries] of parts.entries()) {
      let part = kept[index];
      if (part === undefined) {
        if ((await buffer.reserve(charactersOf(entries))) === "closed") return;
        await view.turn();
        if (buffer.isClosed()) return;
        part = encode(entries);
      }
      yield [part];
      buffer.remove(kept[index]?.length ?? charactersOf(entries));
      kept[index] = undefined;
    }
    yield [end];
  };
  const plain = plainOf(list, { parts, characters: () => (isMeasured ? length : Infinity) });
  return { status: 200, contentType: contentTypes.protobuf, body: { pieces }, plain };
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** The list for the audit log, which records none that is longer in JSON than this. */
const maxPlainCharacters = 2 * 1024 * 1024;

function plainOf(
  { head, field, shown }: ShownList,
  { parts, characters }: { readonly parts: readonly (readonly Entry[])[]; readonly characters: () => number },
): () => unknown {
  return () => (characters() > maxPlainCharacters ? tooLong : { ...head, [field]: parts.flatMap(shown) });
}

function listMetadata(listed: Listed): {
  readonly resourceVersion: string;
  readonly continue?: string;
  readonly remainingItemCount?: number;
} {
  return {
    resourceVersion: String(listed.revision),
    ...(listed.continue === undefined ? {} : { continue: listed.continue }),
    ...(listed.remaining === undefined ? {} : { remainingItemCount: listed.remaining }),
  };
}
