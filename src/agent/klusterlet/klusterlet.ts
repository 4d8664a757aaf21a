import { randomUUID } from "node:crypto";
import { jitteredBackoffMs } from "../../client/backoff.ts";
import { dnsLabelProblems, generatedName } from "../../apimachinery/names.ts";
import { JoinError, plainText } from "../../credentials/join-error.ts";
import { originOf, readBootstrapHub, withLearned, type BootstrapHub } from "./bootstrap-hub.ts";
import { chooseHub, type HubChoice } from "./choose-hub.ts";
import { readClusterCredential, type ClusterCredential } from "../../credentials/proof/cluster-credential.ts";
import { hubSession } from "./serving-cluster.ts";
import {
  storedState,
  readRegistrationState,
  type StoredState,
  type RegistrationState,
} from "../../credentials/storage/registration-state.ts";
import type { CredentialFiles } from "../../credentials/storage/klusterlet-store.ts";
import type { KlusterletOptions, KlusterletResult } from "./klusterlet-options.ts";
import { randomFraction } from "../../host/system-random.ts";
import { credentialFiles, registerCluster } from "./register-cluster.ts";
import { describeError } from "../../credentials/request/connection-failure.ts";
import { serveCluster } from "./serve-cluster.ts";

const backoff = { initialMs: 1000, maxMs: 60_000 };

/**
 * Registers a cluster with a hub and keeps it registered: requests its certificate, waits for both approvals, sends heartbeats and
 * status, renews its certificate, follows the hub's CA and address, and registers again where its credential is no longer accepted. What
 * it needs to resume after a kill at any step is stored before it is sent to the hub. Ends when `signal` aborts, or with `until` once
 * that is reached. @throws JoinError already-joined, bad-node-name, bad-discovery-file, write-failed; with `until` also denied
 */
export async function runKlusterlet(options: KlusterletOptions): Promise<KlusterletResult> {
  const reached = new AbortController();
  const signal = AbortSignal.any([options.signal, reached.signal]);
  let server: string | undefined;
  const running: KlusterletOptions = {
    ...options,
    signal,
    report: (event) => {
      options.report(event);
      if (event.kind === "hub") ({ server } = event);
      if (event.kind === options.until) reached.abort();
    },
  };
  const hub = (): string => server ?? "the hub";
  const state = await persistently(() => openState(running), { options: running, hub, isFinal: isWrongUse });
  if (state === undefined) return { cluster: options.clusterName ?? "", agent: "", server };
  const { clusterName: cluster, agentName: agent } = state.now();
  running.report({ kind: "started", cluster, agent, place: options.store.place });
  const memory: Memory = { left: false, unreadable: "" };
  const isFinal = (error: JoinError): boolean => options.until !== undefined && endsWaiting.has(error.code);
  while (!signal.aborted) {
    await persistently(() => oneLife(state, memory, running), { options: running, hub, isFinal });
  }
  return { cluster: state.now().clusterName, agent: state.now().agentName, server };
}

const wrongUse: ReadonlySet<string> = new Set([
  "already-joined",
  "bad-node-name",
  "bad-discovery-file",
  "write-failed",
]);
const endsWaiting: ReadonlySet<string> = new Set(["denied", "bad-discovery-file", "write-failed"]);

function isWrongUse({ code }: JoinError): boolean {
  return wrongUse.has(code);
}

interface Persistence {
  readonly options: KlusterletOptions;
  /** The name of the hub, for messages. */
  readonly hub: () => string;
  readonly isFinal: (error: JoinError) => boolean;
}

/** The result of `attempt`, retried with growing pauses; undefined when the signal aborts. Each reason is reported once. @throws JoinError that is final */
async function persistently<T>(
  attempt: () => Promise<T>,
  { options, hub, isFinal }: Persistence,
): Promise<T | undefined> {
  const { clock, random, report, signal } = options;
  let reported = "";
  for (let failures = 1; !signal.aborted; failures += 1) {
    try {
      return await attempt();
    } catch (error) {
      if (signal.aborted) break;
      if (error instanceof JoinError && isFinal(error)) throw error;
      const message = describeError(error, hub());
      const pauseMs = jitteredBackoffMs(backoff, failures, () => randomFraction(random));
      if (message !== reported) report({ kind: "failed", message, at: clock.now() + pauseMs });
      reported = message;
      await clock.sleep(pauseMs, signal);
    }
  }
  return undefined;
}

