// Reads a V8 CPU profile of the bundled hub and says where the time went, in the names of the sources.
import { readFileSync } from "node:fs";
import { SourceMap } from "node:module";
import { dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";

/** A frame in the names of the sources: `module` is `src/apiserver/respond.ts`, `npm:protobufjs`, `node:internal/http2/core`, or `native`. */
function frameNames() {
  const maps = new Map();
  const mapOf = (url) => {
    if (!maps.has(url)) maps.set(url, readMap(url));
    return maps.get(url);
  };
  return ({ functionName, url, lineNumber, columnNumber }) => {
    const name = functionName === "" ? "(anonymous)" : functionName;
    if (url === "") return { name, module: name.startsWith("(") && name !== "(anonymous)" ? name : "native" };
    if (!url.startsWith("file:")) return { name, module: url };
    const entry = mapOf(url)?.findEntry(lineNumber, columnNumber);
    if (entry?.originalSource === undefined) return { name, module: shortPath(url), line: lineNumber + 1 };
    const source = resolve(dirname(fileURLToPath(url)), entry.originalSource);
    return { name, module: shortPath(source), line: entry.originalLine + 1 };
  };
}

function readMap(url) {
  try {
    return new SourceMap(JSON.parse(readFileSync(`${fileURLToPath(url)}.map`, "utf8")));
  } catch {
    return undefined;
  }
}

function shortPath(path) {
  const npm = /.*node_modules\/((?:@[^/]+\/)?[^/.][^/]*)\//.exec(path);
  if (npm !== null) return `npm:${npm[1]}`;
  return /(?:^|\/)((?:src|bench|dist)\/.*)$/.exec(path)?.[1] ?? path;
}

/** `src/apiserver/respond.ts` → `src/apiserver`; modules of Node by their first two words. */
export function folderOf(module) {
  if (module.startsWith("src/")) return module.slice(0, module.lastIndexOf("/"));
  if (module.startsWith("node:")) return module.split("/").slice(0, 2).join("/");
  return module;
}

const ours = (module) => module.startsWith("src/");

/**
 * Sums a profile up, in milliseconds: `self` by function, `inclusive` by our functions, `folders` and `modules` by self time, and
 * `charged`: each sample goes to the innermost frame of ours on the stack, so that Node's work counts for who asked for it.
 * Samples are taken by the clock; `ran` is the share of the time in which the thread had a processor when it wanted one.
 */
export function summarize(profile, ran) {
  const names = frameNames();
  const nodes = new Map();
  for (const node of profile.nodes) nodes.set(node.id, { ...names(node.callFrame), id: node.id, self: 0 });
  for (const node of profile.nodes)
    for (const child of node.children ?? []) nodes.get(child).parent = nodes.get(node.id);
  profile.samples.forEach((id, at) => {
    nodes.get(id).self += ((profile.timeDeltas[at] ?? 0) / 1000) * ran;
  });
  const sums = {
    self: tally(),
    inclusive: tally(),
    folders: tally(),
    modules: tally(),
    charged: tally(),
    chargedFolders: tally(),
  };
  let busyMs = 0;
  for (const node of nodes.values()) {
    if (node.module === "(idle)") continue;
    busyMs += node.self;
    if (node.self > 0) addNode(sums, node);
  }
  const sorted = Object.fromEntries(Object.entries(sums).map(([name, sum]) => [name, sum.sorted()]));
  return { wallMs: (profile.endTime - profile.startTime) / 1000, busyMs, ...sorted };
}

function addNode(sums, node) {
  const key = frameKey(node);
  sums.self.add(key, node.self);
  sums.folders.add(folderOf(node.module), node.self);
  sums.modules.add(node.module, node.self);
  const seen = new Set();
  let owner;
  for (let frame = node; frame !== undefined; frame = frame.parent) {
    if (!ours(frame.module)) continue;
    owner ??= frame;
    const name = frameKey(frame);
    if (!seen.has(name)) sums.inclusive.add(name, node.self);
    seen.add(name);
  }
  sums.charged.add(owner?.module ?? `no frame of ours: ${rootOf(node)}`, node.self);
  sums.chargedFolders.add(owner === undefined ? "no frame of ours" : folderOf(owner.module), node.self);
}

/** The outermost frame that says what kind of work runs outside our code. */
function rootOf(node) {
  let last = node;
  for (let frame = node; frame.parent !== undefined && frame.module !== "(root)"; frame = frame.parent) {
    if (frame.module !== "(root)") last = frame;
  }
  return `${last.name} ${last.module}`;
}

function frameKey(frame) {
  if (frame.module === frame.name) return frame.name;
  return `${frame.name}  ${frame.module}${frame.line === undefined ? "" : `:${frame.line}`}`;
}

function tally() {
  const sums = new Map();
  return {
    add: (key, ms) => sums.set(key, (sums.get(key) ?? 0) + ms),
    sorted: () => [...sums].map(([key, ms]) => ({ key, ms })).sort((a, b) => b.ms - a.ms),
  };
}
