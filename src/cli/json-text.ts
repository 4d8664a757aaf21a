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
