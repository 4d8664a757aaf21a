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

/** What a machine believes of its hub, and who it is there. The credentials are secret. */
export interface Trust extends NodeHubAddress {
  readonly credentials: ClientCredentials;
}

/** Where it stands in files. */
export interface TrustFiles {
  /** The file by which others find the CA. */
  readonly ca: string;
  /** The kubeconfig that names it as well. */
  readonly kubeconfig: string;
  /** Where the address is kept that the hub told last; absent: it is not followed to another. */
  readonly published?: string;
  /** As the files say it now. @throws JoinError no-access */
  readonly read: () => Promise<Trust>;
  readonly text: (path: string) => Promise<string | undefined>;
  /** Replaces a file as a whole. @throws JoinError write-failed */
  readonly write: (path: string, content: string) => Promise<void>;
}

/** How it is kept. */
export interface TrustBundleManagerOptions extends Omit<AgentWorld, "once"> {
  readonly files: TrustFiles;
  /** Is told at the end of each look by which certificate (DER) the hub was known; undefined where it was not reached. */
  readonly shown?: ((leaf: Uint8Array | undefined) => void) | undefined;
}

const everyMs = 3_600_000;
const timeoutMs = 30_000;
const maxReplyBytes = 1_048_576;

/**
 * Keeps the CAs that a machine trusts, and where the files say so the address of the hub, as its hub tells them in cluster-info, once an hour: told over TLS that is verified by what it
 * trusts already, and written only when the hub can be reached with the new ones alone. While a change of the CA is under way it shows
 * the hub that it trusts the newest. A hub that tells nothing, or nothing that holds, changes nothing. Its keeper throws JoinError
 * no-access and write-failed.
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
      // Whoever keeps it looks more often. A clock that was set back would else wait for as long as it was set back.
      if (last !== undefined && last.at <= now && now < last.until) return { kind: "wait", until: last.until };
      // Many machines that were started together do not come together again.
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

/** What a hub says of itself in cluster-info. */
export interface PublishedHub {
  readonly server: string;
  readonly caPem: string;
}

function following(asking: Asking): FollowAddressOptions {
  const { files, report, clock, userAgent, signal } = asking;
  // What is shown at an address that is not in use says nothing of the hub in use.
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

/** Writes other CAs down once they have proven themselves, and shows the hub that they are trusted. A text says why not. */
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

/** The kubeconfig last: the agent itself reads that, so that a crash in between is mended at the next look. */
async function written(next: Trust, before: string, files: TrustFiles): Promise<void> {
  const kubeconfig = (await files.text(files.kubeconfig)) ?? "";
  const changed = withCa(kubeconfig, before, next.caPem);
  if ((await files.text(files.ca)) !== undefined) await files.write(files.ca, next.caPem);
  if (changed !== undefined) await files.write(files.kubeconfig, changed);
}

/** The text of a kubeconfig with another CA in the place of one that stands in it; undefined where it does not. */
function withCa(kubeconfig: string, before: string, after: string): string | undefined {
  const base64 = (pem: string): string => Buffer.from(pem).toString("base64");
  const old = `certificate-authority-data: ${base64(before)}`;
  return kubeconfig.includes(old)
    ? kubeconfig.replaceAll(old, () => `certificate-authority-data: ${base64(after)}`)
    : undefined;
}

/** The CAs in cluster-info, or why they cannot be read. It is there for those without a credential; one is shown only to a hub that wants it. */
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

/** What the ConfigMap cluster-info says. */
export function clusterInfoIn(body: Buffer): ReturnType<typeof parseClusterInfo> {
  return parseClusterInfo(stringAt(parsedJson(body), "data", "kubeconfig"));
}

/** Only the hub's operator needs the result, so a hub that does not know the server name is no failure. */
async function shown(trust: Trust, asking: Asking): Promise<void> {
  const { signal } = asking;
  // What is shown under another name says nothing of who signs.
  const elsewhere = { ...asking, serverSeen: undefined };
  await calling({ ...trust, tlsServerName: caCheckServerName }, elsewhere, async (client) => {
    const { status } = await client.raw("GET", caCheckPath, { signal });
    // A hub of the last release allows the path of that release only.
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
