import type { Output } from "./io.ts";

// Control characters, and all that change the direction of, join or hide text: a terminal would interpret them or a reader not see them.
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

/** Writes text of unknown origin as one line, escaped by `printable`. */
export function writeLine(output: Output, text: string): void {
  output.write(`${printable(text)}\n`);
}

/** The value as JSON in ASCII as far as control, invisible and direction-changing characters go; `indent` in blanks, default none. */
export function jsonText(value: unknown, indent?: number): string {
  return escapedControls(JSON.stringify(value, undefined, indent) ?? "null");
}

/** JSON leaves DEL, C1 controls and direction marks as they are; within its strings, and those of YAML, an escape means the same. */
export function escapedControls(text: string): string {
  return text.replaceAll(/[\u007f-\u009f\p{Cf}\p{Zl}\p{Zp}]/gu, (character) =>
    character
      .split("")
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
      .join(""),
  );
}
