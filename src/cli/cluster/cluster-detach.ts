import { getOrUndefined, ignoreReasons } from "../../client/api-errors.ts";
import type { Client } from "../../client/client.ts";
import { namespaces } from "../../controllers/kinds.ts";
import { conditionOf, detachGraceMs } from "../../controllers/clusters/managed-cluster-policy.ts";
import { humanDuration } from "../../apimachinery/duration.ts";
import {
  clusterCondition,
  forceDetachAnnotation,
  managedClusters,
  type ManagedCluster,
} from "../../apis/managed-cluster.ts";
import { eachCluster, type NamedCluster } from "./cluster-access.ts";
import { hasJoined } from "./cluster-review.ts";
import type { Run } from "../command.ts";
import { waitFor, type Looked } from "../wait-for.ts";

/** Removes clusters and their objects from the hub, and waits until nothing is left. */
export const clusterDetach: Run = async (args, io) => {
  return eachCluster(args, io, detachOne);
};

async function detachOne({ client, io, args, name, note, did }: NamedCluster): Promise<void> {
  const force = args.on("force");
  const cluster = await client.get<ManagedCluster>(managedClusters, { name });
  const { uid = "", deletionTimestamp } = cluster.metadata;
  // Before the deletion, so that nothing waits for the spoke.
  if (force) {
    const metadata = { uid, annotations: { [forceDetachAnnotation]: "true" } };
    await client.patch(managedClusters, { name }, { metadata });
  }
  if (deletionTimestamp === undefined) await client.delete(managedClusters, { name }, { preconditions: { uid } });
  did(`${deletionTimestamp === undefined ? "" : "already "}being detached`);
  await waitFor({
    io,
    timeoutMs: args.number("timeout") ?? 0,
    about: name,
    hints: [
      "It goes on without waiting.",
      force
        ? "Is the hub's controller running?"
        : `The hub waits ${humanDuration(detachGraceMs)} for the spoke; if that is gone for good: pratique cluster detach ${name} --force`,
    ],
    look: () => left(client, name, uid),
  });
  did("detached");
  const home = await namespace(client, name);
  if (home === "stays") did("its namespace stays, as it was there before");
  if (home === "unseen") note("whether its namespace is gone, you may not see");
  if (!hasJoined(cluster)) return;
  note(
    "its agent is not stopped by this. On the spoke: end pratique klusterlet, or it asks again when it has a bootstrap credential",
  );
}

async function left(client: Client, name: string, uid: string): Promise<Looked<undefined>> {
  const cluster = await getOrUndefined<ManagedCluster>(client, managedClusters, { name });
  // Another uid is another cluster of the same name, which came after it.
  if (cluster !== undefined && cluster.metadata.uid === uid) {
    const pending = conditionOf(cluster, clusterCondition.deleting)?.message;
    const finalizers = (cluster.metadata.finalizers ?? []).join(", ");
    return { missing: pending ?? `the hub to clean up${finalizers === "" ? "" : ` (finalizers: ${finalizers})`}` };
  }
  if (cluster !== undefined) return { found: undefined };
  return (await namespace(client, name)) === "going"
    ? { missing: "its namespace to go with all that is in it" }
    : { found: undefined };
}

async function namespace(client: Client, name: string): Promise<"gone" | "going" | "stays" | "unseen"> {
  const found = getOrUndefined(client, namespaces, { name }).then((home) => home ?? "gone");
  const home = (await ignoreReasons(found, "Forbidden")) ?? "unseen";
  if (typeof home === "string") return home;
  return home.metadata.deletionTimestamp === undefined ? "stays" : "going";
}
