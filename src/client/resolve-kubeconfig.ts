import { createPrivateKey, X509Certificate } from "node:crypto";
import type { YamlValue } from "../serializer/yaml/bounded-yaml.ts";
import { systemErrorText } from "../apimachinery/system-error.ts";
import { readExecConfig, type ExecConfig } from "./exec-config.ts";
import type { Impersonation } from "./transport.ts";
import { KubeconfigError, type Kubeconfig, type KubeconfigEntry } from "./kubeconfig.ts";
import type { KubeconfigErrorCode } from "./kubeconfig-fields.ts";
import { parseProxy } from "./proxy.ts";

/** The settings of one context. Credentials in it are secret. */
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
  /** The files of the credentials, for reading them again after a rotation. */
  readonly clientCertFile?: string | undefined;
  readonly clientKeyFile?: string | undefined;
  readonly tokenFile?: string | undefined;
  /** The plugin for the credential, where neither a certificate nor a token is set. */
  readonly exec?: ExecPlugin | undefined;
  /** The impersonated user of every request. */
  readonly impersonate?: Impersonation | undefined;
  /** The proxy; it may contain a password. */
  readonly proxyUrl?: string | undefined;
}

/** A credential plugin, and its settings from the cluster entry. */
export interface ExecPlugin extends ExecConfig {
  readonly extension?: YamlValue | undefined;
}

/** The inputs of a resolution. */
export interface ResolveOptions {
  /** Default: the current context. */
  readonly context?: string | undefined;
  /** Reads the files that the kubeconfig names. */
  readonly readFile: (path: string) => Promise<Uint8Array>;
}

type ReadFile = ResolveOptions["readFile"];
type Facts = Partial<ResolvedKubeconfig>;

/** The text of a field, or of the file that it names. */
interface Found {
  readonly text: string;
  readonly file?: string;
  /** The field, for messages. */
  readonly where: string;
}

const maxFileBytes = 1_048_576;

/**
 * Resolves a context to its cluster and user and reads the files that they name; runs no program. Data precedes a file, a token file
 * precedes a token, and both and certificates precede a program. Unsupported fields are rejected, never ignored. @throws KubeconfigError
 * naming file and field
 */
export async function resolveKubeconfig(
  config: Kubeconfig,
  { context = config.currentContext, readFile }: ResolveOptions,
): Promise<ResolvedKubeconfig> {
  if (context === "") throw fail("missing", `${config.file}: current-context is not set${thereAre(config)}`);
  const { texts } = entryOf(config, "contexts", context);
  const cluster = entryOf(config, "clusters", texts.get("cluster") ?? "");
  const user = texts.get("user");
  const namespace = texts.get("namespace") ?? "default";
  const own = user === undefined ? {} : await userFacts(entryOf(config, "users", user), cluster, readFile);
  return { context, namespace, ...own, ...(await clusterFacts(cluster, readFile)) };
}

function fail(code: KubeconfigErrorCode, message: string, options?: ErrorOptions): KubeconfigError {
  return new KubeconfigError(code, message, options);
}

