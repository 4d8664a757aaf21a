import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { readU64 } from "./record.ts";

/*
 * How lmdb 3.5.6 lays out its file, as far as a check needs it. Little-endian, as are all machines that it has binaries for.
 * A page begins with 24 bytes:  number u64 | transaction u64 | u16 | flags u16 | lower u16, upper u16 (or pages u32)
 * followed by lower/2 offsets u16 of nodes, counted from the end of those 24 bytes:
 * a node is  low u16 | high u16 | flags u16 | key size u16 | key | data,  where low and high are the size of the data,
 * or in a branch, with the flags as the highest word, the number of the child page.
 * @see LMDB, mdb.c: MDB_page_header, MDB_node, MDB_meta, MDB_db
 */
const headerSize = 24;
const metaSize = 160;
const kinds = { branch: 1, leaf: 2, overflow: 4, meta: 8 } as const;
const magic = 0xbeefc0de;
const dataVersion = 2;
const keySize = 8;
/** The root of a tree without pages, as `readU64LE` reads it. */
const noPage = 2 ** 64;
// No store reaches this: 2^48 records in pages of two nodes.
const maxDepth = 48;

/** One of the two trees of a file, as its meta page describes it. */
interface Tree {
  readonly depth: number;
  readonly root: number;
  /** Of branches, leaves and overflow pages, and of entries. */
  readonly counts: Counts;
}

interface Counts {
  branches: number;
  leaves: number;
  overflows: number;
  entries: number;
}

interface Meta {
  readonly pageSize: number;
  /** The pages that the next transaction may reuse. */
  readonly free: Tree;
  /** The records. */
  readonly main: Tree;
  readonly lastPage: number;
  readonly transaction: number;
}

/** A file under inspection. */
interface Pages {
  readonly size: number;
  readonly transaction: number;
  /** For each page 1 where a tree uses it, 2 where it is free. */
  readonly used: Uint8Array;
  /** Reads into `target` from the start of a page. */
  readonly read: (target: Buffer, page: number) => void;
}

/** One node; `child` has a meaning in a branch, `data` in a leaf. */
interface Node {
  readonly key: Buffer;
  readonly child: number;
  readonly size: number;
  /** Whether `data` only points at the pages of the value. */
  readonly overflows: boolean;
  readonly data: Buffer;
}

/** Keys from `low` on and below `high`. */
type Range = readonly [low: number, high: number];

/** Why a file cannot be read. */
class PageDamage extends Error {}

/**
 * What is wrong with the pages of an LMDB file that is not in use; undefined when nothing is.
 *
 * The engine maps its file and trusts it: a file that was cut short or overwritten does not make it fail but ends the process with
 * SIGBUS, SIGSEGV or SIGABRT. So each page that it can reach is checked first, by ordinary reads. The contents of records are
 * not checked; they have checksums of their own.
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
  const first = readMeta(file, 0);
  const second = readMeta(file, first.pageSize);
  if (second.pageSize !== first.pageSize) throw new PageDamage("its two meta pages contradict each other");
  const {
    pageSize: size,
    transaction,
    main,
    free,
    lastPage,
  } = first.transaction >= second.transaction ? first : second;
  const read = (target: Buffer, page: number): void => {
    if (readSync(file, target, 0, target.length, page * size) !== target.length) cut(page);
  };
  const used = new Uint8Array(Math.floor(fstatSync(file).size / size)).fill(1, 0, 2);
  const pages: Pages = { size, transaction, used, read };
  const lists: number[][] = [];
  walkTree(pages, main, { keyOf: (key) => readU64(key, 0), visit: () => undefined });
  walkTree(pages, free, {
    keyOf: (key) => readU64LE(key, 0),
    visit: (node, overflowPage) => void lists.push(freeList(pages, node, overflowPage)),
  });
  for (const list of lists) checkFree(used, list, lastPage);
}

function readMeta(file: number, position: number): Meta {
  const bytes = Buffer.alloc(metaSize);
  const isRead = readSync(file, bytes, 0, metaSize, position) === metaSize;
  const pageSize = bytes.readUInt32LE(48);
  const isMeta =
    (bytes.readUInt16LE(18) & kinds.meta) !== 0 &&
    bytes.readUInt32LE(24) === magic &&
    (bytes.readUInt32LE(28) & 0xffff) === dataVersion;
  const isPageSize = pageSize >= 512 && pageSize <= 65_536 && (pageSize & (pageSize - 1)) === 0;
  if (!isRead || !isMeta || !isPageSize) throw new PageDamage("it does not begin like the file of a store");
  const treeAt = (offset: number): Tree => {
    const at = (field: number): number => readU64LE(bytes, offset + field);
    const counts = { branches: at(8), leaves: at(16), overflows: at(24), entries: at(32) };
    return { depth: bytes.readUInt16LE(offset + 6), counts, root: at(40) };
  };
  const [lastPage, transaction] = [readU64LE(bytes, 144), readU64LE(bytes, 152)];
  return { pageSize, free: treeAt(48), main: treeAt(96), lastPage, transaction };
}

/** How the keys of a tree are read, and its entries. */
interface Reading {
  readonly keyOf: (key: Buffer) => number;
  readonly visit: (node: Node, overflowPage: number) => void;
}

