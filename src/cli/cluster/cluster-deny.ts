import { getOrUndefined, ignoreReasons } from "../../client/api-errors.ts";
import { agentsOn, conditionOf } from "../../controllers/clusters/managed-cluster-policy.ts";
import { withCondition } from "../../controllers/certificates/csr-view.ts";
import { certificateSigningRequests } from "../../controllers/kinds.ts";
import { rfc3339 } from "../../apimachinery/clock.ts";
import { StatusError } from "../../apimachinery/status.ts";
import { credentialRevocations } from "../../apis/credential-revocation.ts";
import {
  agentUser,
  clusterCondition,
  denialReasonAnnotation,
  isAccepted,
  managedClusters,
  type ManagedCluster,
} from "../../apis/managed-cluster.ts";
import { eachCluster, type NamedCluster } from "./cluster-access.ts";
import { lookAtCluster, openRequests, type AgentRequest } from "./cluster-review.ts";
import { CliError } from "../cli-error.ts";
import type { Run } from "../command.ts";
import { waitFor } from "../wait-for.ts";

/** Denies clusters: pending requests are denied, acceptance is withdrawn, and the command waits for the hub's controller. */
export const clusterDeny: Run = async (args, io) => {
  return eachCluster(args, io, denyOne);
};

async function denyOne(one: NamedCluster): Promise<void> {
  const { client, name, note, did } = one;
  const sight = await lookAtCluster(client, name);
  if (sight.cluster === undefined && openRequests(sight).length === 0) {
    throw new CliError("notFound", `there is no managed cluster ${name}, and no request in its name`);
  }
  const refused: StatusError[] = [];
  // Acceptance first: it grants the rights.
  const wasAccepted = await unlessRefused(refused, denyAcceptance(sight.cluster, one));
  for (const request of openRequests(sight)) await unlessRefused(refused, denyRequest(request, one));
  if (sight.requests === undefined) note("its certificate requests may not be listed, and were left as they are");
  if (wasAccepted === true) await awaitDenial(sight.cluster, one);
  const [first] = refused;
  if (first !== undefined) throw first;
  if (sight.cluster === undefined || wasAccepted === true) return;
  did(`not accepted, as before; to have it gone: pratique cluster detach ${name}`);
}

/** The result; a missing right for one half does not stop the other. */
async function unlessRefused<T>(refused: StatusError[], done: Promise<T>): Promise<T | undefined> {
  try {
    return await done;
  } catch (error) {
    if (!(error instanceof StatusError) || error.code !== 403) throw error;
    refused.push(error);
    return undefined;
  }
}

/** Whether it was accepted, or its denial is still in progress. */
async function denyAcceptance(
  cluster: ManagedCluster | undefined,
  { client, name, args, did }: NamedCluster,
): Promise<boolean> {
  if (cluster === undefined) return false;
  const reason = args.text("reason");
  const isStillAccepted = isAccepted(cluster);
  // A cluster that was accepted has a condition; of any other, nothing else is stored once its request is deleted.
  const isRecorded = isStillAccepted || cluster.metadata.annotations?.[denialReasonAnnotation] !== undefined;
  const because = reason ?? (isRecorded ? undefined : defaultReason);
  if (isStillAccepted || because !== undefined)
    await client.patch(managedClusters, { name }, denialOf(cluster, because));
  if (!isStillAccepted) return conditionOf(cluster, clusterCondition.accepted)?.status === "True";
  did("denied");
  return true;
}

const defaultReason = "This cluster was denied by pratique cluster deny.";

async function denyRequest({ object, name: csr, agent }: AgentRequest, one: NamedCluster): Promise<void> {
  const { client, name, args, did } = one;
  const message = args.text("reason") ?? defaultReason;
  const condition = { type: "Denied", status: "True", reason: "PratiqueDeny", message } as const;
  try {
    await client.update(certificateSigningRequests, withCondition(object, condition), { subresource: "approval" });
    did(`csr/${csr} denied, of agent ${agent}`);
  } catch (error) {
    if (!(error instanceof StatusError) || (error.code !== 404 && error.code !== 409)) throw error;
    throw new CliError("conflict", `${name}: csr/${csr} was decided or changed meanwhile; give the command again`);
  }
}

async function awaitDenial(cluster: ManagedCluster | undefined, one: NamedCluster): Promise<void> {
  const { client, io, name, args, did } = one;
  await waitFor({
    io,
    timeoutMs: args.number("timeout") ?? 0,
    about: name,
    hints: ["It is denied all the same, and nothing more is given to it. Is the hub's controller running?"],
    look: async () => {
      const now = await getOrUndefined<ManagedCluster>(client, managedClusters, { name });
      const is = now === undefined ? "False" : conditionOf(now, clusterCondition.accepted)?.status;
      return is === "False" ? { found: undefined } : { missing: "the hub to take its rights back" };
    },
  });
  did("its rights are gone");
  if (cluster !== undefined) for (const line of await certificates(cluster, one)) did(line);
}

function denialOf({ metadata: { uid } }: ManagedCluster, because: string | undefined) {
  const annotations = because === undefined ? {} : { annotations: { [denialReasonAnnotation]: because } };
  return { metadata: { uid, ...annotations }, spec: { hubAcceptsClient: false } };
}

/** The state of its agents' certificates; they are revoked where the hub has CredentialRevocations. */
async function certificates(cluster: ManagedCluster, { client, io, name }: NamedCluster): Promise<readonly string[]> {
  const live = [...agentsOn(cluster)].filter(([, end]) => end > io.clock.now());
  if (live.length === 0) return [];
  const revocations = await ignoreReasons(client.list(credentialRevocations), "Forbidden", "NotFound");
  const users = new Set(
    revocations?.items.map((item) => (item["spec"] as { readonly user?: string } | undefined)?.user),
  );
  return live.map(([agent, end]) => {
    const until = rfc3339(end);
    const consequence = users.has(agentUser({ cluster: name, agent }))
      ? "is revoked"
      : `has no rights left, and ends at ${until}${revocations === undefined ? "; whether it is revoked, you may not see" : ", as nothing is revoked here"}`;
    return `the certificate of agent ${agent} ${consequence}`;
  });
}
