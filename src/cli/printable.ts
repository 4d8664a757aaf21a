// Control characters, and everything that changes the direction, joins or hides text: what a terminal would obey or a reader not see.
const unsafe = /[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}]/gu;

/**
 * Text of unknown origin for one line of a terminal: each character that could move the cursor, start an escape sequence, turn
 * the direction of reading, or stay invisible is written as `\u{1b}`, and so are blanks at the end, without which two names look the same.
 * A backslash is doubled, so that the rest cannot be imitated.
 */
export function printable(text: string): string {
  const shown = text
    .replaceAll("\\", "\\\\")
    .replace(unsafe, (character) => (character === " " ? " " : escaped(character)));
  const end = shown.trimEnd();
  return end + escaped(" ").repeat(shown.length - end.length);
}

function escaped(character: string): string {
  return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
}
