import { getOrUndefined, ignoreReasons } from "../client/api-errors.ts";
import type { Client, ResourceRef } from "../client/client.ts";
import { bootstrapPolicy } from "../authorization/bootstrap-policy/system-roles.ts";
import { autoapproveBinding, kubeadmPolicy } from "../authorization/bootstrap-policy/kubeadm-policy.ts";
import { reconcilePolicy } from "../authorization/reconcile-policy.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import { builtinResources } from "../apis/builtin.ts";
import { systemNamespaces } from "../apis/namespace.ts";
import { putFlowControl } from "../apiserver/flow-control/flow-control-objects.ts";
import { kubeadmConfiguration } from "./kubeadm-configuration.ts";

type PolicyObject = Parameters<typeof reconcilePolicy>[0];

export interface InitialObjectsOptions {
  readonly client: Client;
  /** Whether a node that joins with a token of ours has its client certificate approved without a person. */
  readonly nodeAutoapprove: boolean;
  /** Told what an option does not do on a hub that was started before. */
  readonly warn: (message: string) => void;
}

/** On namespace kube-system: what is made only once has been made. */
const initialized = "pratique.dev/initialized";

/** Puts the namespaces, default roles and joining rules in place that a control plane is expected to have; what is there already is kept. */
export async function putInitialObjects({ client, nodeAutoapprove, warn }: InitialObjectsOptions): Promise<void> {
  await Promise.all(
    systemNamespaces.map((name) =>
      createIfMissing(client, refOf("Namespace"), { apiVersion: "v1", kind: "Namespace", metadata: { name } }),
    ),
  );
  await putPolicy(client, bootstrapPolicy());
  await putFlowControl(client);
  // An operator's own, or those of `kubeadm init phase upload-config`, stay.
  await Promise.all(kubeadmConfiguration().map((map) => createIfMissing(client, refOf("ConfigMap"), map)));
  // Like kubeadm init, once: who removes one of these bindings does not find it back after a restart.
  const system = await client.get(refOf("Namespace"), { name: "kube-system" });
  if (system.metadata.annotations?.[initialized] === "true") {
    // The binding may be the operator's own by now, so it is named and not deleted.
    if (!nodeAutoapprove) await warnOfBinding(client, warn);
    return;
  }
  const joining = kubeadmPolicy({ nodeAutoapprove });
  await Promise.all(joining.filter(isRole).map((object) => createIfMissing(client, refOf(object.kind), object)));
  await Promise.all(
    joining.filter((object) => !isRole(object)).map((object) => createIfMissing(client, refOf(object.kind), object)),
  );
  // Last, so that a first start that was cut short is gone through again.
  await client.patch(
    refOf("Namespace"),
    { name: "kube-system" },
    { metadata: { annotations: { [initialized]: "true" } } },
  );
}

async function warnOfBinding(client: Client, warn: InitialObjectsOptions["warn"]): Promise<void> {
  const name = autoapproveBinding;
  const found = await getOrUndefined(client, refOf("ClusterRoleBinding"), { name });
  if (found === undefined) return;
  warn(
    `--no-node-autoapprove has no effect on this data directory: the ClusterRoleBinding ${name} exists since its first start, so new nodes are approved automatically; delete it: kubectl delete clusterrolebinding ${name}`,
  );
}

/** Brings roles and bindings to what they must grant at least, as at each start. */
export async function putPolicy(client: Client, policy: readonly PolicyObject[]): Promise<void> {
  // All at once: the store joins them into a few commits. Roles before bindings, as a binding to a missing role is refused.
  await Promise.all(policy.filter(isRole).map((object) => reconcile(client, object)));
  await Promise.all(policy.filter((object) => !isRole(object)).map((object) => reconcile(client, object)));
}

function isRole(object: PolicyObject): boolean {
  return object.kind === "Role" || object.kind === "ClusterRole";
}

async function reconcile(client: Client, wanted: PolicyObject): Promise<void> {
  const ref = refOf(wanted.kind);
  const { name = "", namespace } = wanted.metadata;
  const key = namespace === undefined ? { name } : { namespace, name };
  const existing = await getOrUndefined<PolicyObject>(client, ref, key);
  const result = reconcilePolicy(wanted, existing);
  switch (result.kind) {
    case "none":
      return;
    case "create":
      await client.create(ref, result.object);
      return;
    case "update":
      await client.update(ref, result.object);
      return;
    case "recreate":
      await client.delete(ref, key);
      await client.create(ref, result.object);
  }
}

/** Creates an object; one of that name that is there already is left as it is. */
export async function createIfMissing(client: Client, ref: ResourceRef, object: ApiObject): Promise<void> {
  await ignoreReasons(client.create(ref, object), "AlreadyExists");
}

function refOf(kind: string): ResourceRef {
  const resource = builtinResources.find((one) => one.kind === kind);
  if (resource === undefined) throw new TypeError(`no built-in kind ${kind}`);
  return resource;
}
