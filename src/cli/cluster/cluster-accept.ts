import type { Client } from "../../client/client.ts";
import { withCondition } from "../../controllers/certificates/csr-view.ts";
import { certificateSigningRequests } from "../../controllers/kinds.ts";
import { shellWord } from "../../apimachinery/shell-word.ts";
import { StatusError } from "../../apimachinery/status.ts";
import { denialReasonAnnotation, managedClusters, type ManagedCluster } from "../../apis/managed-cluster.ts";
import { awaitArrival, heartbeatOf } from "./cluster-arrival.ts";
import { clusterLines, eachCluster, withClusters } from "./cluster-access.ts";
import { planOf, type Chosen, type ClusterPlan } from "./cluster-plan.ts";
import { hasJoined, lookAtCluster, type AgentRequest } from "./cluster-review.ts";
import { CliError } from "../cli-error.ts";
import type { Args } from "../command.ts";
import type { ExitName } from "../exit-code.ts";
import type { Io } from "../io.ts";
import { waitFor } from "../wait-for.ts";

/**
 * Lets clusters in: approves the certificate of the agent that is meant, accepts the cluster, and waits until its agent has come in.
 * A half that somebody has no right to is left to others, and said so.
 */
export async function clusterAccept(args: Args, io: Io): Promise<ExitName> {
  const chosen = { agentId: args.text("agent-id"), request: args.text("request") };
  if (args.operands.length > 1 && (chosen.agentId ?? chosen.request) !== undefined) {
    throw new CliError("usage", "--agent-id and --request are those of one cluster: name one");
  }
  const timeoutMs = args.on("wait") ? (args.number("timeout") ?? 0) : 0;
  return withClusters(args, io, ({ client }) =>
    eachCluster(args.operands, io, (name) =>
      acceptOne({ client, io, name, chosen, timeoutMs, waits: args.on("wait") }),
    ),
  );
}

interface Accepting {
  readonly client: Client;
  readonly io: Io;
  readonly name: string;
  readonly chosen: Chosen;
  readonly timeoutMs: number;
  readonly waits: boolean;
}

/** @throws CliError, StatusError */
async function acceptOne(accepting: Accepting): Promise<void> {
  const { client, io, name, timeoutMs } = accepting;
  const { note } = clusterLines(io, name);
  const until = io.clock.now() + timeoutMs;
  const done = await waitFor({
    io,
    timeoutMs,
    about: name,
    hints: [`On the spoke: pratique cluster join --bootstrap-kubeconfig FILE --cluster-name ${name}`],
    look: async () => {
      const plan = planOf(await lookAtCluster(client, name), accepting.chosen, io.clock.now());
      if (plan.kind === "wait") return { missing: plan.missing };
      if (plan.kind === "gone") throw new CliError("conflict", `${name} is being deleted`);
      if (plan.kind === "refuse") throw refusal(name, plan);
      if (plan.kind === "denied") throw deniedBefore(name, plan);
      const before = await heartbeatOf(client, name);
      for (const warning of plan.warnings) note(`warning: ${warning}`);
      const halves = await decideBoth(plan, accepting);
      return halves === "changed meanwhile" ? { missing: "it to stay as it is" } : { found: { plan, halves, before } };
    },
  });
  const { approval, admission } = done.halves;
  if (approval.kind === "no right" && admission.kind === "no right") {
    throw new CliError("refused", `${name}: you may do neither half of letting it in`, [approval.why, admission.why]);
  }
  const left = [approval, admission].find((half) => half.kind === "no right");
  if (!accepting.waits) {
    if (left !== undefined) throw new CliError("refused", `${name}: your half is done, the other is ${left.left}`);
    return;
  }
  if (left !== undefined) note(left.left);
  await awaitArrival(
    {
      name,
      agent: (done.plan.approve ?? done.plan.approved)?.agent,
      uid: done.plan.cluster.metadata.uid,
      before: done.before,
      wasIn: hasJoined(done.plan.cluster),
      request: (done.plan.approve ?? done.plan.approved)?.name,
      left: left?.left,
    },
    { client, io, timeoutMs: Math.max(until - io.clock.now(), 0) },
  );
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

/** How one half went: with no right it is left to somebody else. */
type Half = { readonly kind: "done" } | { readonly kind: "no right"; readonly why: string; readonly left: string };

interface Halves {
  readonly approval: Half;
  readonly admission: Half;
}

async function decideBoth(plan: Going, accepting: Accepting): Promise<Halves | "changed meanwhile"> {
  const { client, io, name } = accepting;
  try {
    const approval = await half(
      () => approve(plan, client, io),
      `left to a user who may approve certificates (role open-cluster-management:approver): pratique cluster accept ${name}${plan.approve === undefined ? "" : ` --agent-id ${shellWord(plan.approve.agent)}`}`,
    );
    const admission = await half(
      () => admit(plan, client, io),
      `left to a user who may accept the cluster (role open-cluster-management:accepter): pratique cluster accept ${name}`,
    );
    return { approval, admission };
  } catch (error) {
    // Looked at anew: what was seen is what is decided on.
    if (error instanceof StatusError && error.reason === "Conflict") return "changed meanwhile";
    throw error;
  }
}

async function half(act: () => Promise<void>, left: string): Promise<Half> {
  try {
    await act();
    return { kind: "done" };
  } catch (error) {
    if (error instanceof StatusError && error.code === 403) return { kind: "no right", why: error.message, left };
    throw error;
  }
}

async function approve({ cluster, approve: open, approved }: Going, client: Client, io: Io): Promise<void> {
  const { did } = clusterLines(io, cluster.metadata.name ?? "");
  if (open === undefined) {
    const text =
      approved === undefined
        ? "no certificate request was looked at"
        : `csr/${approved.name} of agent ${approved.agent} is approved already`;
    did(text);
    return;
  }
  await client.update(certificateSigningRequests, withCondition(open.object, approval(open)), {
    subresource: "approval",
  });
  did(
    `csr/${open.name} approved, of agent ${open.agent} with key ${open.fingerprint}, asked for by ${open.requester.username}`,
  );
}

function approval({ agent }: AgentRequest): {
  readonly type: string;
  readonly status: "True";
  readonly reason: string;
  readonly message: string;
} {
  const message = `The certificate of agent ${agent} was approved by pratique cluster accept.`;
  return { type: "Approved", status: "True", reason: "PratiqueApprove", message };
}

async function admit({ cluster, accept }: Going, client: Client, io: Io): Promise<void> {
  const { name = "", uid, annotations = {} } = cluster.metadata;
  const { did } = clusterLines(io, name);
  if (!accept) {
    did("accepted already");
    return;
  }
  const metadata = {
    uid,
    ...(Object.hasOwn(annotations, denialReasonAnnotation) ? { annotations: { [denialReasonAnnotation]: null } } : {}),
  };
  await client.patch<ManagedCluster>(managedClusters, { name }, { metadata, spec: { hubAcceptsClient: true } });
  did("accepted");
}
