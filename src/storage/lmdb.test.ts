import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";
import { describeStore } from "../../test/kits/store.ts";
import { openLmdb } from "./lmdb.ts";

const root = mkdtempSync(join(tmpdir(), "lmdb-test-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

let made = 0;
const freshDir = (): string => join(root, `store-${(made += 1)}`);

describeStore("lmdb", { open: () => openLmdb({ dir: freshDir() }), histories: 30 });
