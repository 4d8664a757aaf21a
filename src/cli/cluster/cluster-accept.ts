import { getOrUndefined, ignoreReasons } from "../../client/api-errors.ts";
import type { Client } from "../../client/client.ts";
import { csrView, hasCondition, withCondition } from "../../controllers/certificates/csr-view.ts";
import { leaseKey } from "../../controllers/clusters/managed-cluster-grant.ts";
import { conditionOf } from "../../controllers/clusters/managed-cluster-policy.ts";
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
import type { Lease } from "../../apis/lease.ts";
import { eachCluster, type NamedCluster } from "./cluster-access.ts";
import {
  type Chosen,
  type ClusterPlan,
  planOf,
  type AgentRequest,
  deniedRequests,
  hasJoined,
  lookAtCluster,
  openRequests,
} from "./cluster-review.ts";
import { CliError, usageError } from "../cli-error.ts";
import type { Run } from "../command.ts";
import { type Looked, waitFor } from "../wait-for.ts";

/**
 * Approves the certificate of the agent, accepts the cluster, and waits until its agent has joined. A half that the caller has no right
 * to is left to another approver, and reported.
 */
export const clusterAccept: Run = async (args, io) => {
  const chosen = { agentId: args.text("agent-id"), request: args.text("request") };
  if (args.operands.length > 1 && (chosen.agentId ?? chosen.request) !== undefined) {
    throw usageError("--agent-id and --request are those of one cluster: name one");
  }
  return eachCluster(args, io, (one) => acceptOne(one, chosen));
};

type Going = Extract<ClusterPlan, { kind: "go" }>;

/** A half of the decision that the caller has no right to, and the role that has it. */
interface Half {
  readonly why: string;
  readonly left: string;
}

/** The decision about the cluster whose agent is awaited. */
interface Decided {
  readonly plan: Going;
  readonly lacking: readonly Half[];
  /** The heartbeat before the decision; undefined where there was none or it may not be read. */
  readonly before: string | undefined;
}

async function acceptOne(one: NamedCluster, chosen: Chosen): Promise<void> {
  const { io, args, name, note } = one;
  const timeoutMs = args.on("wait") ? (args.number("timeout") ?? 0) : 0;
  const until = io.clock.now() + timeoutMs;
  const decided = await waitFor({
    io,
    timeoutMs,
    about: name,
    hints: [`On the spoke: pratique cluster join --bootstrap-kubeconfig FILE --cluster-name ${name}`],
    look: () => decide(one, chosen),
  });
  const [first, second] = decided.lacking;
  if (first !== undefined && second !== undefined) {
    throw new CliError("refused", `${name}: you may do neither half of letting it in`, [first.why, second.why]);
  }
  if (args.on("wait")) {
    if (first !== undefined) note(first.left);
    await awaitArrival(decided, one, Math.max(until - io.clock.now(), 0));
  } else if (first !== undefined) {
    throw new CliError("refused", `${name}: your half is done, the other is ${first.left}`);
  }
}

async function decide(one: NamedCluster, chosen: Chosen): Promise<Looked<Decided>> {
  const { client, io, name, note } = one;
  const plan = planOf(await lookAtCluster(client, name), chosen, io.clock.now());
  switch (plan.kind) {
    case "wait":
      return { missing: plan.missing };
    case "gone":
      throw new CliError("conflict", `${name} is being deleted`);
    case "refuse":
      throw refusal(name, plan);
    case "denied":
      throw deniedBefore(name, plan);
    case "go": {
      const before = await heartbeatOf(client, name);
      for (const warning of plan.warnings) note(`warning: ${warning}`);
      const lacking = await decideBoth(plan, one);
      return lacking === undefined ? { missing: "it to stay as it is" } : { found: { plan, lacking, before } };
    }
  }
}

