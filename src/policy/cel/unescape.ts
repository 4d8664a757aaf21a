const simple: ReadonlyMap<string, number> = new Map([
  ["a", 7],
  ["b", 8],
  ["f", 12],
  ["n", 10],
  ["r", 13],
  ["t", 9],
  ["v", 11],
  ["\\", 92],
  ["?", 63],
  ['"', 34],
  ["'", 39],
  ["`", 96],
]);

const escapePattern =
  /\\(?:([abfnrtv\\?"'`])|[xX]([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2}))/y;

/** One escape: the number it stands for, whether it names an octet or a code point, and where the text goes on. */
interface Escape {
  readonly code: number;
  readonly unicode: boolean;
  readonly end: number;
}

function escapeAt(written: string, offset: number): Escape | undefined {
  escapePattern.lastIndex = offset;
  const found = escapePattern.exec(written);
  if (found === null) return undefined;
  const end = offset + found[0].length;
  const [, letter, hexadecimal, short, long, octal] = found;
  if (letter !== undefined) return { code: simple.get(letter) ?? 0, unicode: false, end };
  if (octal !== undefined) return { code: Number.parseInt(octal, 8), unicode: false, end };
  if (hexadecimal !== undefined) return { code: Number.parseInt(hexadecimal, 16), unicode: false, end };
  const code = Number.parseInt(short ?? long ?? "", 16);
  const valid = code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
  return valid ? { code, unicode: true, end } : undefined;
}

/** Where a literal has an escape that is none. */
export interface BadEscape {
  readonly problemAt: number;
}

/** The text that a string literal without its quotes stands for. */
export function unescapeText(written: string): string | BadEscape {
  if (!written.includes("\\")) return written;
  let text = "";
  let offset = 0;
  for (;;) {
    const next = written.indexOf("\\", offset);
    if (next === -1) return text + written.slice(offset);
    const escape = escapeAt(written, next);
    if (escape === undefined) return { problemAt: next };
    text += written.slice(offset, next) + String.fromCodePoint(escape.code);
    offset = escape.end;
  }
}

/** The octets that a bytes literal without its quotes stands for. */
export function unescapeBytes(written: string): Uint8Array | BadEscape {
  const encoder = new TextEncoder();
  if (!written.includes("\\")) return encoder.encode(written);
  const octets: number[] = [];
  let offset = 0;
  for (;;) {
    const next = written.indexOf("\\", offset);
    for (const octet of encoder.encode(written.slice(offset, next === -1 ? undefined : next))) octets.push(octet);
    if (next === -1) return Uint8Array.from(octets);
    const escape = escapeAt(written, next);
    if (escape === undefined || escape.unicode) return { problemAt: next };
    octets.push(escape.code);
    offset = escape.end;
  }
}