/** Checks all pages of a tree, and passes each entry to `visit`, with the first of the pages of its value, or 0. */
function walkTree(pages: Pages, { depth, root, counts }: Tree, how: Reading): void {
  if (depth > maxDepth) throw new PageDamage("a meta page has an impossible depth");
  const counted: Counts = { branches: 0, leaves: 0, overflows: 0, entries: 0 };
  // One page for each level.
  const buffers: Buffer[] = [];
  let lastKey = Number.NEGATIVE_INFINITY;
  const keyIn = (key: Buffer, page: number): number => (key.length === keySize ? how.keyOf(key) : damaged(page));

  /** Checks a page and all below it, whose keys are at least `low` and below `high`. */
  const walk = (page: number, level: number, range: Range): void => {
    claim(pages, page, 1);
    const buffer = (buffers[level] ??= Buffer.alloc(pages.size));
    pages.read(buffer, page);
    const kind = level < depth ? kinds.branch : kinds.leaf;
    const nodes = nodesOf(pages, page, { buffer, kind });
    if (kind === kinds.leaf) {
      counted.leaves += 1;
      for (const node of nodes) visit(node, page, range);
      return;
    }
    counted.branches += 1;
    // All keys are read before a child's page overwrites their buffer.
    const ranges = rangesOf(nodes, page, range);
    for (const [index, { child }] of nodes.entries()) walk(child, level + 1, ranges[index] ?? damaged(page));
  };

  /** The keys below each child of a branch, whose first key is not used. */
  const rangesOf = (nodes: readonly Node[], page: number, [low, high]: Range): readonly Range[] => {
    if (nodes.length === 0) damaged(page);
    const lows = nodes.map(({ key }, index) => (index === 0 ? low : keyIn(key, page)));
    return lows.map((from, index) => {
      const to = lows[index + 1] ?? high;
      if (from < low || to > high || from >= to) damaged(page);
      return [from, to];
    });
  };

  const visit = (node: Node, page: number, [low, high]: Range): void => {
    const key = keyIn(node.key, page);
    if (key <= lastKey || key < low || key >= high) damaged(page);
    lastKey = key;
    counted.entries += 1;
    how.visit(node, node.overflows ? overflow(node, page) : 0);
  };

  /** The first of the pages of a node's value. */
  const overflow = ({ data, size }: Node, page: number): number => {
    const [first, length] = [readU64LE(data, 0), readU64LE(data, 16)];
    if (length !== Math.floor((headerSize - 1 + size) / pages.size) + 1) damaged(page);
    claim(pages, first, length);
    const header = Buffer.alloc(headerSize);
    pages.read(header, first);
    const isOverflow = kindOf(header) === kinds.overflow && header.readUInt32LE(20) === length;
    if (readU64LE(header, 0) !== first || !isOverflow) damaged(first);
    counted.overflows += length;
    return first;
  };

  if (root !== noPage) walk(root, 1, [Number.NEGATIVE_INFINITY, noPage]);
  const fields = ["branches", "leaves", "overflows", "entries"] as const;
  if (fields.some((field) => counted[field] !== counts[field])) {
    throw new PageDamage("it has not as many pages or records as its meta page says");
  }
}

