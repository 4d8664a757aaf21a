import { agentsOn } from "../../controllers/clusters/managed-cluster-policy.ts";
import { isAccepted, type ManagedCluster } from "../../apis/managed-cluster.ts";
import {
  clusterWarnings,
  deniedRequests,
  openRequests,
  type AgentRequest,
  type ClusterSight,
} from "./cluster-review.ts";

/** Which request an approver means, where not any will do. */
export interface Chosen {
  readonly agentId: string | undefined;
  readonly request: string | undefined;
}

/** What is to be done to let a cluster in, as it is seen now. */
export type ClusterPlan =
  | { readonly kind: "wait"; readonly missing: string }
  /** Somebody has to compare first: why, and what there is to choose from. */
  | { readonly kind: "refuse"; readonly why: readonly string[]; readonly choice: readonly AgentRequest[] }
  | { readonly kind: "gone" }
  /** The requests of its agents were denied, which cannot be undone: the agent asks anew when they are gone. The newest first. */
  | { readonly kind: "denied"; readonly requests: readonly [AgentRequest, ...AgentRequest[]] }
  | {
      readonly kind: "go";
      readonly cluster: ManagedCluster;
      /** The request to approve; absent where it is approved already, or where requests may not be seen. */
      readonly approve?: AgentRequest;
      /** The request that was approved before. */
      readonly approved?: AgentRequest;
      readonly accept: boolean;
      /** What was looked past since the request was named. */
      readonly warnings: readonly string[];
    };

/** `now` in milliseconds. */
export function planOf(sight: ClusterSight, chosen: Chosen, now: number): ClusterPlan {
  const { cluster, requests } = sight;
  if (cluster === undefined) return { kind: "wait", missing: "the cluster to be registered by its agent" };
  if (cluster.metadata.deletionTimestamp !== undefined) return { kind: "gone" };
  const accept = !isAccepted(cluster);
  if (requests === undefined) return { kind: "go", cluster, accept, warnings: [] };
  const isMeant = ({ agent, name }: AgentRequest): boolean =>
    (chosen.agentId ?? agent) === agent && (chosen.request ?? name) === name;
  const open = openRequests(sight).filter(isMeant);
  const [newest] = open;
  if (newest === undefined) return withoutOpen(sight, { cluster, chosen, isMeant, now });
  const warnings = clusterWarnings(sight, open, now);
  const isNamed =
    chosen.request !== undefined ||
    (chosen.agentId !== undefined && new Set(open.map(({ fingerprint }) => fingerprint)).size === 1);
  if (warnings.length > 0 && !isNamed) return { kind: "refuse", why: warnings, choice: open };
  return { kind: "go", cluster, accept, approve: newest, warnings };
}

interface Rest {
  readonly cluster: ManagedCluster;
  readonly chosen: Chosen;
  readonly isMeant: (request: AgentRequest) => boolean;
  readonly now: number;
}

function withoutOpen(sight: ClusterSight, { cluster, chosen, isMeant, now }: Rest): ClusterPlan {
  const accept = !isAccepted(cluster);
  const { requests = [] } = sight;
  const approved = requests.find((one) => isMeant(one) && (one.state === "Approved" || one.state === "Issued"));
  if (approved !== undefined) return { kind: "go", cluster, accept, approved, warnings: [] };
  const holders = [...agentsOn(cluster)].filter(([id, end]) => end > now && (chosen.agentId ?? id) === id);
  if (holders.length > 0 && chosen.request === undefined) return { kind: "go", cluster, accept, warnings: [] };
  const [denied, ...more] = deniedRequests(sight).filter(isMeant);
  if (denied !== undefined) return { kind: "denied", requests: [denied, ...more] };
  const who = chosen.agentId === undefined ? "its agent" : `agent ${JSON.stringify(chosen.agentId)}`;
  const which = chosen.request === undefined ? "" : ` named ${JSON.stringify(chosen.request)}`;
  const others = [...new Set(openRequests(sight).map(({ agent }) => JSON.stringify(agent)))];
  const there = others.length === 0 ? "" : `; there are requests of ${others.join(", ")}`;
  const unfit = sight.unfit.map(({ name, why }) => `; csr/${name} has its name and cannot be its agent's: ${why}`);
  return { kind: "wait", missing: `a certificate request of ${who}${which}${there}${unfit.join("")}` };
}
