import { createPrivateKey, X509Certificate } from "node:crypto";
import type { YamlValue } from "../serializer/yaml/bounded-yaml.ts";
import { systemErrorText } from "../apimachinery/system-error.ts";
import { readExecConfig, type ExecConfig } from "./exec-config.ts";
import type { Impersonation } from "./transport.ts";
import { KubeconfigError, type Kubeconfig, type KubeconfigEntry } from "./kubeconfig.ts";
import { parseProxy } from "./proxy.ts";

/** Everything a client needs to know of one context. Credentials in it are secret. */
export interface ResolvedKubeconfig {
  readonly context: string;
  /** An `https://` URL. */
  readonly server: string;
  /** Default `default`. */
  readonly namespace: string;
  readonly insecureSkipTlsVerify: boolean;
  /** Absent: the system's roots. */
  readonly caPem?: string | undefined;
  readonly tlsServerName?: string | undefined;
  /** Certificate and key come together. */
  readonly clientCertPem?: string | undefined;
  readonly clientKeyPem?: string | undefined;
  readonly token?: string | undefined;
  /** Where the credentials were read from, for whoever reads them again after a rotation. */
  readonly clientCertFile?: string | undefined;
  readonly clientKeyFile?: string | undefined;
  readonly tokenFile?: string | undefined;
  /** The program that gives the credential, where neither a certificate nor a token does. */
  readonly exec?: ExecPlugin | undefined;
  /** As whom every request asks to be done. */
  readonly impersonate?: Impersonation | undefined;
  /** The way to the server; it may hold a password. */
  readonly proxyUrl?: string | undefined;
}

/** A credential plugin, and what its cluster says to it. */
export interface ExecPlugin extends ExecConfig {
  readonly extension?: YamlValue | undefined;
}

/** How a context is resolved. */
export interface ResolveOptions {
  /** Default: the current context. */
  readonly context?: string | undefined;
  /** Reads the files to which the kubeconfig points. */
  readonly readFile: (path: string) => Promise<Uint8Array>;
}

interface Found {
  readonly text: string;
  readonly file?: string;
}

const maxFileBytes = 1_048_576;

/**
 * Follows a context to its cluster and user and reads the files that they name; no program is run. Data counts before a file, a token
 * file before a token, and both and certificates before a program. Anything that cannot be honoured is refused, never passed over.
 * @throws KubeconfigError naming file and field
 */
export async function resolveKubeconfig(config: Kubeconfig, options: ResolveOptions): Promise<ResolvedKubeconfig> {
  const name = options.context ?? config.currentContext;
  if (name === "") {
    throw new KubeconfigError("missing", `${config.file}: current-context is not set${thereAre(config)}`);
  }
  const context = entryOf(config, "contexts", name);
  const cluster = entryOf(config, "clusters", context.texts.get("cluster") ?? "");
  const userName = context.texts.get("user");
  const user =
    userName === undefined ? {} : await userFacts(entryOf(config, "users", userName), cluster, options.readFile);
  return {
    context: name,
    namespace: context.texts.get("namespace") ?? "default",
    ...(await clusterFacts(cluster, options.readFile)),
    ...user,
  };
}

type ReadFile = ResolveOptions["readFile"];
type ClusterFacts = Pick<
  ResolvedKubeconfig,
  "server" | "insecureSkipTlsVerify" | "caPem" | "tlsServerName" | "proxyUrl"
>;
type UserFacts = Omit<ResolvedKubeconfig, keyof ClusterFacts | "context" | "namespace">;

function entryOf(config: Kubeconfig, list: "clusters" | "users" | "contexts", name: string): KubeconfigEntry {
  const entry = config[list].get(name);
  if (entry === undefined) {
    const others = list === "contexts" ? thereAre(config) : "";
    throw new KubeconfigError("missing", `${config.file}: there is no ${list}[${JSON.stringify(name)}]${others}`);
  }
  if (entry.unsupported !== undefined) {
    const next = instead[entry.unsupported] ?? "use a certificate, a token or a credential plugin (exec)";
    throw new KubeconfigError("unsupported", `${entry.where}.${entry.unsupported} is not supported; ${next}`);
  }
  return entry;
}

