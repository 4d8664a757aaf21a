import { hasReason, ignoreReasons, retryOnConflict } from "../../client/api-errors.ts";
import { ConnectionError } from "../../client/client.ts";
import type { RemoteClient } from "../../client/remote.ts";
import { findCondition } from "../../apimachinery/conditions.ts";
import { StatusError } from "../../apimachinery/status.ts";
import { clusterCondition, leaveAnnotation, managedClusters, type ManagedCluster } from "../../apis/managed-cluster.ts";
import { connectionFailure, isRace } from "../../credentials/request/connection-failure.ts";
import { JoinError, stopIfAborted } from "../../credentials/join-error.ts";
import { readBootstrapHub, withLearned } from "./bootstrap-hub.ts";
import { readClusterCredential, type ClusterCredential } from "../../credentials/proof/cluster-credential.ts";
import { managedClusterOn } from "./ensure-managed-cluster.ts";
import { hubSession } from "./serving-cluster.ts";
import type { KlusterletOptions } from "./klusterlet-options.ts";
import { bootstrapClient } from "./register-cluster.ts";
import { readRegistrationState } from "../../credentials/storage/registration-state.ts";

/** What is left of a cluster on its hub. */
export type LeftOnHub =
  /** Nothing. */
  | "nothing"
  /** The hub denies the cluster; an administrator must delete its ManagedCluster. */
  | "shut-out"
  /** The hub was not changed: it does not know this agent, or was unreachable. */
  | "not-told";

/** The result of a detach. */
export interface LeftHub {
  readonly cluster: string;
  readonly agent: string;
  readonly server: string | undefined;
  readonly onHub: LeftOnHub;
  /** Why the hub was not changed, as the end of a sentence. */
  readonly why?: string | undefined;
}

const waitMs = 30_000;
const pollMs = 1000;
const againMs = 200;

/**
 * Removes the cluster from its hub, and then the agent's state from its store. A Pratique hub deletes the ManagedCluster and its objects,
 * any other denies it. With `force` an unreachable hub is left unchanged. @throws JoinError no-access where nothing is stored,
 * unreachable, tls-mismatch, refused, aborted
 */
export async function leaveHub(options: KlusterletOptions, force: boolean): Promise<LeftHub> {
  const { store, clock } = options;
  const state = readRegistrationState(await store.readState());
  const credential = readClusterCredential(await store.readCredential());
  const { cluster, agent } =
    state === undefined ? (credential?.identity ?? {}) : { cluster: state.clusterName, agent: state.agentName };
  if (cluster === undefined || agent === undefined) {
    throw new JoinError("no-access", `${store.place} holds no registration: there is nothing to leave`);
  }
  const outcome =
    credential !== undefined && credential.notAfter > clock.now()
      ? await notifyHub(credential, { options, force })
      : notNotified(withoutCertificate(credential));
  await store.remove();
  return { cluster, agent, server: credential?.hub.server, ...outcome };
}

type Outcome = Pick<LeftHub, "onHub" | "why">;

function notNotified(why: string): Outcome {
  return { onHub: "not-told", why };
}

function withoutCertificate(credential: ClusterCredential | undefined): string {
  return credential === undefined
    ? "this agent never got a certificate, and without one it cannot leave"
    : "the certificate of this agent has expired";
}

async function notifyHub(
  credential: ClusterCredential,
  { options, force }: { readonly options: KlusterletOptions; readonly force: boolean },
): Promise<Outcome> {
  const session = hubSession(credential, options);
  const { cluster } = credential.identity;
  try {
    if (!(await announceDetach(session.client, cluster, options))) {
      return notNotified("it does not accept this agent, which was denied or revoked, or its ManagedCluster is gone");
    }
    return { onHub: await seenOff(session.client, cluster, options) };
  } catch (error) {
    if (error instanceof JoinError) throw error;
    if (error instanceof ConnectionError) {
      const { code, message } = connectionFailure(error, { server: session.server });
      if (force) return notNotified(message);
      throw new JoinError(code, `${message}; to leave without the hub, add --force`, { cause: error });
    }
    if (!(error instanceof StatusError)) throw error;
    if (force) return notNotified(`it refuses that: ${error.message}`);
    throw new JoinError("refused", `${session.server} refuses to let the cluster leave: ${error.message}`, {
      cause: error,
    });
  } finally {
    session.close();
  }
}

/** False where the hub no longer knows this agent. */
async function announceDetach(
  client: RemoteClient,
  name: string,
  { clock, signal }: KlusterletOptions,
): Promise<boolean> {
  const pause = async (): Promise<void> => {
    await clock.sleep(againMs, signal);
    stopIfAborted(signal);
  };
  const written = retryOnConflict(
    async () => {
      const stored = await client.get<ManagedCluster>(managedClusters, { name });
      const annotations = { ...stored.metadata.annotations, [leaveAnnotation]: "true" };
      const spec = { ...stored.spec, hubAcceptsClient: false };
      await client.update(managedClusters, { ...stored, metadata: { ...stored.metadata, annotations }, spec });
      return true;
    },
    { isRace, pause },
  );
  return (await ignoreReasons(written, "Unauthorized", "Forbidden", "NotFound")) ?? false;
}

async function seenOff(client: RemoteClient, name: string, options: KlusterletOptions): Promise<LeftOnHub> {
  const { clock, signal } = options;
  const until = clock.now() + waitMs;
  for (;;) {
    const seen = await seenAs(client, name, options);
    if (seen !== undefined) return seen;
    if (clock.now() + pollMs > until) return "shut-out";
    await clock.sleep(pollMs, signal);
    stopIfAborted(signal);
  }
}

/** What remains now; undefined while the hub is deleting it. */
async function seenAs(client: RemoteClient, name: string, options: KlusterletOptions): Promise<LeftOnHub | undefined> {
  try {
    const cluster = await managedClusterOn(client, name);
    if (cluster === undefined) return "nothing";
    const isDeleting = cluster.metadata.deletionTimestamp !== undefined;
    const accepted = findCondition(cluster.status?.conditions, clusterCondition.accepted)?.status;
    return !isDeleting && accepted === "False" ? "shut-out" : undefined;
  } catch (error) {
    if (!hasReason(error, "Unauthorized", "Forbidden")) throw error;
  }
  return seenByOthers(name, options);
}

/** The agent itself is denied; the bootstrap identity, where it is still accepted, can read whether the object is gone. */
async function seenByOthers(name: string, options: KlusterletOptions): Promise<LeftOnHub | undefined> {
  const [file] = options.bootstrapKubeconfigs;
  if (file === undefined) return "shut-out";
  try {
    const state = readRegistrationState(await options.store.readState());
    const client = bootstrapClient(withLearned(await readBootstrapHub(file, options), state?.learned), options);
    try {
      return (await managedClusterOn(client, name)) === undefined ? "nothing" : undefined;
    } finally {
      client.close();
    }
  } catch (error) {
    if (error instanceof JoinError || error instanceof StatusError || error instanceof ConnectionError)
      return "shut-out";
    throw error;
  }
}
