/** One record, with the line on which it begins, from 1. */
export interface CsvRecord {
  readonly line: number;
  readonly fields: readonly string[];
}

/** Every record, or where and how the text is broken. */
export type CsvResult =
  | { readonly kind: "parsed"; readonly records: readonly CsvRecord[] }
  | { readonly kind: "malformed"; readonly line: number; readonly message: string };

interface Field {
  readonly text: string;
  /** Where the separator or line end after the field stands. */
  readonly end: number;
}

/**
 * Reads CSV as Go's encoding/csv does: fields may be quoted, a doubled quote inside stands for one, blanks count, empty lines do
 * not, CRLF is LF, records may differ in length. Never throws; the message quotes nothing. @see RFC 4180
 */
export function parseCsv(source: string): CsvResult {
  const text = source.replaceAll("\r\n", "\n");
  const records: CsvRecord[] = [];
  let line = 1;
  let at = 0;
  while (at < text.length) {
    if (text[at] === "\n") {
      at += 1;
      line += 1;
      continue;
    }
    const fields: string[] = [];
    const begin = at;
    for (let more = true; more;) {
      const field = text[at] === '"' ? quotedField(text, at) : plainField(text, at);
      if (typeof field === "string") {
        return { kind: "malformed", line: line + newlines(text, begin, at), message: field };
      }
      fields.push(field.text);
      more = text[field.end] === ",";
      at = field.end + 1;
    }
    records.push({ line, fields });
    line += newlines(text, begin, at);
  }
  return { kind: "parsed", records };
}

function plainField(text: string, at: number): Field | string {
  let end = at;
  while (end < text.length && text[end] !== "," && text[end] !== "\n") {
    if (text[end] === '"') {
      return "a quote stands inside a field that does not begin with one";
    }
    end += 1;
  }
  return { text: text.slice(at, end), end };
}

function quotedField(text: string, at: number): Field | string {
  let content = "";
  let from = at + 1;
  for (;;) {
    const quote = text.indexOf('"', from);
    if (quote === -1) {
      return "a quoted field has no end";
    }
    content += text.slice(from, quote);
    const next = text[quote + 1];
    if (next === '"') {
      content += '"';
      from = quote + 2;
    } else if (next === undefined || next === "," || next === "\n") {
      return { text: content, end: quote + 1 };
    } else {
      return "there is text between the end of a quoted field and the next comma";
    }
  }
}

function newlines(text: string, from: number, to: number): number {
  let count = 0;
  for (let at = text.indexOf("\n", from); at !== -1 && at < to; at = text.indexOf("\n", at + 1)) {
    count += 1;
  }
  return count;
}
