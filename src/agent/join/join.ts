import { hostname, homedir } from "node:os";
import type { CaPin } from "../../trust/pins.ts";
import {
  bootstrapKubeconfigAccess,
  discoverByFile,
  fileDiscovery,
  type FileDiscovery,
} from "../discovery/discover-by-file.ts";
import { discoverByToken, tokenDiscovery } from "../discovery/discover-by-token.ts";
import type { DiscoveryContext, HubAccess } from "../discovery/discovery-context.ts";
import { enrol, writeHub, writeRecord, type Enrolled, type Enrolment } from "./enrol.ts";
import { credentialFor, existingJoin, requireSameJoin, type ExistingJoin } from "./existing-credential.ts";
import { JoinError } from "../../credentials/join-error.ts";
import type { JoinReport } from "./join-event.ts";
import { joinFolder } from "./join-folder.ts";
import type { Discovery, JoinOptions, Joined } from "./join-options.ts";
import { readStoredCertificate } from "../../credentials/storage/stored-certificate.ts";
import { nodeUser, requireNodeName } from "../../credentials/request/node-identity.ts";
import { privateFiles } from "../../host/private-files.ts";
import { join as joinPath } from "node:path";

const defaultWaitMs = 900_000;
const defaultDiscoveryMs = 10_000;

/**
 * Joins this machine: discovers the hub without trusting the network, requests a node's client certificate with a key that never leaves
 * the machine, waits for the decision, and lays the files out as a kubelet does. An interrupted join is resumed by running it again; a
 * complete one is left alone. No credential leaves the machine before the hub is verified. @throws JoinError, the only error it throws
 * for failures outside of this program
 */
export async function join(options: JoinOptions, report: JoinReport): Promise<Joined> {
  const plan = planOf(options, report);
  const { folder, nodeName, clock, force } = plan;
  await plan.check();
  await folder.prepare();
  const existing = force ? undefined : await existingJoin(folder, clock.now());
  if (existing !== undefined && plan.pins !== undefined) {
    requireSameJoin(existing, { nodeName, hub: { pins: plan.pins } });
    return alreadyJoined(existing, plan);
  }
  const access = await plan.discover();
  if (existing !== undefined) {
    requireSameJoin(existing, { nodeName, hub: { caPem: access.caPem } });
    return alreadyJoined(existing, plan);
  }
  const now = clock.now();
  const validUntil = force ? undefined : await credentialFor(folder, { nodeName, caPem: access.caPem, now });
  if (validUntil !== undefined) {
    report({ kind: "credential-found", path: folder.current, validUntil });
    await writeHub(plan, access);
    return joined(plan, access.server, { validUntil });
  }
  return joined(plan, access.server, await (force ? enrolWithNewKey(plan, access) : enrol(plan, access)));
}

/**
 * With another key, and this machine's certificate if it is still valid: a hub lets a node renew its own name, while with a token alone
 * an approver must decide on a name that is in use. With the given credentials where the hub rejects that certificate.
 */
async function enrolWithNewKey(plan: Plan, access: HubAccess): Promise<Enrolled> {
  const { folder, nodeName, clock } = plan;
  const isOwn = (await credentialFor(folder, { nodeName, caPem: access.caPem, now: clock.now() })) !== undefined;
  const kept = isOwn ? readStoredCertificate((await folder.read(folder.current)) ?? "") : undefined;
  if (kept === undefined) return enrol(plan, access);
  const credentials = { clientCertPem: kept.certificatesPem, clientKeyPem: kept.keyPem };
  const identity = { credentials: () => credentials };
  try {
    return await enrol(plan, { ...access, identity, credentialName: "the certificate of this machine" });
  } catch (error) {
    if (!(error instanceof JoinError) || !refusedCodes.has(error.code)) throw error;
    plan.report({
      kind: "retrying",
      code: error.code,
      message: `the hub does not accept the certificate that this machine holds (${error.causeCode ?? error.code}); a certificate is requested with the given credentials`,
    });
    return enrol({ ...plan, refusedUser: nodeUser(nodeName) }, access);
  }
}

