import type { ApiObject } from "../../../src/apimachinery/object.ts";
import { isAggregated, neededRules } from "../../../src/controllers/objects/cluster-role-aggregation.ts";
import type { ApiClient } from "../api-client.ts";
import { eventually } from "../peers-process.ts";
import { randomAbac, type AbacLine } from "./abac.ts";
import { randomPods } from "./pods.ts";
import { randomPolicy, type Policy } from "./policy.ts";
import type { Random } from "./random.ts";
import { isDebugged, randomVolumes } from "./volumes.ts";
import { accountNames, namespaces, nodeNames } from "./words.ts";

/** All that decides, but for the service. */
export interface World {
  readonly policy: Policy;
  readonly abac: readonly AbacLine[];
  readonly pods: readonly ApiObject[];
  /** In kube-apiserver alone. */
  readonly volumes: readonly ApiObject[];
  readonly attachments: readonly ApiObject[];
}

/** `size` roles of a kind, and in proportion all else. */
export function randomWorld(random: Random, size: number): World {
  const pods = randomPods(random, size * 2);
  return {
    policy: randomPolicy(random, size),
    abac: randomAbac(random, size),
    pods,
    ...randomVolumes(random, pods),
  };
}

const rbac = "/apis/rbac.authorization.k8s.io/v1";
const core = "/api/v1";

/** Creates all objects of the world at one server, eight at a time; at a hub without those that it does not keep. */
export async function load(api: ApiClient, server: "hub" | "kubernetes", world: World): Promise<void> {
  const { policy, pods } = world;
  const places = namespaces.map((name) => ({ metadata: { name } }));
  await inOrder(
    api,
    places.map((object) => [`${core}/namespaces`, object]),
  );
  await inOrder(
    api,
    namespaces.flatMap((namespace) =>
      accountNames.map((name) => [`${core}/namespaces/${namespace}/serviceaccounts`, { metadata: { name } }] as const),
    ),
  );
  const here =
    (path: string, plural: string) =>
    (object: ApiObject): Creation => [`${path}/namespaces/${object.metadata.namespace ?? ""}/${plural}`, object];
  await inOrder(api, [
    ...nodeNames.map((name): Creation => [`${core}/nodes`, { metadata: { name } }]),
    ...policy.clusterRoles.map((object): Creation => [`${rbac}/clusterroles`, object]),
    ...policy.clusterRoleBindings.map((object): Creation => [`${rbac}/clusterrolebindings`, object]),
    ...policy.roles.map(here(rbac, "roles")),
    ...policy.roleBindings.map(here(rbac, "rolebindings")),
    ...(server === "hub" ? pods : pods.filter((pod) => !isDebugged(pod))).map(here(core, "pods")),
  ]);
  if (server === "hub") return;
  await inOrder(api, [
    ...world.volumes.map((object): Creation => [`${core}/persistentvolumes`, object]),
    ...world.attachments.map((object): Creation => ["/apis/storage.k8s.io/v1/volumeattachments", object]),
  ]);
  for (const pod of pods.filter(isDebugged)) await debug(api, pod);
}

/** Release 1.20 takes such containers through a kind of their own, and its authorizer looks at them only when the pod is bound. */
async function debug(api: ApiClient, pod: ApiObject): Promise<void> {
  const { name = "", namespace = "" } = pod.metadata;
  const { nodeName, ephemeralContainers, ...spec } = pod["spec"] as Readonly<Record<string, unknown>>;
  const all = `${core}/namespaces/${namespace}/pods`;
  const [metadata, apiVersion] = [{ name, namespace }, "v1"];
  await inOrder(api, [[all, { ...pod, spec }]]);
  const body = { apiVersion, kind: "EphemeralContainers", metadata, ephemeralContainers };
  const reply = await api(`${all}/${name}/ephemeralcontainers`, { method: "PUT", body });
  if (reply.status !== 200) throw new Error(`PUT ${all}/${name}/ephemeralcontainers: ${reply.text}`);
  if (nodeName === undefined) return;
  const target = { apiVersion, kind: "Node", name: nodeName };
  await inOrder(api, [[`${all}/${name}/binding`, { apiVersion, kind: "Binding", metadata, target }]]);
}

type Creation = readonly [path: string, object: object];

async function inOrder(api: ApiClient, creations: readonly Creation[]): Promise<void> {
  let next = 0;
  const one = async (): Promise<void> => {
    for (let at = next++; at < creations.length; at = next++) {
      const [path, body] = creations[at] ?? ["", {}];
      const reply = await api(path, { method: "POST", body });
      // Accounts named default are there already where a controller makes them.
      if (reply.status !== 201 && reply.status !== 409) throw new Error(`POST ${path}: ${reply.text}`);
    }
  };
  await Promise.all(Array.from({ length: 8 }, one));
}

/** The policy as a server has it, once it has gathered the rules of all aggregated roles. */
export async function settledPolicy(api: ApiClient): Promise<Policy> {
  const all = async <T extends ApiObject>(plural: string): Promise<readonly T[]> =>
    (await api(`${rbac}/${plural}`)).items() as readonly T[];
  const clusterRoles = await eventually("aggregated roles", async () => {
    const found = await all<Policy["clusterRoles"][number]>("clusterroles");
    return found.filter(isAggregated).every((role) => neededRules(role, found) === undefined) ? found : undefined;
  });
  const [roles, clusterRoleBindings, roleBindings] = await Promise.all([
    all<Policy["roles"][number]>("roles"),
    all<Policy["clusterRoleBindings"][number]>("clusterrolebindings"),
    all<Policy["roleBindings"][number]>("rolebindings"),
  ]);
  return { clusterRoles, roles, clusterRoleBindings, roleBindings };
}
