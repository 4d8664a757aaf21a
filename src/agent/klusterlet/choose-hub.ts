import type { RemoteClient } from "../../client/remote.ts";
import type { ResourceRef } from "../../client/client.ts";
import type { ApiObject } from "../../core/object.ts";
import { certificateRequests } from "../node-request.ts";
import { isAccepted, managedClusters } from "../../resources/managed-cluster.ts";
import type { BootstrapHub } from "./bootstrap-hub.ts";
import { managedClusterOn } from "./ensure-managed-cluster.ts";
import type { KlusterletOptions } from "./klusterlet-options.ts";
import { bootstrapClient } from "./register-cluster.ts";
import { saidFailure } from "./said-failure.ts";

const reviews: ResourceRef = {
  group: "authorization.k8s.io",
  version: "v1",
  plural: "selfsubjectaccessreviews",
  kind: "SelfSubjectAccessReview",
  scope: "Cluster",
};
const needed: readonly (readonly [ResourceRef, readonly string[]])[] = [
  [managedClusters, ["create", "get"]],
  [certificateRequests, ["create", "get", "list", "watch"]],
];

interface Review extends ApiObject {
  readonly status?: { readonly allowed?: boolean };
}

/** The first hub that would take the cluster, with `preferred` before the others. One alone is not asked. A text says why none does. */
export async function chooseHub(
  hubs: readonly BootstrapHub[],
  choice: { readonly preferred: string | undefined; readonly cluster: string },
  options: KlusterletOptions,
): Promise<BootstrapHub | string> {
  const [first, ...others] = hubs.toSorted(
    (a, b) => Number(b.origin === choice.preferred) - Number(a.origin === choice.preferred),
  );
  if (first === undefined) return "there is no hub to join: give --bootstrap-kubeconfig";
  if (others.length === 0) return first;
  const reasons: string[] = [];
  for (const hub of [first, ...others]) {
    const why = await whyNot(hub, choice.cluster, options);
    if (why === undefined) return hub;
    reasons.push(why);
  }
  return `no hub takes this cluster: ${reasons.join("; ")}`;
}

async function whyNot(hub: BootstrapHub, cluster: string, options: KlusterletOptions): Promise<string | undefined> {
  const client = bootstrapClient(hub, options);
  try {
    for (const [resource, verbs] of needed) {
      for (const verb of verbs) {
        if (!(await mayDo(client, resource, verb)))
          return `${hub.server} does not let ${hub.file} ${verb} ${resource.plural}`;
      }
    }
    const there = await managedClusterOn(client, cluster);
    return there === undefined || isAccepted(there)
      ? undefined
      : `${hub.server} does not accept the cluster ${cluster}`;
  } catch (error) {
    return saidFailure(error, hub.server);
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