const refusedCodes: ReadonlySet<JoinError["code"]> = new Set(["unauthorized", "forbidden", "failed"]);

interface Plan extends Enrolment {
  /** The pins of the hub's CA, where some were given. */
  readonly pins: readonly CaPin[] | undefined;
  /** Reads the discovery file, where there is one, before anything is created. @throws JoinError */
  readonly check: () => Promise<void>;
  readonly discover: () => Promise<HubAccess>;
}

function planOf(options: JoinOptions, report: JoinReport): Plan {
  const defaults = joinDefaults({ hostname: hostname(), uid: process.getuid?.(), home: homedir() });
  const { certDir = defaults.certDir, kubeconfig = defaults.kubeconfig, clock, signal } = options;
  const discoveryMs = options.discoveryTimeoutMs ?? defaultDiscoveryMs;
  const userAgent = options.userAgent ?? "pratique-agent";
  return {
    nodeName: requireNodeName(options.nodeName ?? defaults.nodeName),
    folder: joinFolder({ certDir, kubeconfig }, options.files ?? privateFiles),
    serving: options.serving,
    force: options.force ?? false,
    waitMs: options.waitMs ?? defaultWaitMs,
    discoveryMs,
    userAgent,
    clock,
    random: options.random,
    signal,
    report,
    ...discoveryOf(options.discovery, {
      clock,
      timeoutMs: discoveryMs,
      report,
      signal,
      userAgent,
    }),
  };
}

function discoveryOf(discovery: Discovery, context: DiscoveryContext): Pick<Plan, "pins" | "check" | "discover"> {
  switch (discovery.kind) {
    case "token": {
      const wanted = tokenDiscovery(discovery);
      const pins = wanted.pins === "unsafe-skip" ? undefined : wanted.pins;
      return { pins, check: async () => undefined, discover: () => discoverByToken(wanted, context) };
    }
    case "file": {
      let read: Promise<FileDiscovery> | undefined;
      const file = (): Promise<FileDiscovery> => (read ??= fileDiscovery(discovery, context));
      return {
        pins: undefined,
        check: async () => void (await file()),
        discover: async () => discoverByFile(await file(), context),
      };
    }
    case "bootstrap-kubeconfig":
      return {
        pins: undefined,
        check: async () =>
          void (await bootstrapKubeconfigAccess(discovery.path, { ...context, report: () => undefined })),
        discover: () => bootstrapKubeconfigAccess(discovery.path, context),
      };
  }
}

async function alreadyJoined(existing: ExistingJoin, plan: Plan): Promise<Joined> {
  // A join that was killed at its last step has left a copy of the key.
  await plan.folder.remove(plan.folder.pendingKey);
  if (plan.serving !== undefined) await writeRecord(plan.folder, plan.serving);
  return { ...joined(plan, existing.server, { validUntil: existing.validUntil }), outcome: "already-joined" };
}

function joined(
  { folder, nodeName }: Plan,
  server: string,
  result: { readonly validUntil: number; readonly requestName?: string },
): Joined {
  const { certDir, kubeconfig, current } = folder;
  return { outcome: "joined", nodeName, server, certDir, kubeconfig, credentialFile: current, ...result };
}

/** The defaults of a join. */
export interface JoinDefaults {
  readonly nodeName: string;
  readonly certDir: string;
  readonly kubeconfig: string;
}

/**
 * The defaults for this machine: the host name in lower case, and the paths of a kubelet for root (`uid` 0), a folder under the home of
 * any other user. @see pkg/kubelet/util nodeutil GetHostname
 */
export function joinDefaults(machine: {
  readonly hostname: string;
  readonly uid: number | undefined;
  readonly home: string;
}): JoinDefaults {
  const nodeName = machine.hostname.trim().toLowerCase();
  if (machine.uid === 0) {
    return { nodeName, certDir: "/var/lib/kubelet/pki", kubeconfig: "/etc/kubernetes/kubelet.conf" };
  }
  const folder = joinPath(machine.home, ".pratique", "agent");
  return { nodeName, certDir: joinPath(folder, "pki"), kubeconfig: joinPath(folder, "kubelet.conf") };
}
