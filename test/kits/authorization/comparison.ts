import type { TestHub } from "../hub.ts";
import { apiClient } from "../api-client.ts";
import { startJsonService } from "../json-service.ts";
import { startKubernetes } from "../peers-kube.ts";
import { asker, type Asker } from "./ask.ts";
import { chainFiles, chainFlags, chains, startChainHub, type Chain } from "./chains.ts";
import type { Policy } from "./policy.ts";
import { serviceAnswer } from "./service.ts";
import { load, settledPolicy, type World } from "./world.ts";

/** One chain on both sides. */
export interface Side {
  readonly chain: Chain;
  readonly kubernetes: Asker;
  readonly hub: Asker;
}

/** A world loaded into hubs, and into a kube-apiserver beside each where there is one. */
export interface Comparison {
  readonly sides: readonly Side[];
  /** As the hub has it, with the rules of aggregated roles. */
  readonly policy: Policy;
  /** The roles that nobody made, of both. */
  readonly defaults: Policy["clusterRoles"];
  close(): Promise<void>;
}

/** What is on by default in later releases. */
const alphaFeatures = { "feature-gates": "EphemeralContainers=true,GenericEphemeralVolume=true" };

type Closing = () => Promise<void> | void;

/** Starts a kube-apiserver and a hub for each chain, and loads the world into all of them. */
export async function openComparison(world: World): Promise<Comparison> {
  const closings: Closing[] = [];
  const close = async (): Promise<void> => {
    for (const closing of closings.splice(0).toReversed()) await closing();
  };
  try {
    const service = await startJsonService(({ body }) => ({ body: serviceAnswer(body) }));
    closings.push(() => service.close());
    const kubernetes = await startKubernetes(
      "clusterrole-aggregation",
      {
        "kube-api-qps": 1000,
        "kube-api-burst": 1000,
      },
      alphaFeatures,
    );
    closings.push(() => kubernetes.stop());
    const files = await chainFiles(kubernetes.dir, world, service);
    // The first has the modes of kubeadm, as the first of the chains; all see the same objects.
    const servers = [
      kubernetes,
      ...(await Promise.all(
        chains.slice(1).map((chain) => kubernetes.another({ ...alphaFeatures, ...chainFlags(chain, files) })),
      )),
    ];
    const api = apiClient(kubernetes, "admin", "http2");
    closings.push(() => api.close());
    await load(api, "kubernetes", world);
    const theirs = await settledPolicy(api);
    const hubs = await openHubs(world, files);
    closings.push(hubs.close);
    const sides = chains.flatMap((chain, index): readonly Side[] => {
      const [server, hub] = [servers[index], hubs.hubs[index]];
      if (server === undefined || hub === undefined) return [];
      const side = { chain, kubernetes: asker(server), hub: asker(hub) };
      closings.push(side.kubernetes.close, side.hub.close);
      return [side];
    });
    const made = new Set(world.policy.clusterRoles.map(({ metadata }) => metadata.name));
    const all = [...theirs.clusterRoles, ...hubs.policy.clusterRoles];
    return { sides, policy: hubs.policy, defaults: all.filter(({ metadata }) => !made.has(metadata.name)), close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** A hub for each chain, with the world in those that know roles. */
export async function openHubs(
  world: World,
  files: Parameters<typeof startChainHub>[1],
): Promise<{ readonly hubs: readonly TestHub[]; readonly policy: Policy; readonly close: () => Promise<void> }> {
  const hubs = await Promise.all(chains.map((chain) => startChainHub(chain, files)));
  const withRoles = hubs.filter((_, index) => chains[index]?.modes.includes("RBAC"));
  const policies = await Promise.all(
    withRoles.map(async (hub) => {
      const api = apiClient(hub, "admin", "http2");
      await load(api, "hub", world);
      const policy = await settledPolicy(api);
      api.close();
      return policy;
    }),
  );
  const [policy] = policies;
  if (policy === undefined) throw new TypeError("no chain knows roles");
  return {
    hubs,
    policy,
    close: async () => {
      await Promise.all(hubs.map((hub) => hub.close()));
    },
  };
}
