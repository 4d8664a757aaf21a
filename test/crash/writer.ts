// A program that writes to a store from many sides until it is killed, and says on stdout what was acknowledged.
import { writeSync } from "node:fs";
import { openLmdb } from "../../src/storage/lmdb.ts";
import type { Store } from "../../src/storage/store.ts";

const [dir = "", round = "0"] = process.argv.slice(2);
const writers = 24;
const keysEach = 4;

/** One line for each acknowledgement; synchronous, so that it is in the pipe before anything else happens. */
function say(line: Readonly<Record<string, string | number>>): void {
  writeSync(1, `${JSON.stringify(line)}\n`);
}

async function write(store: Store, writer: number): Promise<never> {
  for (let turn = 0; ; turn += 1) {
    const key = `/crash/${writer}/${turn % keysEach}`;
    const text = `${round}-${writer}-${turn}-${"x".repeat((turn * 97) % 3000)}`;
    const value = new TextEncoder().encode(text);
    const current = (await store.get(key)).value;
    if (current === undefined) {
      const result = await store.create(key, value);
      if (result.kind === "created") say({ type: "put", key, text, revision: result.revision });
      continue;
    }
    const ifRevision = current.revision;
    if (turn % 7 === 3) {
      const result = await store.delete(key, { ifRevision });
      if (result.kind === "deleted") say({ type: "delete", key, revision: result.revision });
      continue;
    }
    const result = await store.update(key, value, { ifRevision });
    if (result.kind === "updated") say({ type: "put", key, text, revision: result.revision });
  }
}

async function compact(store: Store): Promise<never> {
  for (;;) {
    await store.compact(Math.max(0, (await store.currentRevision()) - 300));
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

say({ type: "opening" });
const store = await openLmdb({ dir });
await Promise.all([compact(store), ...Array.from({ length: writers }, async (_, writer) => write(store, writer))]);
