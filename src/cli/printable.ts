// Control characters, and everything that changes the direction, joins or hides text: what a terminal would obey or a reader not see.
const unsafe = /[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}]/gu;

/**
 * Text of unknown origin for one line of a terminal: each character that could move the cursor, start an escape sequence, turn
 * the direction of reading, or stay invisible is written as `\u{1b}`. Blanks stay; a backslash is doubled, so that nobody can fake the rest.
 */
export function printable(text: string): string {
  return text.replaceAll("\\", "\\\\").replace(unsafe, (character) => (character === " " ? " " : escaped(character)));
}

function escaped(character: string): string {
  return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
}
