import { ignoreReasons } from "../../client/api-errors.ts";
import { createHash } from "node:crypto";
import type { Client } from "../../client/client.ts";
import type { Clock } from "../../apimachinery/clock.ts";
import { accessGroup } from "../../apis/access-request.ts";
import { credentialRevocations } from "../../apis/credential-revocation.ts";
import { agentUser, type ManagedCluster } from "../../apis/managed-cluster.ts";
import { agentsOn } from "./cluster-agents.ts";

/**
 * Takes back the certificates of all agents of a cluster, by their exact user names and until they would have ended: rights alone
 * would come back with the next acceptance. Only where CredentialRevocations are known and count.
 */
export async function revokeAgents(client: Client, clock: Clock, cluster: ManagedCluster): Promise<void> {
  const { name = "" } = cluster.metadata;
  for (const [agent, end] of agentsOn(cluster)) {
    if (end <= clock.now()) continue;
    const user = agentUser({ cluster: name, agent });
    const revocation = {
      apiVersion: `${accessGroup}/${credentialRevocations.version}`,
      kind: credentialRevocations.kind,
      metadata: { name: `managed-cluster-${createHash("sha256").update(user).digest("hex").slice(0, 32)}` },
      spec: {
        user,
        reason: `managed cluster ${name} is denied`,
        expiresAt: new Date(end + marginMs).toISOString(),
      },
    };
    await ignoreReasons(client.create(credentialRevocations, revocation), "AlreadyExists");
  }
}

const marginMs = 60_000;
