import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import { isJsonObject, jsonProblem, ownValue } from "../apimachinery/json-value.ts";

/** A bundle that cannot be used; the message has the cause. */
export class BundleError extends Error {
  override readonly name = "BundleError";
  readonly code = "bundle";
}

/** What is evaluated: a WebAssembly module, and the documents under `data`. */
export interface Bundle {
  /** The module that has an entry point of this name, or the only one. */
  readonly wasm: Uint8Array;
  readonly data: unknown;
}

const maxUnpackedBytes = 32 * 1024 * 1024;
const maxFiles = 10_000;
const gzipMagic = Buffer.from([0x1f, 0x8b]);
const wasmMagic = Buffer.from([0x00, 0x61, 0x73, 0x6d]);

/**
 * Reads the output of `opa build -t wasm`: a tar.gz with `policy.wasm` and `data.json`, or that module alone. Signatures are not checked.
 * @throws BundleError
 */
export async function readBundle(bytes: Buffer, entrypoint: string): Promise<Bundle> {
  if (bytes.subarray(0, 4).equals(wasmMagic)) return { wasm: bytes, data: {} };
  if (!bytes.subarray(0, 2).equals(gzipMagic)) throw new BundleError("neither a .tar.gz nor a .wasm");
  const files = filesOfTar(await unpacked(bytes));
  const yaml = [...files.keys()].find((name) => /(^|\/)data\.ya?ml$/.test(name));
  if (yaml !== undefined) throw new BundleError(`${yaml}: data is read from data.json only`);
  const wasm = files.get(moduleOf(files, entrypoint));
  if (wasm === undefined) throw new BundleError("holds no policy.wasm; build it with opa build -t wasm");
  if (!wasm.subarray(0, 4).equals(wasmMagic)) throw new BundleError("its policy.wasm is no WebAssembly");
  return { wasm, data: dataOf(files) };
}

async function unpacked(bytes: Buffer): Promise<Buffer> {
  try {
    return await promisify(gunzip)(bytes, { maxOutputLength: maxUnpackedBytes });
  } catch {
    throw new BundleError(`is no gzip, or holds more than ${maxUnpackedBytes} bytes`);
  }
}

/** The regular files of a tar archive, by their paths without a leading slash. Source: POSIX.1-1988 ustar. */
function filesOfTar(tar: Buffer): ReadonlyMap<string, Buffer> {
  const files = new Map<string, Buffer>();
  for (let at = 0; at + 512 <= tar.length;) {
    const header = tar.subarray(at, at + 512);
    if (header.every((byte) => byte === 0)) return files;
    const size = sizeOf(header);
    const type = String.fromCharCode(header[156] ?? 0);
    const from = at + 512;
    if (from + size > tar.length) throw new BundleError("the archive ends early");
    // Names too long for the header have records of their own, which would take precedence over it.
    if ("xgLK".includes(type)) throw new BundleError("the archive has names that are longer than 255 bytes");
    if (type === "0" || type === "\0") files.set(nameOf(header), tar.subarray(from, from + size));
    if (files.size > maxFiles) throw new BundleError(`the archive has more than ${maxFiles} files`);
    at = from + Math.ceil(size / 512) * 512;
  }
  throw new BundleError("the archive ends early");
}

function textAt(header: Buffer, start: number, length: number): string {
  const field = header.subarray(start, start + length);
  const end = field.indexOf(0);
  return field.subarray(0, end === -1 ? length : end).toString("utf8");
}

function sizeOf(header: Buffer): number {
  const sum = header.reduce((total, byte, index) => total + (index >= 148 && index < 156 ? 0x20 : byte), 0);
  const [reported, size] = [textAt(header, 148, 8), textAt(header, 124, 12)].map((text) => text.trim());
  if (!/^[0-7]+$/.test(reported ?? "") || Number.parseInt(reported ?? "", 8) !== sum || !/^[0-7]+$/.test(size ?? ""))
    throw new BundleError("the archive is damaged");
  return Number.parseInt(size ?? "", 8);
}

function nameOf(header: Buffer): string {
  const isUstar = textAt(header, 257, 5) === "ustar";
  const [prefix, name] = [isUstar ? textAt(header, 345, 155) : "", textAt(header, 0, 100)];
  return (prefix === "" ? name : `${prefix}/${name}`).replace(/^(?:\.?\/)+/, "");
}

function moduleOf(files: ReadonlyMap<string, Buffer>, entrypoint: string): string {
  const manifest = files.has(".manifest") ? jsonOf(files, ".manifest") : {};
  const modules = isJsonObject(manifest) ? ownValue(manifest, "wasm") : undefined;
  const listed: readonly unknown[] = Array.isArray(modules) ? modules : [];
  const found = listed.filter(isJsonObject).find((each) => ownValue(each, "entrypoint") === entrypoint);
  const path = found === undefined ? undefined : ownValue(found, "module");
  return typeof path === "string" ? path.replace(/^\/+/, "") : "policy.wasm";
}

function jsonOf(files: ReadonlyMap<string, Buffer>, name: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse((files.get(name) ?? Buffer.alloc(0)).toString("utf8"));
  } catch {
    throw new BundleError(`${name}: not JSON`);
  }
  const problem = jsonProblem(value);
  if (problem !== undefined) throw new BundleError(`${name}: ${problem}`);
  return value;
}

type Tree = Map<string, unknown>;

/** All data.json as one document: each under the path of its folder. */
function dataOf(files: ReadonlyMap<string, Buffer>): unknown {
  const root: Tree = new Map();
  for (const name of [...files.keys()].filter((each) => /(^|\/)data\.json$/.test(each)).sort()) {
    const value = jsonOf(files, name);
    if (!isJsonObject(value)) throw new BundleError(`${name}: must be an object`);
    let at = root;
    for (const part of name.split("/").slice(0, -1)) {
      const next = at.get(part) ?? new Map<string, unknown>();
      if (!(next instanceof Map)) throw new BundleError(`${name}: collides with another data.json`);
      at.set(part, next);
      at = next as Tree;
    }
    merge(at, value, name);
  }
  return plain(root);
}

function merge(into: Tree, value: Readonly<Record<string, unknown>>, name: string): void {
  for (const [key, member] of Object.entries(value)) {
    const before = into.get(key);
    if (before === undefined && !isJsonObject(member)) into.set(key, member);
    else {
      const tree = before ?? new Map<string, unknown>();
      if (!(tree instanceof Map) || !isJsonObject(member))
        throw new BundleError(`${name}: collides with another data.json`);
      into.set(key, tree);
      merge(tree as Tree, member, name);
    }
  }
}

function plain(tree: Tree): unknown {
  // Not assignment: a folder may be called __proto__.
  return Object.fromEntries(
    [...tree].map(([key, value]) => [key, value instanceof Map ? plain(value as Tree) : value]),
  );
}
