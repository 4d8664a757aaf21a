import { createMemoryLog } from "./memory-log.ts";
import { openMvcc } from "./mvcc.ts";
import type { Store } from "./store.ts";

/** A store that lives as long as its process: for tests, and for a hub that shall leave nothing behind. */
export async function openMemory(): Promise<Store> {
  return openMvcc(createMemoryLog());
}
