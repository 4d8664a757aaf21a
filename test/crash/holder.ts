// A program that opens a store, says what came of it, and holds it until it is killed.
import { openLmdb } from "../../src/storage/lmdb.ts";
import { StorageError } from "../../src/storage/store.ts";

const [dir = ""] = process.argv.slice(2);
try {
  const store = await openLmdb({ dir });
  console.log(JSON.stringify({ outcome: "open", revision: await store.currentRevision() }));
  // A timer of its own; the lock alone keeps no process alive.
  setInterval(() => undefined, 1000);
} catch (error) {
  console.log(
    JSON.stringify({ outcome: error instanceof StorageError ? error.code : "other", message: String(error) }),
  );
}
