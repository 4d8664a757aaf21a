import { currentContextOf, KubeconfigError, parseKubeconfig } from "../client/kubeconfig.ts";
import type { RemoteClient } from "../client/remote.ts";
import type { AgentWorld } from "./credential-event.ts";
import { JoinError } from "./join-error.ts";
import { readStoredCertificate, type StoredCertificate } from "./storage/stored-certificate.ts";
import type { ServingNames } from "./request/certificate-request.ts";
import { nodeUser } from "./request/node-identity.ts";
import { hubClient } from "../host/hub-client.ts";

/** The inputs of a node's connection to its hub. */
export interface NodeHubOptions extends Pick<AgentWorld, "clock" | "fraction" | "userAgent"> {
  readonly kubeconfig: string;
  /** The file with the node's client certificate and key. */
  readonly current: string;
  readonly text: (path: string) => Promise<string | undefined>;
}

/** The hub of a node. All certificate managers of the node share it. */
export interface NodeHub {
  /** Reads address and CA of the hub, and the node's identity, from the current files. @throws JoinError no-access */
  open(): Promise<NodeSession>;
  /** Closes all connections; calls in progress fail and are repeated with the current certificate. */
  moved(): void;
}

/** One session with the hub. The caller that opened it closes it. */
export interface NodeSession {
  readonly server: string;
  readonly caPem: string;
  readonly nodeName: string;
  readonly identity: StoredCertificate;
  /** Authenticates as the node, always with the certificate in use at the time. */
  readonly client: RemoteClient;
  /** Authenticates with a certificate that is not in use yet. */
  clientWith(credential: { readonly clientCertPem: string; readonly clientKeyPem: string }): RemoteClient;
  close(): void;
}

/** A certificate of a node in use, with the session in which the next one is requested. */
export interface HeldCertificate {
  readonly session: NodeSession;
  /** Undefined while there is none. */
  readonly current: StoredCertificate | undefined;
  /** The names that it must have; absent: a client certificate. */
  readonly serving: ServingNames | undefined;
}

const timeoutMs = 30_000;
const userPrefix = nodeUser("");

/** The hub that a kubeconfig names. Reads nothing yet. */
export function nodeHub(options: NodeHubOptions): NodeHub {
  const sessions = new Set<RemoteClient>();
  return {
    open: async () => {
      const address = await nodeHubAddress(options);
      const identity = await identityIn(options);
      const common = {
        ...address,
        userAgent: options.userAgent,
        timeoutMs,
        clock: options.clock,
        random: options.fraction,
        // Pauses belong to the managers, which report and store them.
        retryBudgetMs: 0,
      };
      const client = hubClient({
        ...common,
        credentials: async () => {
          const now = await identityIn(options).catch(() => identity);
          return { clientCertPem: now.certificatesPem, clientKeyPem: now.keyPem };
        },
      });
      sessions.add(client);
      return {
        server: address.server,
        caPem: address.caPem,
        identity,
        nodeName: identity.commonName.slice(userPrefix.length),
        client,
        clientWith: (credential) => hubClient({ ...common, ...credential }),
        close: () => {
          sessions.delete(client);
          client.close();
        },
      };
    },
    moved: () => {
      for (const client of sessions) client.close();
    },
  };
}

async function identityIn(options: NodeHubOptions): Promise<StoredCertificate> {
  const identity = await nodeCertificate(options);
  if (identity.commonName.startsWith(userPrefix)) return identity;
  throw new JoinError("no-access", `${options.current} is not the certificate of a node`);
}

/** The certificate in a file, with its key. @throws JoinError no-access */
export async function nodeCertificate({
  current,
  text,
}: Pick<NodeHubOptions, "current" | "text">): Promise<StoredCertificate> {
  const kept = readStoredCertificate((await text(current)) ?? "");
  if (kept !== undefined) return kept;
  throw new JoinError("no-access", `${current} holds no certificate with its key: join again with pratique join`);
}

/** Address, CA and proxy of a hub. */
export interface NodeHubAddress {
  /** An `https://` URL. */
  readonly server: string;
  readonly caPem: string;
  /** The proxy; it may contain a password. */
  readonly proxyUrl?: string | undefined;
  readonly tlsServerName?: string | undefined;
}

/** Address and CA of the hub that a kubeconfig names. @throws JoinError no-access */
export async function nodeHubAddress({
  kubeconfig,
  text,
}: Pick<NodeHubOptions, "kubeconfig" | "text">): Promise<NodeHubAddress> {
  const content = await text(kubeconfig);
  const fail = (why: string): JoinError =>
    new JoinError("no-access", `${kubeconfig} ${why}: join again with pratique join`);
  if (content === undefined) throw fail("is not there");
  const context = readable(() => currentContextOf(parseKubeconfig(content, kubeconfig)), fail);
  const { server, proxyUrl, tlsServerName, cluster } = context;
  const file = cluster?.texts.get("certificate-authority");
  const caPem = context.caPem ?? (file && (await text(file)));
  if (server === undefined || caPem === undefined || caPem === "") throw fail("does not name a hub and its CA");
  return { server, caPem, proxyUrl, tlsServerName };
}

function readable<T>(read: () => T, fail: (why: string) => JoinError): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof KubeconfigError)) throw error;
    throw fail(`cannot be used (${error.message})`);
  }
}
