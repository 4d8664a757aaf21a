import { ConnectionError } from "../../client/client.ts";
import type { RawReply, RemoteClient } from "../../client/remote.ts";
import type { ClientCredentials } from "../../client/transport.ts";
import { caCheckPath, caCheckServerName, deprecatedCaCheckPath } from "../../trust/ca-check.ts";
import { clusterInfoPath, parseClusterInfo } from "../../trust/cluster-info.ts";
import { certificatesOfBundle } from "../../trust/pins.ts";
import type { AgentWorld, KeptName } from "../credential-event.ts";
import type { Manager, Turn } from "../run-managers.ts";
import type { NodeHubAddress } from "../node-client.ts";
import { hubClient } from "../../host/hub-client.ts";
import { probeCredential } from "../proof/credential-probe.ts";
import { followAddress, type FollowAddressOptions } from "./follow-address.ts";
import { parsedJson } from "../../client/replies.ts";
import { stringAt } from "../../apis/json-fields.ts";

/** The CAs that a machine trusts for its hub, and its identity there. The credentials are secret. */
export interface Trust extends NodeHubAddress {
  readonly credentials: ClientCredentials;
}

/** The files of the trust bundle. */
export interface TrustFiles {
  /** The CA file that other programs read. */
  readonly ca: string;
  /** The kubeconfig that contains it as well. */
  readonly kubeconfig: string;
  /** The file of the last address from cluster-info; absent: a new address is not followed. */
  readonly published?: string;
  /** Reads the present contents. @throws JoinError no-access */
  readonly read: () => Promise<Trust>;
  readonly text: (path: string) => Promise<string | undefined>;
  /** Replaces a file as a whole. @throws JoinError write-failed */
  readonly write: (path: string, content: string) => Promise<void>;
}

/** The parameters of the manager. */
export interface TrustBundleManagerOptions extends Omit<AgentWorld, "once"> {
  readonly files: TrustFiles;
  /** Receives at the end of each check the certificate (DER) that the hub presented; undefined where it was not reached. */
  readonly shown?: ((leaf: Uint8Array | undefined) => void) | undefined;
}

const everyMs = 3_600_000;
const timeoutMs = 30_000;
const maxReplyBytes = 1_048_576;

/**
 * Updates the CAs that a machine trusts, and where its files allow it the address of the hub, from the hub's cluster-info, once an hour:
 * read over TLS that is verified by the CAs trusted so far, and written only when the hub can be reached with the new ones alone. During
 * a CA rotation it proves to the hub that it trusts the newest. A hub with no cluster-info, or an invalid one, changes nothing. The
 * manager throws JoinError no-access and write-failed.
 */
export function trustBundleManager(options: TrustBundleManagerOptions): Manager {
  const { files, clock, report, fraction } = options;
  const name: KeptName = { kind: "ca", path: files.ca };
  let complaint = "";
  let last: { readonly at: number; readonly until: number } | undefined;

  async function looked(signal: AbortSignal): Promise<string | undefined> {
    let leaf: Uint8Array | undefined;
    const asking: Asking = { ...options, signal, serverSeen: (seen) => (leaf = seen) };
    try {
      const trust = await files.read();
      const found = await publishedCas(trust, asking);
      if (typeof found === "string") return found;
      const failed = await taken(trust, found.caPem, asking);
      return failed ?? (await followAddress(await files.read(), found.server, following(asking)));
    } finally {
      options.shown?.(leaf);
    }
  }

  return {
    name,
    act: async (signal): Promise<Turn> => {
      const now = clock.now();
      // The loop calls more often than that. A clock that was set back would else prolong the wait by as much.
      if (last !== undefined && last.at <= now && now < last.until) return { kind: "wait", until: last.until };
      // Spreads machines that were started together.
      const until = now + Math.round(everyMs * (0.8 + 0.4 * fraction()));
      last = { at: now, until };
      const failed = await looked(signal);
      if (failed !== undefined && failed !== complaint && !signal.aborted) {
        report({ ...name, reason: "RenewalFailed", message: failed, at: until });
      }
      complaint = failed ?? "";
      return { kind: "wait", until };
    },
  };
}

/** The contents of a hub's cluster-info. */
export interface PublishedHub {
  readonly server: string;
  readonly caPem: string;
}

function following(asking: Asking): FollowAddressOptions {
  const { files, report, clock, userAgent, signal } = asking;
  // A certificate from an address that is not in use does not apply to the hub in use.
  const elsewhere = { ...asking, serverSeen: undefined };
  return {
    files,
    report,
    name: { kind: "ca", path: files.ca },
    published: (trust) => publishedCas(trust, elsewhere),
    ask: (trust) => probeCredential(trust, { clock, userAgent, signal }),
  };
}