/** The halves that failed for a missing right; undefined where the cluster changed meanwhile and must be read again. */
async function decideBoth(plan: Going, one: NamedCluster): Promise<readonly Half[] | undefined> {
  const again = `pratique cluster accept ${one.name}`;
  const agent = plan.approve === undefined ? "" : ` --agent-id ${shellWord(plan.approve.agent)}`;
  const lacking: Half[] = [];
  for (const [act, who] of [
    [approve, `approve certificates (role open-cluster-management:approver): ${again}${agent}`],
    [admit, `accept the cluster (role open-cluster-management:accepter): ${again}`],
  ] as const) {
    try {
      await act(plan, one);
    } catch (error) {
      if (!(error instanceof StatusError)) throw error;
      if (error.reason === "Conflict") return undefined;
      if (error.code !== 403) throw error;
      lacking.push({ why: error.message, left: `left to a user who may ${who}` });
    }
  }
  return lacking;
}

async function approve({ approve: open, approved }: Going, { client, did }: NamedCluster): Promise<void> {
  if (open === undefined) {
    const seen = approved && `csr/${approved.name} of agent ${approved.agent} is approved already`;
    return did(seen ?? "no certificate request was looked at");
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
  const isDenied = Object.hasOwn(annotations, denialReasonAnnotation);
  const metadata = { uid, ...(isDenied ? { annotations: { [denialReasonAnnotation]: null } } : {}) };
  await client.patch(managedClusters, { name }, { metadata, spec: { hubAcceptsClient: true } });
  did("accepted");
}

function refusal(name: string, { why, choice }: Extract<ClusterPlan, { kind: "refuse" }>): CliError {
  const keysOfAgents = new Set(choice.map(({ agent, fingerprint }) => `${agent} ${fingerprint}`));
  const isIdEnough = new Set(choice.map(({ agent }) => agent)).size === keysOfAgents.size;
  return new CliError("conflict", `${name} needs care, and nothing was done: ${why.join("; ")}`, [
    ...choice.map(
      (one) =>
        `  agent id ${JSON.stringify(one.agent)}  csr/${one.name}  key ${one.fingerprint}  asked by ${JSON.stringify(one.requester.username)} at ${one.created}`,
    ),
    `Compare with what the agent itself shows, then name it: pratique cluster accept ${name} ${isIdEnough ? "--agent-id ID" : "--request CSR, after comparing the key as well"}`,
    `Turn all of them away: pratique cluster deny ${name}`,
  ]);
}

function deniedBefore(name: string, { requests }: Extract<ClusterPlan, { kind: "denied" }>): CliError {
  const rows = requests.map(
    (one) => `csr/${one.name} of agent ${JSON.stringify(one.agent)} with key ${one.fingerprint} was denied`,
  );
  const state = `${name} is not accepted, and nothing was done: ${rows.join("; ")}`;
  return new CliError(
    "conflict",
    `${state}. A denied request cannot be approved; the agent makes a new one when this one is deleted`,
    [
      `Delete it: kubectl delete csr ${requests.map((one) => shellWord(one.name)).join(" ")}`,
      `Then accept the new request of the agent: pratique cluster accept ${name} --agent-id ${shellWord(requests[0].agent)}`,
    ],
  );
}

async function heartbeatOf(client: Client, cluster: string): Promise<string | undefined> {
  const lease = await ignoreReasons(client.get<Lease>(leases, leaseKey(cluster)), "Forbidden", "NotFound");
  return lease?.spec?.renewTime;
}

/**
 * Waits until the agent has joined and reported it. For one that joined before, the heartbeat counts. @throws CliError refused where
 * another approver did not decide in time, timedOut, conflict, interrupted; StatusError
 */
async function awaitArrival(decided: Decided, one: NamedCluster, timeoutMs: number): Promise<void> {
  const { io, name, did } = one;
  const hints = [
    "What was decided stays decided. Look again: pratique cluster list",
    `Or wait again: pratique cluster accept ${name}`,
  ];
  try {
    const cluster = await waitFor({ io, timeoutMs, about: name, hints, look: () => arrived(decided, one) });
    did(arrivedText(decided, cluster));
  } catch (error) {
    const [half] = decided.lacking;
    if (half === undefined || !(error instanceof CliError) || error.code !== "timedOut") throw error;
    throw new CliError("refused", `${error.message}; your half is done, the other is ${half.left}`);
  }
}

async function arrived(decided: Decided, { client, name }: NamedCluster): Promise<Looked<ManagedCluster>> {
  const cluster = await client.get<ManagedCluster>(managedClusters, { name });
  const { uid, deletionTimestamp } = cluster.metadata;
  if (uid !== decided.plan.cluster.metadata.uid || deletionTimestamp !== undefined) {
    throw new CliError("conflict", `${name} was deleted meanwhile`);
  }
  const missing =
    (await missingCertificate(requestIn(decided)?.name, client)) ??
    missingAdmission(cluster) ??
    (await missingAgent(decided, cluster, client));
  return missing === undefined ? { found: cluster } : { missing };
}

/** The approved request, where one was read. */
function requestIn({ plan }: Decided): Pick<AgentRequest, "name" | "agent"> | undefined {
  return plan.approve ?? plan.approved;
}

async function missingCertificate(name: string | undefined, client: Client): Promise<string | undefined> {
  if (name === undefined) return undefined;
  // Completed requests are deleted.
  const request = getOrUndefined(client, certificateSigningRequests, { name });
  const object = await ignoreReasons(request, "Forbidden");
  if (object === undefined) return undefined;
  const view = csrView(object);
  const ended = view.conditions.find(({ type }) => type === "Denied" || type === "Failed");
  if (ended !== undefined) throw new CliError("conflict", `csr/${name} came to be ${ended.type}: ${ended.message}`);
  if (view.certificate !== "") return undefined;
  return `csr/${name} to be ${hasCondition(view, "Approved") ? "signed" : "approved by a user with that right"}`;
}

function missingAdmission(cluster: ManagedCluster): string | undefined {
  if (!isAccepted(cluster)) return "it to be accepted by a user with that right";
  const { status, reason, message } = conditionOf(cluster, clusterCondition.accepted) ?? {};
  if (status === "True") return undefined;
  return `the hub to make its namespace and rights${reason === "Error" ? `, which failed: ${message}` : ""}`;
}

async function missingAgent(decided: Decided, cluster: ManagedCluster, client: Client): Promise<string | undefined> {
  const { name = "" } = cluster.metadata;
  const { plan, before } = decided;
  if (!hasJoined(plan.cluster)) {
    return hasJoined(cluster) ? undefined : `${agentText(decided)} to come in with its certificate`;
  }
  if (before === undefined || (await heartbeatOf(client, name)) !== before) return undefined;
  return `a heartbeat of ${agentText(decided)}${await othersAsking(name, requestIn(decided)?.agent, client)}`;
}

function agentText(decided: Decided): string {
  const request = requestIn(decided);
  return request === undefined ? "its agent" : `agent ${request.agent}`;
}

/** An agent whose certificate was revoked registers as another one, which needs its own approval. */
async function othersAsking(name: string, agent: string | undefined, client: Client): Promise<string> {
  const sight = await lookAtCluster(client, name);
  const isOther = (one: AgentRequest): boolean => one.agent !== agent;
  const others = openRequests(sight).filter(isOther);
  const ids = [...new Set(others.map((one) => shellWord(one.agent)))];
  if (ids.length > 0) {
    const which = ids.length === 1 ? `agent ${ids[0]} asks` : `agents ${ids.join(", ")} ask`;
    return `; ${which} in its name: if one is its agent with a new id, pratique cluster accept ${name} --agent-id ${ids.length === 1 ? ids[0] : "ID"}`;
  }
  const denied = deniedRequests(sight).filter(isOther);
  if (denied.length === 0) return "";
  const which = denied.map((one) => `csr/${one.name} of agent ${shellWord(one.agent)}`).join(", ");
  const names = denied.map((one) => shellWord(one.name)).join(" ");
  return `; ${which} was denied: if that is its agent with a new id, it creates a new request after kubectl delete csr ${names}`;
}

function arrivedText(decided: Decided, cluster: ManagedCluster): string {
  const who = agentText(decided);
  const wasIn = hasJoined(decided.plan.cluster);
  if (wasIn && decided.before === undefined) return `may come in again; whether ${who} has, you may not see`;
  const { status, message } = conditionOf(cluster, clusterCondition.available) ?? {};
  const why = message === undefined ? "" : ` (${message})`;
  const health = status === "True" ? "it is available" : `it is not available yet${why}`;
  return `${wasIn ? `${who} is heard again` : `joined: ${who} has come in`}, ${health}`;
}
