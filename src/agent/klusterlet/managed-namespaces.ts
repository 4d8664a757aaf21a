import { getOrUndefined } from "../../client/api-errors.ts";
import { createHash } from "node:crypto";
import type { Client, ResourceRef } from "../../client/client.ts";
import { rfc3339 } from "../../apimachinery/clock.ts";
import { dnsLabelProblems } from "../../apimachinery/names.ts";
import { setCondition } from "../../apimachinery/conditions.ts";
import { jsonEqual } from "../../apimachinery/equal.ts";
import type { ApiObject, Condition } from "../../apimachinery/object.ts";
import { managedClusters, type ManagedCluster } from "../../apis/managed-cluster.ts";
import { isAcceptedByHub } from "./lease-updater.ts";
import { whyWithheld } from "./cluster-status.ts";
import { describeError } from "../../credentials/request/connection-failure.ts";
import { recovered, repeatedly, type Serving } from "./serving-cluster.ts";

const namespaces: ResourceRef = { group: "", version: "v1", plural: "namespaces", kind: "Namespace", scope: "Cluster" };
const everyMs = 60_000;
/** Limits how many namespaces a hub can create on a cluster. */
const maxNamespaces = 500;

/** A namespace that a cluster set requires on each of its clusters. */
interface ManagedNamespace {
  readonly name: string;
  readonly clusterSet?: string;
  readonly conditions?: readonly Condition[];
}

/** The label of namespaces that a hub requires. */
export function managedNamespaceLabel(hubUrl: string): string {
  const digest = createHash("sha256").update(hubUrl).digest("hex").slice(0, 63);
  return `clusterset.open-cluster-management.io/${digest}`;
}

/**
 * Creates the namespaces that the hub requires on the spoke and reports which exist. One that is no longer required stays, with its label
 * set to false. Ends with its signal; a spoke without an API has no namespaces.
 */
export async function keepManagedNamespaces(serving: Serving): Promise<void> {
  const { spoke } = serving.options;
  if (spoke === undefined) return;
  await repeatedly(serving, { topic: "namespaces", failure: "managed namespaces", everyMs }, async (cluster) => {
    if (!isAcceptedByHub(cluster) || whyWithheld(cluster) !== undefined) return everyMs;
    await keepOnce(spoke, cluster, serving);
    recovered(serving.notes, "namespaces");
    return everyMs;
  });
}

async function keepOnce(spoke: Client, cluster: ManagedCluster, { session, options }: Serving): Promise<void> {
  const wanted = wantedOf(cluster);
  const label = managedNamespaceLabel(session.server);
  const now = rfc3339(options.clock.now());
  const next: ManagedNamespace[] = [];
  for (const one of wanted) {
    const condition = await madeOn(spoke, one.name, label);
    next.push({ ...one, conditions: setCondition(one.conditions ?? [], condition, now) });
  }
  const names = new Set(wanted.map(({ name }) => name));
  await turnOff(spoke, label, names);
  if (jsonEqual(next, wanted)) return;
  const { uid, resourceVersion, name = "" } = cluster.metadata;
  const patch = { metadata: { uid, resourceVersion }, status: { managedNamespaces: next } };
  await session.client.patch(managedClusters, { name }, patch, { subresource: "status" });
}

function wantedOf({ status }: ManagedCluster): readonly ManagedNamespace[] {
  const { managedNamespaces } = (status ?? {}) as { readonly managedNamespaces?: unknown };
  return Array.isArray(managedNamespaces) ? managedNamespaces.filter(isNamespace).slice(0, maxNamespaces) : [];
}

function isNamespace(value: unknown): value is ManagedNamespace {
  if (typeof value !== "object" || value === null || !("name" in value)) return false;
  return typeof value.name === "string" && dnsLabelProblems(value.name).length === 0;
}

async function madeOn(spoke: Client, name: string, label: string): Promise<Condition> {
  const type = "NamespaceAvailable";
  try {
    const found = await getOrUndefined(spoke, namespaces, { name });
    const labels = { [label]: "true" };
    if (found === undefined) await spoke.create(namespaces, namespaceObject(name, labels));
    else if (found.metadata.labels?.[label] !== "true")
      await spoke.patch(namespaces, { name }, { metadata: { labels } });
    return { type, status: "True", reason: "NamespaceAvailable", message: "Namespace is available" };
  } catch (error) {
    return { type, status: "False", reason: "NamespaceApplyFailed", message: describeError(error, "the cluster") };
  }
}

async function turnOff(spoke: Client, label: string, wanted: ReadonlySet<string>): Promise<void> {
  const { items } = await spoke.list(namespaces, { labelSelector: `${label}=true` });
  for (const { metadata } of items) {
    const { name = "" } = metadata;
    if (!wanted.has(name)) await spoke.patch(namespaces, { name }, { metadata: { labels: { [label]: "false" } } });
  }
}

function namespaceObject(name: string, labels: Readonly<Record<string, string>>): ApiObject {
  return { apiVersion: "v1", kind: "Namespace", metadata: { name, labels } };
}
