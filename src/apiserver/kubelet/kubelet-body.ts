import type { Readable } from "node:stream";
import type { Clock } from "../../apimachinery/clock.ts";

/** How much of a refusal is told, in bytes. */
const maxTextBytes = 2048;

/** The beginning of a body as text, of at most 2048 bytes; what has come within `ms` milliseconds where it does not end. */
export async function beginningOf(
  body: Readable,
  { clock, ms }: { readonly clock: Clock; readonly ms: number },
): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  const ended = new AbortController();
  void cutAfter(body, { clock, ms, until: ended.signal });
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      length += chunk.length;
      if (length >= maxTextBytes) break;
    }
  } catch {
    // What has come is told.
  }
  ended.abort();
  return Buffer.concat(chunks).toString("utf8", 0, maxTextBytes).trim();
}

async function cutAfter(
  body: Readable,
  { clock, ms, until }: { readonly clock: Clock; readonly ms: number; readonly until: AbortSignal },
): Promise<void> {
  await clock.sleep(ms, until);
  if (!until.aborted) body.destroy();
}

/** Cuts a body off of which nothing has come for `idleMs` milliseconds; `touch` is called for each piece, `end` once. */
export function idleGuard(
  body: Readable,
  { clock, idleMs }: { readonly clock: Clock; readonly idleMs: number },
): { readonly touch: () => void; readonly end: () => void } {
  const ended = new AbortController();
  let activeAt = clock.now();
  const watch = async (): Promise<void> => {
    while (!ended.signal.aborted) {
      const leftMs = activeAt + idleMs - clock.now();
      if (leftMs <= 0) return void body.destroy();
      await clock.sleep(leftMs, ended.signal);
    }
  };
  void watch();
  return {
    touch: () => {
      activeAt = clock.now();
    },
    end: () => ended.abort(),
  };
}
