import { isUtf8 } from "node:buffer";

/**
 * A header value as its sender wrote it. Node decodes each byte as one character, while clients in Go send UTF-8; a value that is
 * not UTF-8 stays as Node decoded it.
 */
export function headerText(value: string): string {
  if (!/[\u0080-\u00ff]/.test(value) || /[\u0100-\uffff]/.test(value)) return value;
  const bytes = Buffer.from(value, "latin1");
  return isUtf8(bytes) ? bytes.toString("utf8") : value;
}
