/**
 * Several messages as one, each once: the message itself, or `[a, b]` when there are more. Empty without messages.
 * Source: apimachinery util/errors Aggregate.
 */
export function aggregateErrors(messages: readonly string[]): string {
  const distinct = [...new Set(messages)];
  return distinct.length > 1 ? `[${distinct.join(", ")}]` : (distinct[0] ?? "");
}
