import { ignoreReasons } from "../../client/api-errors.ts";
import type { Client } from "../../client/client.ts";
import { csrView } from "../../controllers/certificates/csr-view.ts";
import { certificateSigningRequests, leases } from "../../controllers/kinds.ts";
import { conditionOf } from "../../controllers/clusters/managed-cluster-policy.ts";
import { leaseKey } from "../../controllers/clusters/managed-cluster-grant.ts";
import { shellWord } from "../../apimachinery/shell-word.ts";
import type { Lease } from "../../apis/lease.ts";
import { clusterCondition, isAccepted, managedClusters, type ManagedCluster } from "../../apis/managed-cluster.ts";
import { deniedRequests, hasJoined, lookAtCluster, openRequests, type AgentRequest } from "./cluster-review.ts";
import { clusterLines } from "./cluster-access.ts";
import { CliError } from "../cli-error.ts";
import type { Io } from "../io.ts";
import { waitFor, type Looked } from "../wait-for.ts";

/** When the agent of a cluster last wrote that it lives, as it wrote it; undefined where that may not be read or is not there. */
export async function heartbeatOf(client: Client, cluster: string): Promise<string | undefined> {
  const lease = await ignoreReasons(client.get<Lease>(leases, leaseKey(cluster)), "Forbidden", "NotFound");
  return lease?.spec?.renewTime;
}

/** Whose coming is waited for. */
export interface Expected {
  readonly name: string;
  readonly uid: string | undefined;
  readonly agent: string | undefined;
  /** The request that was approved, where one was seen. */
  readonly request: string | undefined;
  /** The heartbeat before the decision. */
  readonly before: string | undefined;
  /** Whether an agent had come in before the decision. */
  readonly wasIn: boolean;
  /** What is left to somebody else. */
  readonly left: string | undefined;
}

interface Waiting {
  readonly client: Client;
  readonly io: Io;
  readonly timeoutMs: number;
}

/**
 * Waits until the agent has come in and said so. One that joined before says nothing new, so that its heartbeat is looked at.
 * @throws CliError refused where what is left to others was not done in time, timedOut, conflict, interrupted; StatusError
 */
export async function awaitArrival(expected: Expected, { client, io, timeoutMs }: Waiting): Promise<void> {
  const { name, left } = expected;
  try {
    const cluster = await waitFor({
      io,
      timeoutMs,
      about: name,
      hints: [
        "What was decided stays decided. Look again: pratique cluster list",
        `Or wait again: pratique cluster accept ${name}`,
      ],
      look: () => arrived(expected, client),
    });
    clusterLines(io, name).did(arrivedText(expected, cluster));
  } catch (error) {
    if (left !== undefined && error instanceof CliError && error.code === "timedOut") {
      throw new CliError("refused", `${error.message}; your half is done, the other is ${left}`);
    }
    throw error;
  }
}

async function current(client: Client, { name, uid }: Expected): Promise<ManagedCluster> {
  const cluster = await client.get<ManagedCluster>(managedClusters, { name });
  if (cluster.metadata.uid === uid && cluster.metadata.deletionTimestamp === undefined) return cluster;
  throw new CliError("conflict", `${name} was deleted meanwhile`);
}

async function arrived(expected: Expected, client: Client): Promise<Looked<ManagedCluster>> {
  const cluster = await current(client, expected);
  const missing =
    (await missingCertificate(expected, client)) ??
    missingAdmission(cluster) ??
    (await missingAgent(expected, cluster, client));
  return missing === undefined ? { found: cluster } : { missing };
}

async function missingCertificate({ request }: Expected, client: Client): Promise<string | undefined> {
  if (request === undefined) return undefined;
  const object = await ignoreReasons(
    client.get(certificateSigningRequests, { name: request }),
    "Forbidden",
    "NotFound",
  );
  // Requests that are done with are cleared away.
  if (object === undefined) return undefined;
  const view = csrView(object);
  const ended = view.conditions.find(({ type }) => type === "Denied" || type === "Failed");
  if (ended !== undefined) {
    throw new CliError("conflict", `csr/${request} came to be ${ended.type}: ${ended.message}`);
  }
  if (view.certificate !== "") return undefined;
  const isApproved = view.conditions.some(({ type }) => type === "Approved");
  return isApproved ? `csr/${request} to be signed` : `csr/${request} to be approved by a user with that right`;
}

function missingAdmission(cluster: ManagedCluster): string | undefined {
  if (!isAccepted(cluster)) return "it to be accepted by a user with that right";
  const accepted = conditionOf(cluster, clusterCondition.accepted);
  if (accepted?.status === "True") return undefined;
  const why = accepted?.reason === "Error" ? `, which failed: ${accepted.message}` : "";
  return `the hub to make its namespace and rights${why}`;
}

async function missingAgent(
  { name, agent, before, wasIn }: Expected,
  cluster: ManagedCluster,
  client: Client,
): Promise<string | undefined> {
  const who = agent === undefined ? "its agent" : `agent ${agent}`;
  if (!wasIn) return hasJoined(cluster) ? undefined : `${who} to come in with its certificate`;
  if (before === undefined || (await heartbeatOf(client, name)) !== before) return undefined;
  return `a heartbeat of ${who}${await othersAsking(name, agent, client)}`;
}

/** An agent whose certificate was revoked asks as another one, which is approved for itself. */
async function othersAsking(name: string, agent: string | undefined, client: Client): Promise<string> {
  const sight = await lookAtCluster(client, name);
  const asking = openRequests(sight).filter((one) => one.agent !== agent);
  const ids = [...new Set(asking.map((one) => one.agent))].map((id) => shellWord(id));
  if (ids.length === 0) return deniedAgents(deniedRequests(sight).filter((one) => one.agent !== agent));
  const [id = "", ...others] = ids;
  const which = others.length === 0 ? `agent ${id} asks` : `agents ${ids.join(", ")} ask`;
  return `; ${which} in its name: if one is its agent with a new id, pratique cluster accept ${name} --agent-id ${others.length === 0 ? id : "ID"}`;
}

function deniedAgents(denied: readonly AgentRequest[]): string {
  if (denied.length === 0) return "";
  const which = denied.map((one) => `csr/${one.name} of agent ${shellWord(one.agent)}`).join(", ");
  const names = denied.map((one) => shellWord(one.name)).join(" ");
  return `; ${which} was denied: if that is its agent with a new id, it creates a new request after kubectl delete csr ${names}`;
}

function arrivedText({ agent, before, wasIn }: Expected, cluster: ManagedCluster): string {
  const who = agent === undefined ? "its agent" : `agent ${agent}`;
  const { status, message } = conditionOf(cluster, clusterCondition.available) ?? {};
  const health =
    status === "True" ? "it is available" : `it is not available yet${message === undefined ? "" : ` (${message})`}`;
  if (wasIn && before === undefined) return `may come in again; whether ${who} has, you may not see`;
  return `${wasIn ? `${who} is heard again` : `joined: ${who} has come in`}, ${health}`;
}
