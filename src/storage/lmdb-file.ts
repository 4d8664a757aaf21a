import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import {
  decodeMeta,
  decodeNodes,
  decodePageHeader,
  metaSize,
  noPage,
  pageFlags,
  pageHeaderSize,
  readU64LE,
  type MetaFacts,
  type NodeFacts,
  type TreeFacts,
} from "./lmdb-page.ts";
import { readU64 } from "./record.ts";

/** A file under inspection. */
interface Pages {
  readonly size: number;
  readonly count: number;
  readonly transaction: number;
  /** 1 for each page that a tree uses. */
  readonly used: Uint8Array;
  /** Reads into `target` from the start of a page. */
  read(target: Buffer, page: number): void;
}

/** One tree, and what was counted of it so far. */
interface Walk {
  readonly pages: Pages;
  readonly tree: TreeFacts;
  readonly keyOf: (bytes: Buffer) => number;
  readonly visit: (node: NodeFacts, overflowPage: number) => void;
  readonly counted: { branches: number; leaves: number; overflows: number; entries: number };
  /** One page for each level. */
  readonly buffers: Buffer[];
  lastKey: number;
}

// No store comes near: 2^48 records in pages of two nodes.
const maxDepth = 48;
const keySize = 8;

/** What keeps a file from being read. */
class PageDamage extends Error {}

/**
 * What is wrong with the pages of an LMDB file that is not in use; undefined when nothing is.
 *
 * The engine maps its file and trusts it: a file that was cut short or overwritten does not make it fail but ends the process with
 * SIGBUS, SIGSEGV or SIGABRT. So each page that it can reach is looked at first, by ordinary reads. The contents of records are
 * not looked at; they carry checksums of their own.
 */
export function inspectDataFile(path: string): string | undefined {
  const file = openSync(path, "r");
  try {
    inspect(file);
    return undefined;
  } catch (error) {
    if (error instanceof PageDamage) return error.message;
    throw error;
  } finally {
    closeSync(file);
  }
}

function inspect(file: number): void {
  const { size: bytes } = fstatSync(file);
  const meta = latestMeta(file);
  const { pageSize, transaction } = meta;
  const count = Math.floor(bytes / pageSize);
  const pages: Pages = {
    size: pageSize,
    count,
    transaction,
    used: new Uint8Array(count).fill(1, 0, 2),
    read(target, page) {
      if (readSync(file, target, 0, target.length, page * pageSize) !== target.length) cut(page);
    },
  };
  const free: number[][] = [];
  walkTree(pages, meta.main, { keyOf: (bytes8) => readU64(bytes8, 0), visit: () => undefined });
  walkTree(pages, meta.free, {
    keyOf: (bytes8) => readU64LE(bytes8, 0),
    visit: (node, overflowPage) => void free.push(freeList(pages, node, overflowPage)),
  });
  for (const list of free) checkFree(pages, list, meta.lastPage);
}

function latestMeta(file: number): MetaFacts {
  const first = readMeta(file, 0);
  const second = readMeta(file, first.pageSize);
  if (second.pageSize !== first.pageSize) throw new PageDamage("its two meta pages contradict each other");
  return first.transaction >= second.transaction ? first : second;
}

function readMeta(file: number, position: number): MetaFacts {
  const bytes = Buffer.alloc(metaSize);
  const read = readSync(file, bytes, 0, metaSize, position);
  const meta = read === metaSize ? decodeMeta(bytes) : undefined;
  if (meta === undefined) throw new PageDamage("it does not begin like the file of a store");
  return meta;
}

function walkTree(pages: Pages, tree: TreeFacts, how: Pick<Walk, "keyOf" | "visit">): void {
  const counted = { branches: 0, leaves: 0, overflows: 0, entries: 0 };
  const walk: Walk = { ...how, pages, tree, counted, buffers: [], lastKey: Number.NEGATIVE_INFINITY };
  if (tree.depth > maxDepth) throw new PageDamage("a meta page has an impossible depth");
  if (tree.root !== noPage) walkPage(walk, tree.root, { level: 1, low: Number.NEGATIVE_INFINITY, high: noPage });
  const { branches, leaves, overflows, entries } = tree;
  if (
    counted.branches !== branches ||
    counted.leaves !== leaves ||
    counted.overflows !== overflows ||
    counted.entries !== entries
  ) {
    throw new PageDamage("it has not as many pages or records as its meta page says");
  }
}

