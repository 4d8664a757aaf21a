import { dnsSubdomainProblems } from "../../apimachinery/names.ts";
import { cidrContainsIp, maskedCidr, parseCidr, type Cidr } from "../../policy/kubernetes/cidr.ts";
import { formatIp, parseIp, type IpAddress } from "../../policy/kubernetes/ip-address.ts";
import { truncate } from "../../apimachinery/truncate.ts";

/** Which names and addresses belong to which node, as written by operators. */
export interface NodeInventory {
  /** The nodes with this name; each once. */
  readonly ownersOfName: ReadonlyMap<string, readonly string[]>;
  /** The nodes with this address, in its canonical text. */
  readonly ownersOfIp: ReadonlyMap<string, readonly string[]>;
  readonly networks: readonly { readonly node: string; readonly cidr: Cidr }[];
  /** The problem in the record of a node; the record then proves nothing for it. */
  readonly problems: ReadonlyMap<string, readonly string[]>;
}

/** The written record of one node: names, addresses and networks, separated by commas and line ends. */
interface InventoryRecord {
  readonly node: string;
  readonly entries: string;
}

/** An empty inventory. */
export const emptyInventory: NodeInventory = {
  ownersOfName: new Map(),
  ownersOfIp: new Map(),
  networks: [],
  problems: new Map(),
};

/**
 * Parses records strictly: lower-case DNS names without wildcards, addresses, and networks whose host bits are zero. Lines that begin
 * with `#` are comments. A node that is listed twice, or has one invalid entry, has a problem.
 */
function nodeInventory(records: readonly InventoryRecord[]): NodeInventory {
  const ownersOfName = new Map<string, readonly string[]>();
  const ownersOfIp = new Map<string, readonly string[]>();
  const networks: { readonly node: string; readonly cidr: Cidr }[] = [];
  const problems = new Map<string, readonly string[]>();
  const nodes = new Set<string>();
  const blame = (node: string, problem: string): void => {
    problems.set(node, [...(problems.get(node) ?? []), problem]);
  };
  for (const { node, entries } of records) {
    if (dnsSubdomainProblems(node).length > 0) blame(node, `${shown(node)} is not the name of a node`);
    if (nodes.has(node)) blame(node, "the node is listed twice");
    nodes.add(node);
    own(ownersOfName, node, node);
    for (const entry of entriesOf(entries)) {
      const read = readEntry(entry);
      if (typeof read === "string") blame(node, read);
      else if ("name" in read) own(ownersOfName, read.name, node);
      else if ("ip" in read) own(ownersOfIp, formatIp(read.ip), node);
      else networks.push({ node, cidr: read.cidr });
    }
  }
  return { ownersOfName, ownersOfIp, networks, problems };
}

/** The records of a ConfigMap: each key of `data` is the name of a node. */
export function inventoryOfConfigMap(data: Readonly<Record<string, string>> = {}): NodeInventory {
  return nodeInventory(Object.entries(data).map(([node, entries]) => ({ node, entries })));
}

/** The records of a CSV file: per line the name of a node and its entries, separated by commas, without quotes. */
export function inventoryOfCsv(text: string): NodeInventory {
  const records = text.split(/\r?\n/).flatMap((line) => {
    const plain = line.trim();
    if (plain === "" || plain.startsWith("#")) return [];
    const comma = plain.indexOf(",");
    return comma < 0
      ? [{ node: plain, entries: "" }]
      : [{ node: plain.slice(0, comma).trim(), entries: plain.slice(comma + 1) }];
  });
  return nodeInventory(records);
}

/** The nodes whose networks contain this address; each once. */
export function ownersByNetwork(inventory: NodeInventory, ip: IpAddress): readonly string[] {
  return [...new Set(inventory.networks.flatMap(({ node, cidr }) => (cidrContainsIp(cidr, ip) ? [node] : [])))];
}

/** The problem of a DNS name as a name of a node: wildcards, upper case, and names that look like addresses are invalid. */
export function hostNameProblem(name: string): string | undefined {
  if (dnsSubdomainProblems(name).length > 0) return "is not a DNS name in lower case without wildcard";
  const last = name.slice(name.lastIndexOf(".") + 1);
  return /^(?:\d+|0x[0-9a-f]*)$/.test(last) ? "ends in a number, as an address does" : undefined;
}

type Entry = { readonly name: string } | { readonly ip: IpAddress } | { readonly cidr: Cidr };

function readEntry(entry: string): Entry | string {
  if (entry.includes("/")) {
    const parsed = parseCidr(entry);
    if ("problem" in parsed) return `${shown(entry)} is not a network`;
    if (maskedCidr(parsed.cidr).ip.value !== parsed.cidr.ip.value)
      return `${shown(entry)} has bits set beyond its length`;
    return parsed;
  }
  const parsed = parseIp(entry);
  if ("ip" in parsed) return parsed;
  const problem = entry.includes(":") ? "is not an address" : hostNameProblem(entry);
  return problem === undefined ? { name: entry } : `${shown(entry)} ${problem}`;
}

function entriesOf(text: string): readonly string[] {
  return text
    .split(/\r?\n/)
    .filter((line) => !line.trimStart().startsWith("#"))
    .flatMap((line) => line.split(","))
    .map((entry) => entry.trim())
    .filter((entry) => entry !== "");
}

function own(owners: Map<string, readonly string[]>, what: string, node: string): void {
  const before = owners.get(what) ?? [];
  if (!before.includes(node)) owners.set(what, [...before, node]);
}

function shown(text: string): string {
  return JSON.stringify(truncate(text, 64));
}
