import { ignoreReasons } from "../../client/api-errors.ts";
import { ConnectionError, type ResourceRef } from "../../client/client.ts";
import type { RemoteClient } from "../../client/remote.ts";
import type { Clock } from "../../apimachinery/clock.ts";
import { StatusError } from "../../apimachinery/status.ts";
import type { AgentEvent } from "../../credentials/credential-event.ts";
import { hubClient } from "../../host/hub-client.ts";
import { join } from "../join/join.ts";
import { JoinError } from "../../credentials/join-error.ts";
import type { JoinEvent } from "../join/join-event.ts";
import type { Discovery } from "../join/join-options.ts";
import { keepFresh } from "../../credentials/run-managers.ts";
import { nodeHubAddress } from "../../credentials/node-client.ts";
import { nodeManagers } from "../node/node-managers.ts";
import { readStoredCertificate } from "../../credentials/storage/stored-certificate.ts";
import type { PrivateFiles } from "../../host/private-files.ts";
import { basename, dirname } from "node:path";

/** The tally of one simulated machine. */
export interface MachineTally {
  joined: boolean;
  rotations: number;
  beats: number;
  /** Heartbeats and rotations that the hub did not answer, or rejected. */
  failures: number;
  /** The longest time between two accepted heartbeats, or from the last of them to the end, in milliseconds. */
  longestGapMs: number;
  /** The common names of all certificates that it received. */
  readonly identities: Set<string>;
  /** What its join waited for last; undefined before it waits, and once it has joined. */
  waitsFor: string | undefined;
  /** Why it gave up, if it did. */
  lost: string | undefined;
}

/** One machine that joins, renews its certificate and its Lease, with its files in memory. */
export interface SimulatedMachineOptions {
  readonly nodeName: string;
  readonly discovery: Discovery;
  /** In milliseconds, between two renewals of the Lease. */
  readonly beatMs: number;
  readonly clock: Clock;
  /** Returns [0, 1). */
  readonly fraction: () => number;
  readonly userAgent: string;
  readonly signal: AbortSignal;
  readonly tally: MachineTally;
  /** Called for each request of the machine, to measure how load is spread. */
  readonly called: () => void;
}

/** The tally of a machine that has not started. */
export function newTally(): MachineTally {
  return {
    joined: false,
    rotations: 0,
    beats: 0,
    failures: 0,
    longestGapMs: 0,
    identities: new Set(),
    waitsFor: undefined,
    lost: undefined,
  };
}

const certDir = "/simulated/pki";
const kubeconfig = "/simulated/kubelet.conf";
const current = `${certDir}/kubelet-client-current.pem`;
const joinPauseMs = 2_000;
const timeoutMs = 10_000;

/** Runs until `signal` aborts. Never rejects: failures are in the tally. */
export async function simulateMachine(options: SimulatedMachineOptions): Promise<void> {
  const { tally, signal } = options;
  const files = memoryFiles();
  try {
    await joined(options, files);
    if (signal.aborted) return;
    await Promise.all([renewCertificate(options, files), beating(options, files)]);
  } catch (error) {
    if (!signal.aborted) tally.lost = error instanceof Error ? error.message : String(error);
  }
}

/** Waits for a hub that is unreachable for a while. */
async function joined(options: SimulatedMachineOptions, files: PrivateFiles): Promise<void> {
  const { nodeName, discovery, clock, fraction, userAgent, signal, tally, called } = options;
  const wanted = { discovery, nodeName, certDir, kubeconfig, clock, random: fraction, userAgent, signal, files };
  for (;;) {
    try {
      called();
      await join(wanted, (event) => (tally.waitsFor = waitsFor(event, tally.waitsFor)));
      tally.joined = true;
      tally.waitsFor = undefined;
      await identified(files, tally);
      return;
    } catch (error) {
      if (!(error instanceof JoinError) || signal.aborted || !mayPass(error)) throw error;
      tally.failures += 1;
      tally.waitsFor = error.message;
      await clock.sleep(joinPauseMs * (1 + fraction()), signal);
    }
  }
}

/** What a join waits for after this event; `known` is what it waited for before. */
function waitsFor(event: JoinEvent, known: string | undefined): string | undefined {
  switch (event.kind) {
    case "retrying":
    case "left-to-approver":
      return event.message;
    case "waiting-for-approval":
      return known ?? "no approver has decided on the certificate request";
    default:
      return known;
  }
}

function mayPass({ code }: JoinError): boolean {
  return code === "unreachable" || code === "not-a-hub" || code === "timeout-waiting";
}