function entryOf(config: Kubeconfig, list: "clusters" | "users" | "contexts", name: string): KubeconfigEntry {
  const entry = config[list].get(name);
  if (entry === undefined) {
    const others = list === "contexts" ? thereAre(config) : "";
    throw fail("missing", `${config.file}: there is no ${list}[${JSON.stringify(name)}]${others}`);
  }
  const { unsupported, where } = entry;
  if (unsupported === undefined) return entry;
  const next = instead[unsupported] ?? "use a certificate, a token or a credential plugin (exec)";
  throw fail("unsupported", `${where}.${unsupported} is not supported; ${next}`);
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

async function clusterFacts(
  cluster: KubeconfigEntry,
  readFile: ReadFile,
): Promise<Facts & Pick<ResolvedKubeconfig, "server" | "insecureSkipTlsVerify">> {
  const { where, texts, insecureSkipTlsVerify } = cluster;
  const server = texts.get("server") ?? "";
  // Printable characters without `#`, `?` and `@`: neither a query nor credentials belong there.
  if (!/^https:\/\/[!"$->A-~]+$/i.test(server) || !URL.canParse(server)) {
    throw fail("bad-value", `${where}.server must be a URL that begins with https://`);
  }
  const ca = await dataOrFile(cluster, "certificate-authority", readFile);
  if (insecureSkipTlsVerify && ca !== undefined) {
    throw fail("conflict", `${where} has both a certificate-authority and insecure-skip-tls-verify`);
  }
  const proxyUrl = texts.get("proxy-url");
  if (proxyUrl !== undefined && (parseProxy(proxyUrl) === undefined || /^socks5h:/i.test(proxyUrl))) {
    // Its text may contain a password.
    throw fail("bad-value", `${where}.proxy-url must be a URL that begins with http://, https:// or socks5://`);
  }
  const caPem = ca && pem(ca, "CERTIFICATE");
  return { server, insecureSkipTlsVerify, proxyUrl, caPem, tlsServerName: texts.get("tls-server-name") };
}

async function userFacts(user: KubeconfigEntry, cluster: KubeconfigEntry, readFile: ReadFile): Promise<Facts> {
  const certificate = await dataOrFile(user, "client-certificate", readFile);
  const key = await dataOrFile(user, "client-key", readFile);
  if ((certificate === undefined) !== (key === undefined)) {
    throw fail("missing", `${user.where} needs both client-certificate and client-key, or neither`);
  }
  const pair = certificate && key && certificateFacts(certificate, key);
  const facts = { ...pair, ...(await tokenFacts(user, readFile)) };
  const exec = user.exec === undefined ? undefined : readExecConfig(user.exec, { file: "", ...user });
  const isUsed = exec !== undefined && facts.token === undefined && pair === undefined;
  const plugin = isUsed ? { ...exec, extension: cluster.execExtension } : undefined;
  return { ...facts, exec: plugin, impersonate: impersonationOf(user) };
}

function impersonationOf({ where, texts, groups = [], extra = new Map() }: KubeconfigEntry): Impersonation | undefined {
  const user = texts.get("as");
  const uid = texts.get("as-uid");
  if (user !== undefined) return { user, groups, extra, uid };
  if (uid === undefined && groups.length === 0 && extra.size === 0) return undefined;
  // Without it the request would run as the credential's own user, with all its rights.
  throw fail("missing", `${where} asks to act with a uid, groups or extra facts, but not as whom: set as`);
}

function certificateFacts(certificate: Found, key: Found): Facts {
  if (isOfAnotherKey(certificate.text, key.text)) {
    throw fail("bad-value", `${key.where.replace(/-data$/, "")} is not the key of client-certificate`);
  }
  return {
    clientCertPem: pem(certificate, "CERTIFICATE"),
    clientKeyPem: pem(key, "PRIVATE KEY"),
    clientCertFile: certificate.file,
    clientKeyFile: key.file,
  };
}

/** Whether both can be parsed and do not belong together; the TLS error would sound like a fault of the server. */
function isOfAnotherKey(certificate: string, key: string): boolean {
  try {
    return !new X509Certificate(certificate).checkPrivateKey(createPrivateKey(key));
  } catch {
    return false;
  }
}

async function tokenFacts({ texts, where }: KubeconfigEntry, readFile: ReadFile): Promise<Facts> {
  const tokenFile = texts.get("tokenFile");
  const written = texts.get("token");
  const reading = tokenFile === undefined ? undefined : fileText(tokenFile, `${where}.tokenFile`, readFile);
  // As in client-go, the token beside it is used where the file cannot be read.
  const inFile = await (written === undefined ? reading : reading?.catch(() => undefined));
  const token = inFile?.trim() ?? written;
  if (token === undefined) return {};
  // Only characters of a header value; a line break would start another header.
  if (/^[\u0021-\u007e]+$/.test(token)) return { token, tokenFile };
  const field = inFile === undefined ? "token" : "tokenFile";
  throw fail("bad-value", `${where}.${field} is empty or holds characters that no token has`);
}

async function dataOrFile(entry: KubeconfigEntry, field: string, readFile: ReadFile): Promise<Found | undefined> {
  const where = `${entry.where}.${field}`;
  const data = entry.texts.get(`${field}-data`);
  if (data !== undefined) {
    const compact = data.replaceAll(/[\r\n]/g, "");
    const bytes = Buffer.from(compact, "base64");
    if (bytes.toString("base64") !== compact) throw fail("bad-value", `${where}-data is not base64`);
    return { text: bytes.toString("utf8"), where: `${where}-data` };
  }
  const file = entry.texts.get(field);
  return file === undefined ? undefined : { text: await fileText(file, where, readFile), file, where };
}

async function fileText(path: string, where: string, readFile: ReadFile): Promise<string> {
  const bytes = await readFile(path).catch((error: unknown) => {
    const why = systemErrorText(error, { operation: "read", at: path });
    throw fail("unreadable-file", `${where}: ${why}`, { cause: error });
  });
  if (bytes.length > maxFileBytes) {
    throw fail("unreadable-file", `${where}: ${path} is larger than ${maxFileBytes} bytes`);
  }
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("utf8");
}

function pem({ text, where }: Found, label: string): string {
  if (text.includes("-----BEGIN ") && text.includes(`${label}-----`)) return text;
  throw fail("bad-value", `${where} holds no PEM block ${label}`);
}

const secretFields = ["client-key-data", "token"] as const;

/** Whether a kubeconfig itself contains a secret: a token, a private key, a password. One that only names files or a program contains none. */
export function holdsSecret({ users, clusters }: Kubeconfig): boolean {
  const isSecret = [...users.values()].some(
    // Unsupported fields (`password`, `auth-provider`) are secret, too.
    ({ texts, unsupported }) => unsupported !== undefined || secretFields.some((field) => texts.has(field)),
  );
  return isSecret || [...clusters.values()].some(({ texts }) => hasPassword(texts.get("proxy-url")));
}

function hasPassword(proxyUrl: string | undefined): boolean {
  return proxyUrl !== undefined && (parseProxy(proxyUrl)?.password ?? "") !== "";
}
