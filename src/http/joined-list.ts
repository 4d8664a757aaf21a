import type { Entry } from "../registry/entry.ts";
import { partsOf, type PartSize } from "../registry/entry-parts.ts";

/** Texts are only copied, which is fast. */
const partSize: PartSize = { maxCharacters: 1024 * 1024, maxEntries: 8192 };

/** A list in JSON whose items are the texts of entries as they are. Those of a large list are copied in parts, each in its turn. */
export async function joinedList(head: object, entries: readonly Entry[], turn: () => Promise<void>): Promise<Buffer> {
  const start = `${JSON.stringify(head).slice(0, -1)},"items":[`;
  const parts = partsOf(entries, partSize);
  if (parts.length <= 1) return written(entries, start, "]}");
  const made: Buffer[] = [];
  for (const [index, part] of parts.entries()) {
    await turn();
    made.push(written(part, index === 0 ? start : ",", index === parts.length - 1 ? "]}" : ""));
  }
  await turn();
  return Buffer.concat(made);
}

function written(entries: readonly Entry[], start: string, end: string): Buffer {
  return (
    writtenAtOnce(entries, start, end) ?? Buffer.from(`${start}${entries.map(({ json }) => json).join(",")}${end}`)
  );
}

/** A last text with longer characters cannot be cut to just its own length within these. */
const slackBytes = 4;

/**
 * The same bytes, each text written to its place: a seventh of the time of joining them first. Undefined where a text holds
 * characters of more than one byte, whose length is not known beforehand.
 */
function writtenAtOnce(entries: readonly Entry[], start: string, end: string): Buffer | undefined {
  const room = entries.reduce((sum, { json }) => sum + json.length + 1, Buffer.byteLength(start) + slackBytes);
  const bytes = Buffer.allocUnsafe(room);
  let at = bytes.write(start);
  for (const { json } of entries) {
    const written = bytes.write(json, at);
    if (written !== json.length) return undefined;
    at += written;
    bytes[at] = comma;
    at += 1;
  }
  if (entries.length > 0) at -= 1;
  return bytes.subarray(0, at + bytes.write(end, at));
}

const comma = 0x2c;