async function identified(files: PrivateFiles, tally: MachineTally): Promise<void> {
  const found = readStoredCertificate((await files.textIfThere(current)) ?? "");
  if (found !== undefined) tally.identities.add(found.commonName);
}

async function renewCertificate(options: SimulatedMachineOptions, files: PrivateFiles): Promise<void> {
  const { clock, fraction, userAgent, signal, tally, called } = options;
  const report = (event: AgentEvent): void => {
    if (event.reason === "CertificateRequested") called();
    if (event.reason === "RenewalFailed") tally.failures += 1;
    if (event.reason === "CredentialRenewed") {
      tally.rotations += 1;
      void identified(files, tally);
    }
  };
  const found = { kind: "node", certDir, kubeconfig } as const;
  const managers = nodeManagers(found, {
    once: false,
    clock,
    fraction,
    userAgent,
    report,
    files,
    access: undefined,
    addresses: () => [],
  });
  await keepFresh({ find: async () => managers, once: false, clock, signal, report });
}

const leases: ResourceRef = {
  group: "coordination.k8s.io",
  version: "v1",
  kind: "Lease",
  plural: "leases",
  scope: "Namespaced",
};

/** Renews the Lease as a kubelet does, so that every loss of service shows as a gap. */
async function beating(options: SimulatedMachineOptions, files: PrivateFiles): Promise<void> {
  const { beatMs, clock, fraction, signal, tally, called } = options;
  const client = await clientOf(options, files);
  // Spreads machines that were started together.
  await clock.sleep(beatMs * fraction(), signal);
  let last = clock.now();
  while (!signal.aborted) {
    called();
    const taken = await renewLease(client, options);
    const now = clock.now();
    if (taken) {
      tally.beats += 1;
      tally.longestGapMs = Math.max(tally.longestGapMs, now - last);
      last = now;
    } else tally.failures += 1;
    await clock.sleep(beatMs * (0.9 + 0.2 * fraction()), signal);
  }
  // A machine that is unreachable at the end has been so since its last heartbeat.
  tally.longestGapMs = Math.max(tally.longestGapMs, clock.now() - last);
  client.close();
}

async function clientOf(
  { clock, fraction, userAgent }: SimulatedMachineOptions,
  files: PrivateFiles,
): Promise<RemoteClient> {
  const { server, caPem } = await nodeHubAddress({ kubeconfig, text: files.textIfThere });
  return hubClient({
    server,
    caPem,
    userAgent,
    timeoutMs,
    clock,
    random: fraction,
    retryBudgetMs: 0,
    credentials: async () => {
      const found = readStoredCertificate((await files.textIfThere(current)) ?? "");
      return found === undefined ? {} : { clientCertPem: found.certificatesPem, clientKeyPem: found.keyPem };
    },
  });
}

async function renewLease(client: RemoteClient, { nodeName, clock }: SimulatedMachineOptions): Promise<boolean> {
  const spec = {
    holderIdentity: nodeName,
    leaseDurationSeconds: 40,
    renewTime: new Date(clock.now()).toISOString().replace("Z", "000Z"),
  };
  const key = { namespace: "kube-node-lease", name: nodeName };
  try {
    const patched = await ignoreReasons(client.patch(leases, key, { spec }), "NotFound");
    if (patched !== undefined) return true;
    await client.create(leases, { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata: key, spec });
    return true;
  } catch (error) {
    if (error instanceof ConnectionError || error instanceof StatusError) return false;
    throw error;
  }
}

/** Files of one simulated machine, in memory, for the lifetime of the process. */
export function memoryFiles(): PrivateFiles {
  const files = new Map<string, string>();
  const links = new Map<string, string>();
  const resolved = (path: string): string => links.get(path) ?? path;
  return {
    privateFolder: async () => undefined,
    replaceFile: async (path, content) => {
      files.set(resolved(path), typeof content === "string" ? content : Buffer.from(content).toString("utf8"));
    },
    textIfThere: async (path) => files.get(resolved(path)),
    namesIn: async (folder) =>
      [...files.keys(), ...links.keys()].filter((path) => dirname(path) === folder).map((path) => basename(path)),
    targetOf: async (path) => {
      const target = links.get(path);
      if (target === undefined) throw Object.assign(new TypeError(`no link ${path}`), { code: "ENOENT" });
      return target;
    },
    replaceLink: async ({ path, target }) => {
      links.set(path, target);
    },
    removeFile: async (path) => {
      files.delete(path);
      links.delete(path);
    },
    removeUnfinished: async () => undefined,
  };
}
