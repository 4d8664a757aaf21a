import type { WireReply } from "../kits/wire.ts";

/** How long a refusal may be, in bytes: it quotes what was wrong, not all that was sent. */
const maxBytes = 192 * 1024;

/** `refused` for a refusal as a client can read it: 4xx, a Status or the sentence of Go's mux, and not an echo of what was sent. Otherwise what came instead. */
export function refusal(reply: WireReply): string {
  // What Go's mux answers to a path that nothing serves, such as a health check of no name.
  if (reply.status === 404 && reply.text === "404 page not found\n") return "refused";
  const { kind, status, code } = reply.text.startsWith("{")
    ? (JSON.parse(reply.text) as Readonly<Record<string, unknown>>)
    : {};
  const readable = kind === "Status" && status === "Failure" && code === reply.status;
  const short = reply.body.length < maxBytes;
  return reply.status >= 400 && reply.status < 500 && readable && short
    ? "refused"
    : `${reply.status} ${reply.text.slice(0, 500)}`;
}

/** `answered` for anything but a fault: a refusal, or the reply to what turned out to be in order. */
export function answer(reply: WireReply): string {
  if (reply.status >= 200 && reply.status < 400) return "answered";
  const found = refusal(reply);
  return found === "refused" ? "answered" : found;
}