const instead: Readonly<Record<string, string>> = {
  "auth-provider":
    "client-go has removed it too: write a new kubeconfig with a credential plugin (exec), for example kubelogin for OIDC and Azure, gke-gcloud-auth-plugin for GKE",
};

/** The contexts to choose from, a few of them. */
function thereAre({ contexts }: Kubeconfig): string {
  const names = [...contexts.keys()].slice(0, 10);
  return names.length === 0 ? "" : `; contexts there: ${names.join(", ")}`;
}

async function clusterFacts(cluster: KubeconfigEntry, readFile: ReadFile): Promise<ClusterFacts> {
  const server = cluster.texts.get("server") ?? "";
  // Printable characters without `#`, `?` and `@`: neither a query nor credentials belong there.
  if (!/^https:\/\/[!"$->A-~]+$/i.test(server) || !URL.canParse(server)) {
    throw new KubeconfigError("bad-value", `${cluster.where}.server must be a URL that begins with https://`);
  }
  const { insecureSkipTlsVerify } = cluster;
  const ca = await dataOrFile(cluster, "certificate-authority", readFile);
  if (insecureSkipTlsVerify && ca !== undefined) {
    throw new KubeconfigError(
      "conflict",
      `${cluster.where} has both a certificate-authority and insecure-skip-tls-verify`,
    );
  }
  const proxyUrl = cluster.texts.get("proxy-url");
  if (proxyUrl !== undefined && (parseProxy(proxyUrl) === undefined || /^socks5h:/i.test(proxyUrl))) {
    // Its text may hold a password.
    throw new KubeconfigError(
      "bad-value",
      `${cluster.where}.proxy-url must be a URL that begins with http://, https:// or socks5://`,
    );
  }
  return {
    server,
    insecureSkipTlsVerify,
    proxyUrl,
    caPem: ca && pem(ca, "CERTIFICATE", `${cluster.where}.certificate-authority`),
    tlsServerName: cluster.texts.get("tls-server-name"),
  };
}

async function userFacts(user: KubeconfigEntry, cluster: KubeconfigEntry, readFile: ReadFile): Promise<UserFacts> {
  const certificate = await dataOrFile(user, "client-certificate", readFile);
  const key = await dataOrFile(user, "client-key", readFile);
  if ((certificate === undefined) !== (key === undefined)) {
    throw new KubeconfigError("missing", `${user.where} needs both client-certificate and client-key, or neither`);
  }
  const facts = { ...certificateFacts(user.where, certificate, key), ...(await tokenFacts(user, readFile)) };
  const exec = user.exec === undefined ? undefined : readExecConfig(user.exec, { file: "", ...user });
  const isProven = facts.token !== undefined || facts.clientCertPem !== undefined;
  const { execExtension: extension } = cluster;
  return {
    ...facts,
    exec: exec === undefined || isProven ? undefined : { ...exec, extension },
    ...impersonationFacts(user),
  };
}

function impersonationFacts({ where, texts, groups = [], extra = new Map() }: KubeconfigEntry): UserFacts {
  const user = texts.get("as");
  const uid = texts.get("as-uid");
  if (user !== undefined) return { impersonate: { user, groups, extra, uid } };
  if (uid === undefined && groups.length === 0 && extra.size === 0) return {};
  // Without it the request would be done as whom the credential names, with all its rights.
  throw new KubeconfigError(
    "missing",
    `${where} asks to act with a uid, groups or extra facts, but not as whom: set as`,
  );
}

function certificateFacts(where: string, certificate: Found | undefined, key: Found | undefined): UserFacts {
  if (certificate === undefined || key === undefined) {
    return {};
  }
  if (isOfAnotherKey(certificate.text, key.text)) {
    throw new KubeconfigError("bad-value", `${where}.client-key is not the key of client-certificate`);
  }
  return {
    clientCertPem: pem(certificate, "CERTIFICATE", `${where}.client-certificate`),
    clientKeyPem: pem(key, "PRIVATE KEY", `${where}.client-key`),
    clientCertFile: certificate.file,
    clientKeyFile: key.file,
  };
}

/** Whether both can be read and do not belong together; TLS says it in a way that sounds like a fault of the server. */
function isOfAnotherKey(certificate: string, key: string): boolean {
  try {
    return !new X509Certificate(certificate).checkPrivateKey(createPrivateKey(key));
  } catch {
    return false;
  }
}

async function tokenFacts(user: KubeconfigEntry, readFile: ReadFile): Promise<UserFacts> {
  const tokenFile = user.texts.get("tokenFile");
  const written = user.texts.get("token");
  // As in client-go, the token beside it serves where the file cannot be read.
  const inFile =
    tokenFile === undefined
      ? undefined
      : await fileText(tokenFile, `${user.where}.tokenFile`, readFile).catch((error: unknown) => {
          if (written === undefined) throw error;
          return undefined;
        });
  const token = inFile?.trim() ?? written;
  if (token === undefined) {
    return {};
  }
  // Only what may stand in a header; a line break would begin another.
  if (!/^[\u0021-\u007e]+$/.test(token)) {
    const field = inFile === undefined ? "token" : "tokenFile";
    throw new KubeconfigError("bad-value", `${user.where}.${field} is empty or holds characters that no token has`);
  }
  return { token, tokenFile };
}

async function dataOrFile(entry: KubeconfigEntry, field: string, readFile: ReadFile): Promise<Found | undefined> {
  const data = entry.texts.get(`${field}-data`);
  if (data !== undefined) {
    const compact = data.replaceAll(/[\r\n]/g, "");
    const bytes = Buffer.from(compact, "base64");
    if (bytes.toString("base64") !== compact) {
      throw new KubeconfigError("bad-value", `${entry.where}.${field}-data is not base64`);
    }
    return { text: bytes.toString("utf8") };
  }
  const file = entry.texts.get(field);
  return file === undefined ? undefined : { text: await fileText(file, `${entry.where}.${field}`, readFile), file };
}

async function fileText(path: string, where: string, readFile: ReadFile): Promise<string> {
  const bytes = await readFile(path).catch((error: unknown) => {
    const why = systemErrorText(error, { operation: "read", at: path });
    throw new KubeconfigError("unreadable-file", `${where}: ${why}`, { cause: error });
  });
  if (bytes.length > maxFileBytes) {
    throw new KubeconfigError("unreadable-file", `${where}: ${path} is larger than ${maxFileBytes} bytes`);
  }
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("utf8");
}

function pem(found: Found, label: string, where: string): string {
  if (!found.text.includes("-----BEGIN ") || !found.text.includes(`${label}-----`)) {
    throw new KubeconfigError(
      "bad-value",
      `${where}${found.file === undefined ? "-data" : ""} holds no PEM block ${label}`,
    );
  }
  return found.text;
}

const secretFields = ["client-key-data", "token"] as const;

/** Whether a kubeconfig itself holds a secret: a token, a private key, a password. One that only names files or a program holds none. */
export function holdsSecret({ users, clusters }: Kubeconfig): boolean {
  const isSecret = [...users.values()].some(
    // What is not supported (`password`, `auth-provider`) is secret, too.
    ({ texts, unsupported }) => unsupported !== undefined || secretFields.some((field) => texts.has(field)),
  );
  return isSecret || [...clusters.values()].some(({ texts }) => hasPassword(texts.get("proxy-url")));
}

function hasPassword(proxyUrl: string | undefined): boolean {
  return proxyUrl !== undefined && (parseProxy(proxyUrl)?.password ?? "") !== "";
}
