/*
 * How lmdb 3.5.6 lays out its file, as far as a check needs it. Little-endian, as are all machines that it has binaries for.
 * A page begins with 24 bytes:  number u64 | transaction u64 | u16 | flags u16 | lower u16, upper u16 (or pages u32)
 * followed by lower/2 offsets u16 of nodes, counted from the end of those 24 bytes:
 * a node is  low u16 | high u16 | flags u16 | key size u16 | key | data,  where low and high are the size of the data,
 * or in a branch, with the flags as the highest word, the number of the child page.
 * @see LMDB, mdb.c: MDB_page_header, MDB_node, MDB_meta, MDB_db
 */

export const pageHeaderSize = 24;
export const pageFlags = { branch: 1, leaf: 2, overflow: 4, meta: 8 } as const;

/** The root of a tree without pages, as `readU64LE` reads it. */
export const noPage: number = 2 ** 64;

/** One of the two trees of a file, as its meta page describes it. */
export interface TreeFacts {
  readonly depth: number;
  readonly branches: number;
  readonly leaves: number;
  readonly overflows: number;
  readonly entries: number;
  readonly root: number;
}

/** What a meta page says. */
export interface MetaFacts {
  readonly pageSize: number;
  /** The pages that the next transaction may reuse. */
  readonly free: TreeFacts;
  /** The records. */
  readonly main: TreeFacts;
  readonly lastPage: number;
  readonly transaction: number;
}

/** One node; `child` has a meaning in a branch, `data` in a leaf. */
export interface NodeFacts {
  readonly key: Buffer;
  readonly child: number;
  readonly size: number;
  /** Whether `data` only points at pages that hold the value. */
  readonly overflows: boolean;
  readonly data: Buffer;
}

/** How much of a page has to be read to decode its meta facts. */
export const metaSize = 160;

const magic = 0xbeefc0de;
const dataVersion = 2;

/** The facts of a meta page; undefined when the bytes are not one. */
export function decodeMeta(bytes: Buffer): MetaFacts | undefined {
  if (bytes.length < metaSize || (bytes.readUInt16LE(18) & pageFlags.meta) === 0) return undefined;
  if (bytes.readUInt32LE(24) !== magic || (bytes.readUInt32LE(28) & 0xffff) !== dataVersion) return undefined;
  const pageSize = bytes.readUInt32LE(48);
  if (pageSize < 512 || pageSize > 65_536 || (pageSize & (pageSize - 1)) !== 0) return undefined;
  return {
    pageSize,
    free: decodeTree(bytes, 48),
    main: decodeTree(bytes, 96),
    lastPage: readU64LE(bytes, 144),
    transaction: readU64LE(bytes, 152),
  };
}

/** The number, the kind and the transaction that a page says it has. */
export function decodePageHeader(page: Buffer): {
  readonly number: number;
  readonly transaction: number;
  readonly kind: number;
  readonly overflowPages: number;
} {
  return {
    number: readU64LE(page, 0),
    transaction: readU64LE(page, 8),
    // The upper bits are the engine's notes to itself.
    kind: page.readUInt16LE(18) & 0xff,
    overflowPages: page.readUInt32LE(20),
  };
}

/** The nodes of a branch or leaf; undefined when one of them does not lie within the page. */
export function decodeNodes(page: Buffer, kind: number): readonly NodeFacts[] | undefined {
  const room = page.length - pageHeaderSize;
  const lower = page.readUInt16LE(20);
  const upper = page.readUInt16LE(22);
  if (lower % 2 !== 0 || lower > upper || upper > room) return undefined;
  const nodes: NodeFacts[] = [];
  for (let index = 0; index < lower / 2; index += 1) {
    const offset = page.readUInt16LE(pageHeaderSize + index * 2);
    if (offset < upper || offset + 8 > room) return undefined;
    const node = decodeNode(page, offset + pageHeaderSize, kind);
    if (node === undefined) return undefined;
    nodes.push(node);
  }
  return nodes;
}

function decodeNode(page: Buffer, start: number, kind: number): NodeFacts | undefined {
  const size = page.readUInt32LE(start);
  const flags = page.readUInt16LE(start + 4);
  const dataStart = start + 8 + page.readUInt16LE(start + 6);
  const leaf = kind === pageFlags.leaf;
  // Of the flags of a leaf's node, the first is for overflow pages; the others are for kinds of tree that a store has not.
  if (leaf && flags > 1) return undefined;
  const overflows = leaf && flags === 1;
  const dataEnd = dataStart + (leaf ? (overflows ? 24 : size) : 0);
  if (dataEnd > page.length) return undefined;
  return {
    key: page.subarray(start + 8, dataStart),
    child: leaf ? 0 : size + flags * 2 ** 32,
    size,
    overflows,
    data: page.subarray(dataStart, dataEnd),
  };
}

function decodeTree(bytes: Buffer, offset: number): TreeFacts {
  return {
    depth: bytes.readUInt16LE(offset + 6),
    branches: readU64LE(bytes, offset + 8),
    leaves: readU64LE(bytes, offset + 16),
    overflows: readU64LE(bytes, offset + 24),
    entries: readU64LE(bytes, offset + 32),
    root: readU64LE(bytes, offset + 40),
  };
}

/** A number of 64 bits, exact below 2^53. */
export function readU64LE(bytes: Buffer, offset: number): number {
  return bytes.readUInt32LE(offset) + bytes.readUInt32LE(offset + 4) * 2 ** 32;
}