/** The stored names of cluster and agent; else they are chosen now and stored before they are sent. */
async function openState(options: KlusterletOptions): Promise<StoredState> {
  const { store, clusterName } = options;
  if (clusterName !== undefined) requireClusterName(clusterName);
  const text = await store.readState();
  const files = await store.readCredential();
  const stored = readRegistrationState(text) ?? newNames(files, options);
  if (clusterName !== undefined && stored.clusterName !== clusterName) {
    throw new JoinError(
      "already-joined",
      `${store.place} belongs to the cluster ${stored.clusterName} and not to ${clusterName}: choose another place, or leave first with --leave`,
    );
  }
  if (text === undefined && Object.keys(files).length === 0) await requireOneHub(options);
  const state = storedState(store, stored);
  if (text === undefined) await state.change({});
  return state;
}

function newNames(
  files: Partial<CredentialFiles>,
  { clusterName, random }: KlusterletOptions,
): Pick<RegistrationState, "clusterName" | "agentName"> {
  return {
    clusterName: files["cluster-name"] ?? clusterName ?? randomUUID(),
    agentName: files["agent-name"] ?? generatedName("", random),
  };
}

/** @throws JoinError bad-node-name */
function requireClusterName(name: string): void {
  const [problem] = dnsLabelProblems(name);
  if (problem === undefined) return;
  const shown = JSON.stringify(plainText(name, 100));
  throw new JoinError("bad-node-name", `--cluster-name ${shown} cannot be the name of a cluster: ${problem}`);
}

/**
 * Where a cluster has never registered, at least one bootstrap kubeconfig must be usable, before anything is stored here. @throws
 * JoinError bad-discovery-file for the first of those that are not
 */
async function requireOneHub(options: KlusterletOptions): Promise<void> {
  const [hubs, [first]] = await readHubs(options);
  if (hubs.length > 0 || first === undefined) return;
  throw new JoinError(first.code, `--bootstrap-kubeconfig: ${first.message}`, { cause: first });
}

/** The state that one session leaves for the next. */
interface Memory {
  /** The agent left the hub in use and chooses another one. */
  left: boolean;
  /** The last report of bootstrap kubeconfigs that cannot be read while others can. */
  unreadable: string;
}

/** One session: from the choice of a hub to the end of its connection. */
async function oneLife(state: StoredState, memory: Memory, options: KlusterletOptions): Promise<void> {
  await finishLayingOut(state, options);
  const credential = await usableCredential(state, options);
  const hubs = await bootstrapHubs(state, { memory, options, isJoined: credential !== undefined });
  const { clusterName: cluster, origin: known } = state.now();
  if (credential === undefined) {
    const choice = { cluster, preferred: known, wasLeft: memory.left, credential };
    await registerCluster(await nextHub(hubs, choice, { memory, options }), state, options);
    return;
  }
  const origin = known ?? originOf(credential.hub);
  // While no bootstrap kubeconfig can be read, there is no other hub to choose.
  if (hubs.length > 0 && (memory.left || !hubs.some((hub) => hub.origin === origin))) {
    const choice = { cluster, preferred: origin, wasLeft: memory.left, credential };
    const hub = await nextHub(hubs, choice, { memory, options });
    if (hub.origin !== origin) await registerCluster(hub, state, options);
    return;
  }
  if (known === undefined) await state.change({ origin, pending: undefined });
  if (options.until === "issued") options.report({ kind: "issued", request: "", expiresAt: credential.notAfter });
  else memory.left = await served(credential, hubs.length > 1, { state, options });
}

