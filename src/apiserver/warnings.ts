/** How many characters all warnings of a reply may take, and each of them once that is exceeded. Source: apiserver pkg/endpoints/filters/warning. */
const allCharacters = 4096;
const eachCharacters = 256;
/** How many headers a reply has for them at the most: clients bound all headers together, and each takes more than its text. */
const maxHeaders = 100;

/**
 * Adds a text to those of a reply, of which no more is kept than its headers can show: whoever warns need not count, and one request
 * can give thousands of reasons.
 */
export function addWarning(texts: string[], text: string): void {
  const kept = text.slice(0, allCharacters + 1);
  if (texts.length < maxHeaders && !texts.includes(kept)) texts.push(kept);
}

/** The values of the Warning headers for some texts: each once, quoted, within the budget. Source: RFC 7234 section 5.5. */
export function warningHeaders(texts: readonly string[]): readonly string[] {
  const unique = [...new Set(texts)].map(oneLine);
  const total = unique.reduce((sum, text) => sum + text.length, 0);
  const cut = total > allCharacters ? unique.map((text) => text.slice(0, eachCharacters)) : unique;
  const headers: string[] = [];
  let left = allCharacters;
  for (const text of cut) {
    left -= text.length;
    if (left < 0 || headers.length === maxHeaders) break;
    headers.push(`299 - "${text.replaceAll(/["\\]/g, (character) => `\\${character}`)}"`);
  }
  return headers;
}

/** Header values hold printable Latin-1 only; everything else becomes a question mark. */
function oneLine(text: string): string {
  return text.replaceAll(/[^\x20-\x7e]/g, "?");
}
