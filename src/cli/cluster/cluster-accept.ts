import { csrView, hasCondition, withCondition } from "../../controllers/certificates/csr-view.ts";
import { certificateSigningRequests, leases } from "../../controllers/kinds.ts";
import { shellWord } from "../../apimachinery/shell-word.ts";
import { StatusError } from "../../apimachinery/status.ts";
import {
  clusterCondition,
  denialReasonAnnotation,
  isAccepted,
  type ManagedCluster,
  managedClusters,
} from "../../apis/managed-cluster.ts";
import { eachCluster, type NamedCluster } from "./cluster-access.ts";
import { type Chosen, type ClusterPlan, planOf } from "./cluster-plan.ts";
import { type AgentRequest, deniedRequests, hasJoined, lookAtCluster, openRequests } from "./cluster-review.ts";
import { CliError, usageError } from "../cli-error.ts";
import type { Run } from "../command.ts";
import { type Looked, waitFor } from "../wait-for.ts";
import { ignoreReasons } from "../../client/api-errors.ts";
import type { Client } from "../../client/client.ts";
import { conditionOf } from "../../controllers/clusters/managed-cluster-policy.ts";
import { leaseKey } from "../../controllers/clusters/managed-cluster-grant.ts";
import type { Lease } from "../../apis/lease.ts";

/**
 * Lets clusters in: approves the certificate of the agent that is meant, accepts the cluster, and waits until its agent has come in.
 * A half that somebody has no right to is left to others, and said so.
 */
export const clusterAccept: Run = async (args, io) => {
  const chosen = { agentId: args.text("agent-id"), request: args.text("request") };
  if (args.operands.length > 1 && (chosen.agentId ?? chosen.request) !== undefined) {
    throw usageError("--agent-id and --request are those of one cluster: name one");
  }
  return eachCluster(args, io, (one) => acceptOne(one, chosen));
};

async function acceptOne(one: NamedCluster, chosen: Chosen): Promise<void> {
  const { client, io, args, name, note } = one;
  const timeoutMs = args.on("wait") ? (args.number("timeout") ?? 0) : 0;
  const until = io.clock.now() + timeoutMs;
  const { plan, lacking, before } = await waitFor({
    io,
    timeoutMs,
    about: name,
    hints: [`On the spoke: pratique cluster join --bootstrap-kubeconfig FILE --cluster-name ${name}`],
    look: async () => {
      const seen = planOf(await lookAtCluster(client, name), chosen, io.clock.now());
      if (seen.kind === "wait") return { missing: seen.missing };
      if (seen.kind === "gone") throw new CliError("conflict", `${name} is being deleted`);
      if (seen.kind === "refuse") throw refusal(name, seen);
      if (seen.kind === "denied") throw deniedBefore(name, seen);
      const heartbeat = await heartbeatOf(client, name);
      for (const warning of seen.warnings) note(`warning: ${warning}`);
      const rights = await decideBoth(seen, one);
      return rights === undefined
        ? { missing: "it to stay as it is" }
        : { found: { plan: seen, lacking: rights, before: heartbeat } };
    },
  });
  const [first, second] = lacking;
  if (first !== undefined && second !== undefined) {
    throw new CliError("refused", `${name}: you may do neither half of letting it in`, [first.why, second.why]);
  }
  const left = first?.left;
  if (!args.on("wait")) {
    if (left !== undefined) throw new CliError("refused", `${name}: your half is done, the other is ${left}`);
    return;
  }
  if (left !== undefined) note(left);
  const decided = { cluster: plan.cluster, request: plan.approve ?? plan.approved, before, left };
  await awaitArrival(decided, one, Math.max(until - io.clock.now(), 0));
}

type Going = Extract<ClusterPlan, { kind: "go" }>;

function refusal(name: string, { why, choice }: Extract<ClusterPlan, { kind: "refuse" }>): CliError {
  const rows = choice.map(
    (one) =>
      `  agent id ${JSON.stringify(one.agent)}  csr/${one.name}  key ${one.fingerprint}  asked by ${JSON.stringify(one.requester.username)} at ${one.created}`,
  );
  const keys = new Map(choice.map(({ agent, fingerprint }) => [`${agent} ${fingerprint}`, agent]));
  const isIdEnough = new Set(keys.values()).size === keys.size;
  const how = isIdEnough ? "--agent-id ID" : "--request CSR, after comparing the key as well";
  return new CliError("conflict", `${name} needs care, and nothing was done: ${why.join("; ")}`, [
    ...rows,
    `Compare with what the agent itself shows, then name it: pratique cluster accept ${name} ${how}`,
    `Turn all of them away: pratique cluster deny ${name}`,
  ]);
}

