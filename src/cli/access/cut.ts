const longestCell = 72;

/** Text for one cell of a table: what is too long for it ends with `…`. */
export function cut(text: string): string {
  return text.length > longestCell ? `${text.slice(0, longestCell)}…` : text;
}