/** While no hub accepts the cluster, the next session chooses again, instead of waiting once more for the hub that it left. @throws JoinError refused */
async function nextHub(
  hubs: readonly BootstrapHub[],
  choice: HubChoice,
  { memory, options }: { readonly memory: Memory; readonly options: KlusterletOptions },
): Promise<BootstrapHub> {
  const hub = await chooseHub(hubs, choice, options);
  if (typeof hub === "string") throw new JoinError("refused", hub);
  memory.left = false;
  return hub;
}

/** Whether the agent left the hub for another one. */
async function served(
  credential: ClusterCredential,
  hasOtherHubs: boolean,
  { state, options }: { readonly state: StoredState; readonly options: KlusterletOptions },
): Promise<boolean> {
  const session = hubSession(credential, options);
  const bootstrap = async (): Promise<BootstrapHub | undefined> => {
    const hubs = await readHubs(options, state).then(
      ([found]) => found,
      () => [],
    );
    return hubs.find(({ origin }) => origin === state.now().origin) ?? hubs[0];
  };
  try {
    const ended = await serveCluster({ session, state, options, bootstrap, hasOtherHubs });
    if (ended.kind === "next-hub") {
      options.report({ kind: "leaving-hub", server: session.server, message: ended.message });
      return true;
    }
    if (ended.kind === "register") {
      options.report({ kind: "registering-again", message: ended.message });
      const names = ended.newAgent ? { agentName: generatedName("", options.random) } : {};
      await state.change({ origin: undefined, pending: undefined, shutOut: undefined, ...names });
    }
    return false;
  } finally {
    session.close();
  }
}

/** Installs a certificate that was issued before the agent was killed. */
async function finishLayingOut(state: StoredState, options: KlusterletOptions): Promise<void> {
  const { pending, origin } = state.now();
  if (pending?.certificatePem === undefined || pending.by !== "agent" || pending.origin !== origin) return;
  const stored = readClusterCredential(await options.store.readCredential());
  if (stored === undefined) return;
  const files = {
    ...credentialFiles(stored, stored.hub),
    "tls.crt": pending.certificatePem,
    "tls.key": pending.keyPem,
  };
  if (readClusterCredential(files) !== undefined) await options.store.writeCredential(files);
  await state.change({ pending: undefined });
}

async function usableCredential(
  state: StoredState,
  { store, clock }: KlusterletOptions,
): Promise<ClusterCredential | undefined> {
  const { clusterName, agentName } = state.now();
  const found = readClusterCredential(await store.readCredential());
  if (found === undefined || found.notAfter <= clock.now()) return undefined;
  return found.identity.cluster === clusterName && found.identity.agent === agentName ? found : undefined;
}

/**
 * The hubs whose bootstrap kubeconfigs can be read; one that cannot is reported once. @throws JoinError bad-discovery-file where none can
 * and there are some, unless a hub is joined: that one stays in use while its bootstrap kubeconfig cannot be read
 */
async function bootstrapHubs(
  state: StoredState,
  {
    memory,
    options,
    isJoined,
  }: { readonly memory: Memory; readonly options: KlusterletOptions; readonly isJoined: boolean },
): Promise<readonly BootstrapHub[]> {
  const [hubs, failures] = await readHubs(options, state);
  const failure = failures.at(-1);
  if (hubs.length === 0 && failure !== undefined) {
    if (isJoined) return [];
    throw failure;
  }
  const message = failure?.message ?? "";
  if (message !== "" && message !== memory.unreadable) options.report({ kind: "failed", message });
  memory.unreadable = message;
  return hubs;
}

/** The hubs whose bootstrap kubeconfigs can be read, and why the others cannot. */
async function readHubs(
  options: KlusterletOptions,
  state?: StoredState,
): Promise<readonly [readonly BootstrapHub[], readonly JoinError[]]> {
  const found: BootstrapHub[] = [];
  const failures: JoinError[] = [];
  for (const file of options.bootstrapKubeconfigs) {
    try {
      found.push(withLearned(await readBootstrapHub(file, options), state?.now().learned));
    } catch (error) {
      if (!(error instanceof JoinError)) throw error;
      failures.push(error);
    }
  }
  return [found, failures];
}
