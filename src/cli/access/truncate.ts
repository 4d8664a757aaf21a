const maxCellWidth = 72;

/** Text for one cell of a table: what is too long for it ends with `…`. */
export function cut(text: string): string {
  return text.length > maxCellWidth ? `${text.slice(0, maxCellWidth)}…` : text;
}