function deniedBefore(name: string, { requests }: Extract<ClusterPlan, { kind: "denied" }>): CliError {
  const [{ agent }] = requests;
  const rows = requests.map(
    (one) => `csr/${one.name} of agent ${JSON.stringify(one.agent)} with key ${one.fingerprint} was denied`,
  );
  return new CliError(
    "conflict",
    `${name} is not accepted, and nothing was done: ${rows.join("; ")}. A denied request cannot be approved; the agent makes a new one when this one is deleted`,
    [
      `Delete it: kubectl delete csr ${requests.map((one) => shellWord(one.name)).join(" ")}`,
      `Then accept the new request of the agent: pratique cluster accept ${name} --agent-id ${shellWord(agent)}`,
    ],
  );
}

/** A half that somebody has no right to, which is left to others. */
interface Lacking {
  readonly why: string;
  readonly left: string;
}

/** The halves that were not done for want of a right; undefined where something changed meanwhile, so that it is looked at anew. */
async function decideBoth(plan: Going, one: NamedCluster): Promise<readonly Lacking[] | undefined> {
  const again = `pratique cluster accept ${one.name}`;
  const agent = plan.approve === undefined ? "" : ` --agent-id ${shellWord(plan.approve.agent)}`;
  try {
    const approval = await half(
      approve(plan, one),
      `left to a user who may approve certificates (role open-cluster-management:approver): ${again}${agent}`,
    );
    const admission = await half(
      admit(plan, one),
      `left to a user who may accept the cluster (role open-cluster-management:accepter): ${again}`,
    );
    return [approval, admission].filter((lacking) => lacking !== undefined);
  } catch (error) {
    if (error instanceof StatusError && error.reason === "Conflict") return undefined;
    throw error;
  }
}

async function half(done: Promise<void>, left: string): Promise<Lacking | undefined> {
  try {
    await done;
    return undefined;
  } catch (error) {
    if (error instanceof StatusError && error.code === 403) return { why: error.message, left };
    throw error;
  }
}

async function approve({ approve: open, approved }: Going, { client, did }: NamedCluster): Promise<void> {
  if (open === undefined) {
    return did(
      approved === undefined
        ? "no certificate request was looked at"
        : `csr/${approved.name} of agent ${approved.agent} is approved already`,
    );
  }
  const { object, name, agent, fingerprint, requester } = open;
  const message = `The certificate of agent ${agent} was approved by pratique cluster accept.`;
  const condition = { type: "Approved", status: "True", reason: "PratiqueApprove", message } as const;
  await client.update(certificateSigningRequests, withCondition(object, condition), { subresource: "approval" });
  did(`csr/${name} approved, of agent ${agent} with key ${fingerprint}, asked for by ${requester.username}`);
}

async function admit({ cluster, accept }: Going, { client, name, did }: NamedCluster): Promise<void> {
  if (!accept) return did("accepted already");
  const { uid, annotations = {} } = cluster.metadata;
  const metadata = {
    uid,
    ...(Object.hasOwn(annotations, denialReasonAnnotation) ? { annotations: { [denialReasonAnnotation]: null } } : {}),
  };
  await client.patch(managedClusters, { name }, { metadata, spec: { hubAcceptsClient: true } });
  did("accepted");
}

/** When the agent of a cluster last wrote that it lives, as it wrote it; undefined where that may not be read or is not there. */
async function heartbeatOf(client: Client, cluster: string): Promise<string | undefined> {
  const lease = await ignoreReasons(client.get<Lease>(leases, leaseKey(cluster)), "Forbidden", "NotFound");
  return lease?.spec?.renewTime;
}

/** What was decided about the cluster whose agent is waited for. */
interface Decided {
  readonly cluster: ManagedCluster;
  /** The request that was approved, where one was seen. */
  readonly request: Pick<AgentRequest, "name" | "agent"> | undefined;
  /** The heartbeat before the decision. */
  readonly before: string | undefined;
  /** What is left to somebody else. */
  readonly left: string | undefined;
}

/**
 * Waits until the agent has come in and said so. One that joined before says nothing new, so that its heartbeat is looked at.
 * @throws CliError refused where what is left to others was not done in time, timedOut, conflict, interrupted; StatusError
 */