/** The kind of a page. The upper bits are internal to the engine. */
function kindOf(page: Buffer): number {
  return page.readUInt16LE(18) & 0xff;
}

/** The nodes of a branch or leaf, all of them within the page. */
function nodesOf(
  { transaction }: Pages,
  page: number,
  { buffer, kind }: { readonly buffer: Buffer; readonly kind: number },
): readonly Node[] {
  const room = buffer.length - headerSize;
  const [lower, upper] = [buffer.readUInt16LE(20), buffer.readUInt16LE(22)];
  if (kindOf(buffer) !== kind || readU64LE(buffer, 0) !== page || readU64LE(buffer, 8) > transaction) damaged(page);
  if (lower % 2 !== 0 || lower > upper || upper > room) damaged(page);
  return Array.from({ length: lower / 2 }, (_, index) => {
    const offset = buffer.readUInt16LE(headerSize + index * 2);
    const isWithin = offset >= upper && offset + 8 <= room;
    return (isWithin ? nodeAt(buffer, offset + headerSize, kind === kinds.leaf) : undefined) ?? damaged(page);
  });
}

function nodeAt(page: Buffer, start: number, isLeaf: boolean): Node | undefined {
  const size = page.readUInt32LE(start);
  const flags = page.readUInt16LE(start + 4);
  const dataStart = start + 8 + page.readUInt16LE(start + 6);
  // Of the flags of a leaf's node, the first is for overflow pages; the others are for kinds of tree that a store does not use.
  if (isLeaf && flags > 1) return undefined;
  const overflows = isLeaf && flags === 1;
  const dataEnd = dataStart + (isLeaf ? (overflows ? 24 : size) : 0);
  if (dataEnd > page.length) return undefined;
  const [key, data] = [page.subarray(start + 8, dataStart), page.subarray(dataStart, dataEnd)];
  return { key, child: isLeaf ? 0 : size + flags * 2 ** 32, size, overflows, data };
}

function claim({ used }: Pages, first: number, length: number): void {
  if (first + length > used.length) cut(first + length - 1);
  for (let page = first; page < first + length; page += 1) {
    if (used[page] !== 0) damaged(page);
    used[page] = 1;
  }
}

/** A free list as stored: its length, then numbers of pages, where a negative one is the length of the run that begins at the next. */
function freeList(pages: Pages, node: Node, overflowPage: number): number[] {
  const run = Buffer.alloc(node.overflows ? headerSize + node.size : 0);
  if (node.overflows) pages.read(run, overflowPage);
  const bytes = node.overflows ? run.subarray(headerSize) : node.data;
  const entries = Math.floor(bytes.length / 8);
  const [length, ...list] = Array.from({ length: entries }, (_, index) => Number(bytes.readBigInt64LE(index * 8)));
  if (length === undefined || length < 0 || length > list.length) {
    throw new PageDamage("a list of free pages is damaged");
  }
  return list.slice(0, length);
}

// The engine writes to free pages, so none may be in use or free twice.
function checkFree(used: Uint8Array, list: readonly number[], lastPage: number): void {
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

/** A number of 64 bits, exact below 2^53. */
function readU64LE(bytes: Buffer, offset: number): number {
  return bytes.readUInt32LE(offset) + bytes.readUInt32LE(offset + 4) * 2 ** 32;
}

function cut(page: number): never {
  throw new PageDamage(`it ends before page ${page}`);
}

function damaged(page: number): never {
  throw new PageDamage(`page ${page} is not what it was when written`);
}
