import type { RemoteClient } from "../../client/remote.ts";
import type { ResourceRef } from "../../client/client.ts";
import type { ApiObject } from "../../apimachinery/object.ts";
import { certificateRequests } from "../../credentials/request/certificate-request.ts";
import { isAccepted, managedClusters } from "../../apis/managed-cluster.ts";
import type { BootstrapHub } from "./bootstrap-hub.ts";
import type { ClusterCredential } from "../../credentials/proof/cluster-credential.ts";
import { managedClusterOn } from "./ensure-managed-cluster.ts";
import { hubSession } from "./serving-cluster.ts";
import type { KlusterletOptions } from "./klusterlet-options.ts";
import { bootstrapClient } from "./register-cluster.ts";
import { describeError } from "../../credentials/request/connection-failure.ts";

const reviews: ResourceRef = {
  group: "authorization.k8s.io",
  version: "v1",
  plural: "selfsubjectaccessreviews",
  kind: "SelfSubjectAccessReview",
  scope: "Cluster",
};
const needed: readonly (readonly [ResourceRef, string])[] = [
  ...["create", "get"].map((verb) => [managedClusters, verb] as const),
  ...["create", "get", "list", "watch"].map((verb) => [certificateRequests, verb] as const),
];

interface Review extends ApiObject {
  readonly status?: { readonly allowed?: boolean };
}

/** The cluster for which a hub is chosen. */
export interface HubChoice {
  readonly cluster: string;
  /** The origin of the hub that is tried first; last, where the cluster has just left it. */
  readonly preferred: string | undefined;
  /** The agent left the preferred hub: it may answer and accept the cluster, and still reject its heartbeat. */
  readonly wasLeft: boolean;
  /** The agent's credential for the preferred hub: that hub is called with it, since a bootstrap credential expires long before. */
  readonly credential: ClusterCredential | undefined;
}

/** The first hub that accepts the cluster, in the order of `choice`. A single hub is not called. A returned text is the reason why none does. */
export async function chooseHub(
  hubs: readonly BootstrapHub[],
  choice: HubChoice,
  options: KlusterletOptions,
): Promise<BootstrapHub | string> {
  const { preferred, wasLeft } = choice;
  const rank = ({ origin }: BootstrapHub): number => (origin === preferred ? (wasLeft ? 1 : -1) : 0);
  const [first, ...others] = hubs.toSorted((a, b) => rank(a) - rank(b));
  if (first === undefined) return "there is no hub to join: give --bootstrap-kubeconfig";
  if (others.length === 0) return first;
  const reasons: string[] = [];
  for (const hub of [first, ...others]) {
    if (hub.origin === preferred && (await stillAccepts(choice, options))) return hub;
    const why = await whyNot(hub, choice.cluster, options);
    if (why === undefined) return hub;
    reasons.push(why);
  }
  return `no hub takes this cluster: ${reasons.join("; ")}`;
}

/** Whether the hub answers the credential, and accepts the cluster. */
async function stillAccepts({ cluster, credential }: HubChoice, options: KlusterletOptions): Promise<boolean> {
  if (credential === undefined) return false;
  const session = hubSession(credential, options);
  try {
    const there = await managedClusterOn(session.client, cluster);
    return there !== undefined && isAccepted(there);
  } catch {
    // The reply of the same hub to the bootstrap credential has the reason.
    return false;
  } finally {
    session.close();
  }
}

async function whyNot(hub: BootstrapHub, cluster: string, options: KlusterletOptions): Promise<string | undefined> {
  const client = bootstrapClient(hub, options);
  try {
    for (const [resource, verb] of needed) {
      if (!(await mayDo(client, resource, verb)))
        return `${hub.server} does not let ${hub.file} ${verb} ${resource.plural}`;
    }
    const there = await managedClusterOn(client, cluster);
    return there === undefined || isAccepted(there)
      ? undefined
      : `${hub.server} does not accept the cluster ${cluster}`;
  } catch (error) {
    return describeError(error, hub.server);
  } finally {
    client.close();
  }
}

async function mayDo(client: RemoteClient, { group, plural: resource }: ResourceRef, verb: string): Promise<boolean> {
  const review = await client.create<Review>(reviews, {
    apiVersion: "authorization.k8s.io/v1",
    kind: "SelfSubjectAccessReview",
    metadata: {},
    spec: { resourceAttributes: { group, resource, verb } },
  });
  return review.status?.allowed === true;
}