type Asking = TrustBundleManagerOptions & {
  readonly signal: AbortSignal;
  readonly serverSeen: ((leaf: Uint8Array) => void) | undefined;
};

/** Writes changed CAs once they are verified, and proves to the hub that they are trusted. A returned text is the reason why not. */
async function taken(trust: Trust, caPem: string, asking: Asking): Promise<string | undefined> {
  const { files, report } = asking;
  if (!sameCas(caPem, trust.caPem)) {
    const again = await publishedCas({ ...trust, caPem }, asking);
    if (typeof again === "string")
      return `cluster-info has other CAs, but the hub cannot be reached with them: ${again}`;
    if (!sameCas(again.caPem, caPem)) return "cluster-info has other CAs at each read";
    const pins = certificatesOfBundle(caPem).map(({ pin }) => pin);
    await written({ ...trust, caPem }, trust.caPem, files);
    const message = "CA bundle updated from cluster-info";
    report({ kind: "ca", path: files.ca, reason: "TrustBundleUpdated", message, details: { pins } });
  }
  if (certificatesOfBundle(caPem).length > 1) await shown({ ...trust, caPem }, asking);
  return undefined;
}

/** The kubeconfig last: the agent itself reads it, so that the next check repairs a crash in between. */
async function written(next: Trust, before: string, files: TrustFiles): Promise<void> {
  const kubeconfig = (await files.text(files.kubeconfig)) ?? "";
  const changed = withCa(kubeconfig, before, next.caPem);
  if ((await files.text(files.ca)) !== undefined) await files.write(files.ca, next.caPem);
  if (changed !== undefined) await files.write(files.kubeconfig, changed);
}

/** The text of a kubeconfig with its CA replaced by another; undefined where it does not contain it. */
function withCa(kubeconfig: string, before: string, after: string): string | undefined {
  const base64 = (pem: string): string => Buffer.from(pem).toString("base64");
  const old = `certificate-authority-data: ${base64(before)}`;
  return kubeconfig.includes(old)
    ? kubeconfig.replaceAll(old, () => `certificate-authority-data: ${base64(after)}`)
    : undefined;
}

/** The CAs in cluster-info, or why they cannot be read. It needs no credential; one is sent only to a hub that requires it. */
async function publishedCas(trust: Trust, asking: Asking): Promise<PublishedHub | string> {
  const ask = (client: RemoteClient): Promise<RawReply> =>
    client.raw("GET", clusterInfoPath, { signal: asking.signal });
  const first = await calling({ ...trust, credentials: {} }, asking, ask);
  const isRefused = typeof first !== "string" && (first.status === 401 || first.status === 403);
  const reply = isRefused ? await calling(trust, asking, ask) : first;
  return typeof reply === "string" ? reply : casIn(reply, trust);
}

function casIn(reply: RawReply, trust: Trust): PublishedHub | string {
  if (reply.status !== 200) return `${trust.server} shows no cluster-info (status ${reply.status})`;
  const info = clusterInfoIn(reply.body);
  return info.kind === "parsed" ? { caPem: info.caPem, server: info.server } : info.message;
}

/** The contents of the ConfigMap cluster-info. */
export function clusterInfoIn(body: Buffer): ReturnType<typeof parseClusterInfo> {
  return parseClusterInfo(stringAt(parsedJson(body), "data", "kubeconfig"));
}

/** Only the hub's operator needs the result, so a hub that does not know the server name is no failure. */
async function shown(trust: Trust, asking: Asking): Promise<void> {
  const { signal } = asking;
  // A certificate for another server name does not show which CA signs.
  const elsewhere = { ...asking, serverSeen: undefined };
  await calling({ ...trust, tlsServerName: caCheckServerName }, elsewhere, async (client) => {
    const { status } = await client.raw("GET", caCheckPath, { signal });
    // A hub of the last release allows only the path of that release.
    if (status === 403 || status === 404) await client.raw("GET", deprecatedCaCheckPath, { signal });
    return "";
  });
}

async function calling<T>(
  { credentials, ...address }: Trust,
  { clock, userAgent, serverSeen }: Asking,
  call: (client: RemoteClient) => Promise<T>,
): Promise<T | string> {
  const client = hubClient({
    ...address,
    ...credentials,
    serverSeen,
    clock,
    userAgent,
    timeoutMs,
    maxReplyBytes,
    retryBudgetMs: 0,
  });
  try {
    return await call(client);
  } catch (error) {
    if (!(error instanceof ConnectionError)) throw error;
    return error.message;
  } finally {
    client.close();
  }
}

function sameCas(one: string, other: string): boolean {
  const keys = (pem: string): string =>
    certificatesOfBundle(pem)
      .map((certificate) => certificate.pem)
      .toSorted()
      .join("");
  return keys(one) === keys(other);
}