/** Checks a page and all below it, whose keys are at least `low` and below `high`. */
function walkPage(
  walk: Walk,
  page: number,
  at: { readonly level: number; readonly low: number; readonly high: number },
): void {
  const { pages, tree, counted, buffers } = walk;
  const kind = at.level < tree.depth ? pageFlags.branch : pageFlags.leaf;
  claim(pages, page, 1);
  const buffer = (buffers[at.level] ??= Buffer.alloc(pages.size));
  pages.read(buffer, page);
  const header = decodePageHeader(buffer);
  const nodes = header.kind === kind ? decodeNodes(buffer, kind) : undefined;
  if (nodes === undefined || header.number !== page || header.transaction > pages.transaction) damaged(page);
  if (kind === pageFlags.leaf) {
    counted.leaves += 1;
    for (const node of nodes) walkEntry(walk, node, { page, ...at });
    return;
  }
  counted.branches += 1;
  if (nodes.length === 0) damaged(page);
  // The first key of a branch is not used. Keys are read before a child's page takes the place of what they lie in.
  const lows = nodes.map(({ key }, index) => (index === 0 ? at.low : keyIn(walk, key, page)));
  for (const [index, { child }] of nodes.entries()) {
    const low = lows[index] ?? at.low;
    const high = lows[index + 1] ?? at.high;
    if (low < at.low || high > at.high || low >= high) damaged(page);
    walkPage(walk, child, { level: at.level + 1, low, high });
  }
}

function walkEntry(
  walk: Walk,
  node: NodeFacts,
  { page, low, high }: { readonly page: number; readonly low: number; readonly high: number },
): void {
  const { pages, counted } = walk;
  const key = keyIn(walk, node.key, page);
  if (key <= walk.lastKey || key < low || key >= high) damaged(page);
  walk.lastKey = key;
  counted.entries += 1;
  if (!node.overflows) return walk.visit(node, 0);
  const first = readU64LE(node.data, 0);
  const length = readU64LE(node.data, 16);
  if (length !== Math.floor((pageHeaderSize - 1 + node.size) / pages.size) + 1) damaged(page);
  claim(pages, first, length);
  const header = Buffer.alloc(pageHeaderSize);
  pages.read(header, first);
  const { number, kind, overflowPages } = decodePageHeader(header);
  if (number !== first || kind !== pageFlags.overflow || overflowPages !== length) damaged(first);
  counted.overflows += length;
  walk.visit(node, first);
}

function keyIn(walk: Walk, key: Buffer, page: number): number {
  return key.length === keySize ? walk.keyOf(key) : damaged(page);
}

function claim({ used, count }: Pages, first: number, length: number): void {
  if (first + length > count) cut(first + length - 1);
  for (let page = first; page < first + length; page += 1) {
    if (used[page] !== 0) damaged(page);
    used[page] = 1;
  }
}

/** A free list as stored: its length, then numbers of pages, where a negative one is the length of the run that begins at the next. */
function freeList(pages: Pages, node: NodeFacts, overflowPage: number): number[] {
  let bytes = node.data;
  if (node.overflows) {
    const run = Buffer.alloc(pageHeaderSize + node.size);
    pages.read(run, overflowPage);
    bytes = run.subarray(pageHeaderSize);
  }
  const list = Array.from({ length: Math.floor(bytes.length / 8) }, (_, index) =>
    Number(bytes.readBigInt64LE(index * 8)),
  );
  const [length] = list;
  if (length === undefined || length < 0 || length >= list.length) {
    throw new PageDamage("a list of free pages is damaged");
  }
  return list.slice(1, length + 1);
}

// The engine writes to free pages, so none may be in use or free twice.
function checkFree({ used }: Pages, list: readonly number[], lastPage: number): void {
  let run = 1;
  for (const entry of list) {
    if (entry < 0) {
      run = -entry;
      continue;
    }
    if (entry === 0) continue;
    if (entry + run > lastPage + 1) throw new PageDamage("a list of free pages is damaged");
    for (let page = entry; page < entry + run; page += 1) {
      if ((used[page] ?? 0) !== 0) throw new PageDamage(`page ${page} is both in use and free`);
      if (page < used.length) used[page] = 2;
    }
    run = 1;
  }
}

function cut(page: number): never {
  throw new PageDamage(`it ends before page ${page}`);
}

function damaged(page: number): never {
  throw new PageDamage(`page ${page} is not what it was when written`);
}
