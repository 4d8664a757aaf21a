/** `text`, of which no more than the first `max` UTF-16 units are kept; `…` then stands for the rest. */
export function truncate(text: string, max: number): string {
  return text.length > max ? `${text.slice(0, max)}…` : text;
}
