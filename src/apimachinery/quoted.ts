const escapes: Readonly<Record<string, string>> = {
  '"': '\\"',
  "\\": "\\\\",
  "\u0007": "\\a",
  "\b": "\\b",
  "\f": "\\f",
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
  "\v": "\\v",
};

const plain = /^[ !#-[\]-~]*$/;
const special = /["\\]|[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu;

/**
 * A text between double quotes as messages of Kubernetes show it: non-printable characters are escaped, spaces other than U+0020
 * included, so that no two names look the same. Half of a surrogate pair is shown as U+FFFD. Source: Go strconv Quote.
 */
export function quoted(text: string): string {
  // Nearly all names need no escape.
  if (plain.test(text)) return `"${text}"`;
  return `"${text.replaceAll(special, escaped)}"`;
}

function escaped(character: string): string {
  const known = escapes[character];
  if (known !== undefined) return known;
  const point = character.codePointAt(0) ?? 0;
  if (point >= 0xd800 && point <= 0xdfff) return "\u{fffd}";
  if (point < 0x20 || point === 0x7f) return `\\x${hexadecimal(point, 2)}`;
  return point < 0x10000 ? `\\u${hexadecimal(point, 4)}` : `\\U${hexadecimal(point, 8)}`;
}

function hexadecimal(point: number, digits: number): string {
  return point.toString(16).padStart(digits, "0");
}