async function awaitArrival(decided: Decided, one: NamedCluster, timeoutMs: number): Promise<void> {
  const { io, name, did } = one;
  try {
    const cluster = await waitFor({
      io,
      timeoutMs,
      about: name,
      hints: [
        "What was decided stays decided. Look again: pratique cluster list",
        `Or wait again: pratique cluster accept ${name}`,
      ],
      look: () => arrived(decided, one),
    });
    did(arrivedText(decided, cluster));
  } catch (error) {
    if (decided.left === undefined || !(error instanceof CliError) || error.code !== "timedOut") throw error;
    throw new CliError("refused", `${error.message}; your half is done, the other is ${decided.left}`);
  }
}

async function arrived(decided: Decided, { client, name }: NamedCluster): Promise<Looked<ManagedCluster>> {
  const cluster = await client.get<ManagedCluster>(managedClusters, { name });
  const { uid, deletionTimestamp } = cluster.metadata;
  if (uid !== decided.cluster.metadata.uid || deletionTimestamp !== undefined) {
    throw new CliError("conflict", `${name} was deleted meanwhile`);
  }
  const missing =
    (await missingCertificate(decided.request?.name, client)) ??
    missingAdmission(cluster) ??
    (await missingAgent(decided, cluster, client));
  return missing === undefined ? { found: cluster } : { missing };
}

async function missingCertificate(name: string | undefined, client: Client): Promise<string | undefined> {
  if (name === undefined) return undefined;
  const object = await ignoreReasons(client.get(certificateSigningRequests, { name }), "Forbidden", "NotFound");
  // Requests that are done with are cleared away.
  if (object === undefined) return undefined;
  const view = csrView(object);
  const ended = view.conditions.find(({ type }) => type === "Denied" || type === "Failed");
  if (ended !== undefined) throw new CliError("conflict", `csr/${name} came to be ${ended.type}: ${ended.message}`);
  if (view.certificate !== "") return undefined;
  return hasCondition(view, "Approved")
    ? `csr/${name} to be signed`
    : `csr/${name} to be approved by a user with that right`;
}

function missingAdmission(cluster: ManagedCluster): string | undefined {
  if (!isAccepted(cluster)) return "it to be accepted by a user with that right";
  const accepted = conditionOf(cluster, clusterCondition.accepted);
  if (accepted?.status === "True") return undefined;
  const why = accepted?.reason === "Error" ? `, which failed: ${accepted.message}` : "";
  return `the hub to make its namespace and rights${why}`;
}

async function missingAgent(
  { cluster: decidedOn, request, before }: Decided,
  cluster: ManagedCluster,
  client: Client,
): Promise<string | undefined> {
  const { name = "" } = cluster.metadata;
  if (!hasJoined(decidedOn))
    return hasJoined(cluster) ? undefined : `${agentText(request)} to come in with its certificate`;
  if (before === undefined || (await heartbeatOf(client, name)) !== before) return undefined;
  return `a heartbeat of ${agentText(request)}${await othersAsking(name, request?.agent, client)}`;
}

function agentText(request: Decided["request"]): string {
  return request === undefined ? "its agent" : `agent ${request.agent}`;
}

/** An agent whose certificate was revoked asks as another one, which is approved for itself. */
async function othersAsking(name: string, agent: string | undefined, client: Client): Promise<string> {
  const sight = await lookAtCluster(client, name);
  const isOther = (one: AgentRequest): boolean => one.agent !== agent;
  const ids = [
    ...new Set(
      openRequests(sight)
        .filter(isOther)
        .map((one) => one.agent),
    ),
  ].map((id) => shellWord(id));
  if (ids.length === 0) return deniedAgents(deniedRequests(sight).filter(isOther));
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

function arrivedText({ cluster: decidedOn, request, before }: Decided, cluster: ManagedCluster): string {
  const who = agentText(request);
  const wasIn = hasJoined(decidedOn);
  if (wasIn && before === undefined) return `may come in again; whether ${who} has, you may not see`;
  const { status, message } = conditionOf(cluster, clusterCondition.available) ?? {};
  const health =
    status === "True" ? "it is available" : `it is not available yet${message === undefined ? "" : ` (${message})`}`;
  return `${wasIn ? `${who} is heard again` : `joined: ${who} has come in`}, ${health}`;
}
