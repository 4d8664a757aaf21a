import { apiVersionOf, type ApiObject } from "../core/object.ts";
import { objectOf, passingObjectOf, type Entry } from "../registry/entry.ts";
import { partsOf, type PartSize } from "../registry/entry-parts.ts";
import type { Listed } from "../registry/list.ts";
import { encodeListItems, encodeProtobufList } from "../resources/protobuf.ts";
import { partialObjectMetadataSchema } from "../resources/schemas/meta.ts";
import { notAcceptable, partial, table, type View } from "./encode.ts";
import { tooLong, type Reply } from "./exchange.ts";
import { joinedList } from "./joined-list.ts";
import { contentTypes } from "./negotiate.ts";
import { internalType } from "./undecodable.ts";
import { yamlOfJson } from "./yaml-reply.ts";

/** Takes about 10 ms in the slowest form. */
const partSize: PartSize = { maxCharacters: 128 * 1024, maxEntries: 512 };
/** YAML takes five times as long. Where its thread shares a core with the event loop, that waits for as long. */
const yamlPartSize: PartSize = { maxCharacters: 32 * 1024, maxEntries: 128 };

/**
 * A list as a reply; for plain JSON the cached text of its items is only joined. A list of more than one part is encoded part by part,
 * each in its turn. @throws StatusError NotAcceptable
 */
export async function listReply(view: View, listed: Listed): Promise<Reply> {
  const { media, resource } = view;
  if (media.as === "PartialObjectMetadata") {
    throw notAcceptable(
      `you requested PartialObjectMetadata, but the requested object is a list (*${internalType(resource, "List")})`,
    );
  }
  const metadata = listMetadata(listed);
  if (media.as === undefined && media.format === "json" && !media.pretty) {
    const head = { kind: `${resource.kind}List`, apiVersion: apiVersionOf(resource.group, resource.version), metadata };
    return { status: 200, contentType: contentTypes.json, body: await joinedList(head, listed.entries, view.turn) };
  }
  const parts = partsOf(listed.entries, media.format === "yaml" ? yamlPartSize : partSize);
  const list = shownList(view, metadata, parts.length > 1 ? passingObjectOf : objectOf);
  if (media.format === "protobuf") return protobufReply(view, list, parts);
  const form = media.format === "yaml" ? yamlForm(view, list) : media.pretty ? prettyForm(list) : plainForm(list);
  const { body, characters } = await textOf(view, { parts, form });
  if (media.format !== "yaml") return { status: 200, contentType: contentTypes.json, body };
  return { status: 200, contentType: contentTypes.yaml, body, plain: plainOf(list, { parts, characters }) };
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
}

interface PartText {
  readonly text: string;
  /** Of what the part is in JSON on one line. */
  readonly characters: number;
}

function plainForm({ head, field, shown }: ShownList): ListForm {
  return {
    none: () => JSON.stringify({ ...head, [field]: [] }),
    start: () => `${JSON.stringify(head).slice(0, -1)},"${field}":[`,
    part: (entries) => {
      const text = JSON.stringify(shown(entries)).slice(1, -1);
      return { text, characters: text.length };
    },
    between: ",",
    end: "]}",
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
      return { text, characters: text.length };
    },
    between: ",",
    end: `${after}\n`,
  };
}

function yamlForm({ yaml }: View, { head, field, shown, isWhole }: ShownList): ListForm {
  const before = `${field}:\n`;
  return {
    none: () => yamlOfJson(yaml, JSON.stringify({ ...head, [field]: [] })),
    start: async () => `${await yamlOfJson(yaml, JSON.stringify(head))}${before}`,
    part: async (entries) => {
      // Items that are shown as they are need not be parsed here.
      const items = isWhole ? `[${entries.map(({ json }) => json).join(",")}]` : JSON.stringify(shown(entries));
      const text = await yamlOfJson(yaml, `{"${field}":${items}}`);
      return { text: text.slice(before.length), characters: items.length };
    },
    between: "",
    end: "",
  };
}

/** The whole text, and how long it is in JSON. */
async function textOf(
  view: View,
  { parts, form }: { readonly parts: readonly (readonly Entry[])[]; readonly form: ListForm },
): Promise<{ readonly body: Buffer | string; readonly characters: number }> {
  const [only, ...others] = parts;
  if (only === undefined) return { body: await form.none(), characters: 0 };
  if (others.length === 0) {
    const { text, characters } = await form.part(only);
    return { body: `${await form.start()}${text}${form.end}`, characters };
  }
  const made: Buffer[] = [Buffer.from(await form.start())];
  let characters = 0;
  for (const [index, entries] of parts.entries()) {
    await view.turn();
    const part = await form.part(entries);
    characters += part.characters;
    made.push(Buffer.from(index === 0 ? part.text : `${form.between}${part.text}`));
  }
  await view.turn();
  return { body: Buffer.concat([...made, Buffer.from(form.end)]), characters };
}

async function protobufReply(view: View, list: ShownList, parts: readonly (readonly Entry[])[]): Promise<Reply> {
  const { media, resource } = view;
  const schema = media.as === undefined ? resource.schema : partialObjectMetadataSchema;
  const encoded: Uint8Array[] = [];
  for (const entries of parts) {
    if (parts.length > 1) await view.turn();
    encoded.push(encodeListItems(list.shown(entries) as readonly ApiObject[], schema));
  }
  if (parts.length > 1) await view.turn();
  const body = encodeProtobufList(list.head, encoded);
  return {
    status: 200,
    contentType: contentTypes.protobuf,
    body,
    plain: plainOf(list, { parts, characters: body.length }),
  };
}

/** The list for the audit log, which records none that is longer in JSON than this. */
const maxPlainCharacters = 2 * 1024 * 1024;

function plainOf(
  { head, field, shown }: ShownList,
  { parts, characters }: { readonly parts: readonly (readonly Entry[])[]; readonly characters: number },
): () => unknown {
  return () => (characters > maxPlainCharacters ? tooLong : { ...head, [field]: parts.flatMap(shown) });
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
