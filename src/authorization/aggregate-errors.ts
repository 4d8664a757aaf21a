/** How many messages are told one by one: thousands of bindings may refer to roles that are missing. */
const maxMessages = 64;

/**
 * Several messages as one, each once: the message itself, or `[a, b]` when there are more, of which the 65th and later ones are counted
 * only. Empty without messages.
 * Source: apimachinery util/errors Aggregate.
 */
export function aggregateErrors(messages: readonly string[]): string {
  const distinct = [...new Set(messages)];
  const more = distinct.length - maxMessages;
  const reported = more > 0 ? [...distinct.slice(0, maxMessages), `and ${more} more`] : distinct;
  return reported.length > 1 ? `[${reported.join(", ")}]` : (reported[0] ?? "");
}
