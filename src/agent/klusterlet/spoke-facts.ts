import { ignoreReasons } from "../../client/api-errors.ts";
import type { Client, ResourceRef } from "../../client/client.ts";
import type { RemoteClient } from "../../client/remote.ts";
import type { ApiObject } from "../../apimachinery/object.ts";
import type { ClusterClaim, SpokeFacts } from "./cluster-status.ts";
import { parsedJson } from "../../client/replies.ts";
import { stringAt } from "../../apis/json-fields.ts";

const nodes: ResourceRef = { group: "", version: "v1", plural: "nodes", kind: "Node", scope: "Cluster" };
const claims: ResourceRef = {
  group: "cluster.open-cluster-management.io",
  version: "v1alpha1",
  plural: "clusterclaims",
  kind: "ClusterClaim",
  scope: "Cluster",
};
const spokeOnlyLabel = "open-cluster-management.io/spoke-only";
const reserved: readonly string[] = [
  "id.k8s.io",
  "kubeversion.open-cluster-management.io",
  "platform.open-cluster-management.io",
  "product.open-cluster-management.io",
];
const maxCustomClaims = 20;

/** The size of a node. */
export interface SizedNode extends ApiObject {
  readonly spec?: { readonly unschedulable?: boolean };
  readonly status?: {
    readonly capacity?: Readonly<Record<string, string>>;
    readonly allocatable?: Readonly<Record<string, string>>;
  };
}

/** The facts from a spoke's API. Those that the agent may not read are left out. @throws StatusError, ConnectionError */
export async function gatherFacts(spoke: RemoteClient): Promise<SpokeFacts> {
  const version = await kubernetesVersion(spoke);
  const found = await allOf<SizedNode>(spoke, nodes);
  const claimed = await allOf<ClaimObject>(spoke, claims);
  return { version, ...(found && nodeSums(found)), claims: claimed && selectedClaims(claimed) };
}

/** Capacity of all nodes, and allocatable of the schedulable ones. */
export function nodeSums(found: readonly SizedNode[]): {
  readonly capacity: Readonly<Record<string, string>>;
  readonly allocatable: Readonly<Record<string, string>>;
} {
  const ready = found.filter(({ spec }) => spec?.unschedulable !== true);
  return {
    capacity: sums(found.map(({ status }) => status?.capacity ?? {})),
    allocatable: sums(ready.map(({ status }) => status?.allocatable ?? {})),
  };
}

/** A claim on the spoke. */
export interface ClaimObject extends ApiObject {
  readonly spec?: { readonly value?: string };
}

/** The claims for the hub: reserved names first, then up to 20 others, each by name; those for the spoke alone are left out. */
export function selectedClaims(found: readonly ClaimObject[]): readonly ClusterClaim[] {
  const all = found
    .filter(({ metadata }) => !Object.hasOwn(metadata.labels ?? {}, spokeOnlyLabel))
    .map(({ metadata, spec }) => ({ name: metadata.name ?? "", value: (spec?.value ?? "").slice(0, 1024) }))
    .filter(({ name, value }) => name !== "" && name.length <= 253 && value !== "")
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const isReserved = ({ name }: ClusterClaim): boolean => reserved.includes(name);
  return [...all.filter(isReserved), ...all.filter((claim) => !isReserved(claim)).slice(0, maxCustomClaims)];
}

function sums(all: readonly Readonly<Record<string, string>>[]): Readonly<Record<string, string>> {
  const texts = new Map<string, string[]>();
  for (const quantities of all) {
    for (const [name, quantity] of Object.entries(quantities)) {
      texts.set(name, [...(texts.get(name) ?? []), quantity]);
    }
  }
  return Object.fromEntries([...texts].map(([name, each]) => [name, quantitySum(each)]));
}

async function kubernetesVersion(spoke: RemoteClient): Promise<string | undefined> {
  const { status, body } = await spoke.raw("GET", "/version");
  const version = status === 200 ? stringAt(parsedJson(body), "gitVersion") : "";
  return version === "" ? undefined : version;
}

/** All objects of a kind, or undefined where it is not served or may not be listed. */
async function allOf<T extends ApiObject>(client: Client, resource: ResourceRef): Promise<readonly T[] | undefined> {
  return (await ignoreReasons(client.list<T>(resource), "NotFound", "Forbidden"))?.items;
}

const binary: readonly string[] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
const decimal: Readonly<Record<string, number>> = { n: -9, u: -6, m: -3, "": 0, k: 3, M: 6, G: 9, T: 12, P: 15, E: 18 };
const nano = 1_000_000_000n;

interface Amount {
  /** In billionths. */
  readonly nanos: bigint;
  readonly isBinary: boolean;
}

/**
 * The sum of quantities as Kubernetes writes it: in the format of the first that is not zero, with the largest suffix that leaves a whole
 * number. An invalid quantity counts as zero. @see apimachinery api/resource Quantity
 */
export function quantitySum(texts: readonly string[]): string {
  const amounts = texts.flatMap((text) => {
    const amount = amountOf(text);
    return amount === undefined ? [] : [amount];
  });
  const nanos = amounts.reduce((sum, amount) => sum + amount.nanos, 0n);
  const isBinary = amounts.find((amount) => amount.nanos !== 0n)?.isBinary ?? false;
  return isBinary && nanos % nano === 0n ? inBinary(nanos / nano) : inDecimal(nanos);
}

function amountOf(text: string): Amount | undefined {
  const parts = /^(\d{1,30})(?:\.(\d{0,30}))?(Ki|Mi|Gi|Ti|Pi|Ei|[numkMGTPE]|[eE][+-]?\d{1,2})?$/.exec(text);
  if (parts === null) return undefined;
  const [, whole = "", fraction = "", suffix = ""] = parts;
  const digits = BigInt(`${whole}${fraction}`);
  const power = binary.indexOf(suffix);
  const scaled = power > 0 ? digits * 1024n ** BigInt(power) * nano : digits * nano;
  const exponent = (power > 0 ? 0 : (decimal[suffix] ?? Number(suffix.slice(1)))) - fraction.length;
  const nanos = exponent >= 0 ? scaled * 10n ** BigInt(exponent) : roundedUp(scaled, 10n ** BigInt(-exponent));
  return { nanos, isBinary: power > 0 };
}

function roundedUp(value: bigint, divisor: bigint): bigint {
  return (value + divisor - 1n) / divisor;
}

function inBinary(value: bigint): string {
  let power = 0;
  let rest = value;
  while (rest !== 0n && rest % 1024n === 0n && power < binary.length - 1) {
    rest /= 1024n;
    power += 1;
  }
  return `${rest}${binary[power] ?? ""}`;
}

function inDecimal(nanos: bigint): string {
  const suffixes = Object.entries(decimal).toSorted(([, a], [, b]) => b - a);
  for (const [suffix, exponent] of suffixes) {
    const unit = 10n ** BigInt(exponent + 9);
    if (nanos % unit === 0n && (nanos !== 0n || suffix === "")) return `${nanos / unit}${suffix}`;
  }
  return `${nanos}n`;
}
