import { dirname, isAbsolute, join } from "node:path";
import { loadYaml, YamlError, type YamlObject, type YamlValue } from "../serializer/yaml/bounded-yaml.ts";
import { isObject, KubeconfigError, own, textList, wrongType } from "./kubeconfig-fields.ts";

export { KubeconfigError } from "./kubeconfig-fields.ts";

/** One cluster, user or context. */
export interface KubeconfigEntry {
  /** File and field, for messages: `/etc/a.conf: clusters["x"]`. */
  readonly where: string;
  /** The known fields that are not empty, by their names in the file; file names are made absolute or relative to the kubeconfig's own folder. */
  readonly texts: ReadonlyMap<string, string>;
  readonly insecureSkipTlsVerify: boolean;
  /** Of a user: the groups and extra fields that it impersonates. */
  readonly groups?: readonly string[];
  readonly extra?: ReadonlyMap<string, readonly string[]>;
  /** Of a user: its credential plugin, unparsed; parsed when the user is chosen. */
  readonly exec?: YamlValue;
  /** Of a user: the kubeconfig that contains it. */
  readonly file?: string;
  /** Of a cluster: its extension for credential plugins. */
  readonly execExtension?: YamlValue;
  /** A field that this client does not support; the caller must reject the entry. */
  readonly unsupported: string | undefined;
}

/** A parsed kubeconfig; the files that it names are not read. */
export interface Kubeconfig {
  /** Its file, or its files. */
  readonly file: string;
  /** Empty when not set. */
  readonly currentContext: string;
  readonly clusters: ReadonlyMap<string, KubeconfigEntry>;
  readonly users: ReadonlyMap<string, KubeconfigEntry>;
  readonly contexts: ReadonlyMap<string, KubeconfigEntry>;
}

interface EntryKind {
  readonly list: "clusters" | "users" | "contexts";
  readonly field: string;
  readonly texts: readonly string[];
  readonly files: readonly string[];
  readonly unsupported: readonly string[];
}

const clusterKind: EntryKind = {
  list: "clusters",
  field: "cluster",
  texts: ["server", "tls-server-name", "certificate-authority-data", "proxy-url"],
  files: ["certificate-authority"],
  unsupported: [],
};

const userKind: EntryKind = {
  list: "users",
  field: "user",
  texts: ["client-certificate-data", "client-key-data", "token", "as", "as-uid"],
  files: ["client-certificate", "client-key", "tokenFile"],
  unsupported: ["auth-provider", "username", "password"],
};

const contextKind: EntryKind = {
  list: "contexts",
  field: "context",
  texts: ["cluster", "user", "namespace"],
  files: [],
  unsupported: [],
};

const maxCharacters = 1_048_576;
const execExtensionName = "client.authentication.k8s.io/exec";

/**
 * Reads a kubeconfig in YAML or JSON, at most 1 MiB. `file` is its path: relative paths inside are relative to its folder, and messages
 * name it. Unknown fields are ignored; known ones must be of their type. @throws KubeconfigError @see client-go tools/clientcmd
 */
export function parseKubeconfig(text: string, file: string): Kubeconfig {
  const root = readRoot(text, file);
  // An extension for a plugin keeps its numbers.
  const typed = text.includes(execExtensionName) ? readRoot(text, file, "number") : root;
  if ((root["kind"] ?? "Config") !== "Config") throw wrongType(`${file}: kind`, "Config");
  return {
    file,
    currentContext: textField(root, "current-context", file),
    clusters: withExtensions(entries(root, clusterKind, file), typed),
    users: entries(root, userKind, file),
    contexts: entries(root, contextKind, file),
  };
}

/** Several kubeconfigs as one, as `KUBECONFIG` lists them: of two entries of one name, and of two current contexts, the first one wins. */
export function mergeKubeconfigs(configs: readonly Kubeconfig[]): Kubeconfig {
  const merged = (list: EntryKind["list"]): ReadonlyMap<string, KubeconfigEntry> =>
    new Map(configs.toReversed().flatMap((config) => [...config[list]]));
  return {
    file: configs.map((config) => config.file).join(", "),
    currentContext: configs.find((config) => config.currentContext !== "")?.currentContext ?? "",
    clusters: merged("clusters"),
    users: merged("users"),
    contexts: merged("contexts"),
  };
}

/** The current context, unvalidated, with no file read; the URL of a proxy may contain a password. */
export interface CurrentContext {
  /** The name of the cluster, empty where the context names none. */
  readonly entry: string;
  readonly cluster: KubeconfigEntry | undefined;
  readonly user: KubeconfigEntry | undefined;
  readonly server: string | undefined;
  /** The CA inside the kubeconfig itself. */
  readonly caPem: string | undefined;
  readonly proxyUrl: string | undefined;
  readonly tlsServerName: string | undefined;
}

/** The entries of the current context, and the connection of its cluster. */
export function currentContextOf({ contexts, clusters, users, currentContext }: Kubeconfig): CurrentContext {
  const names = contexts.get(currentContext)?.texts;
  const entry = names?.get("cluster") ?? "";
  const cluster = clusters.get(entry);
  const texts: KubeconfigEntry["texts"] = cluster?.texts ?? new Map();
  const data = texts.get("certificate-authority-data");
  return {
    entry,
    cluster,
    user: users.get(names?.get("user") ?? ""),
    server: texts.get("server"),
    caPem: data && Buffer.from(data, "base64").toString("utf8"),
    proxyUrl: texts.get("proxy-url"),
    tlsServerName: texts.get("tls-server-name"),
  };
}

function readRoot(text: string, file: string, numbers: "text" | "number" = "text"): YamlObject {
  try {
    const root = loadYaml(text, { maxCharacters, numbers });
    if (isObject(root)) return root;
  } catch (error) {
    if (error instanceof YamlError) {
      throw new KubeconfigError("unparseable", `${file}: ${error.message}`, { cause: error });
    }
    throw error;
  }
  throw new KubeconfigError("unparseable", `${file}: not a kubeconfig: the document is not a mapping`);
}

function entries(root: YamlObject, kind: EntryKind, file: string): ReadonlyMap<string, KubeconfigEntry> {
  const list = own(root, kind.list) ?? [];
  if (!Array.isArray(list)) throw wrongType(`${file}: ${kind.list}`, "a list");
  const found = new Map<string, KubeconfigEntry>();
  for (const item of list as readonly YamlValue[]) {
    if (!isObject(item) || typeof own(item, "name") !== "string") {
      throw new KubeconfigError("wrong-type", `${file}: ${kind.list} must hold mappings with a name`);
    }
    const name = textField(item, "name", file);
    const where = `${file}: ${kind.list}[${JSON.stringify(name)}]`;
    if (found.has(name)) throw new KubeconfigError("conflict", `${where} stands there twice`);
    const content = own(item, kind.field) ?? {};
    if (!isObject(content)) throw wrongType(`${where}.${kind.field}`, "a mapping");
    found.set(name, entry(content, kind, { file, where }));
  }
  return found;
}

function entry(
  content: YamlObject,
  kind: EntryKind,
  at: { readonly file: string; readonly where: string },
): KubeconfigEntry {
  const texts = new Map<string, string>();
  for (const field of [...kind.texts, ...kind.files]) {
    const text = textField(content, field, at.where);
    if (text !== "") {
      const isRelative = kind.files.includes(field) && !isAbsolute(text);
      texts.set(field, isRelative ? join(dirname(at.file), text) : text);
    }
  }
  const insecure = own(content, "insecure-skip-tls-verify") ?? false;
  if (typeof insecure !== "boolean") throw wrongType(`${at.where}.insecure-skip-tls-verify`, "true or false");
  const unsupported = kind.unsupported.find((field) => !isEmpty(own(content, field)));
  const common = { where: at.where, texts, insecureSkipTlsVerify: insecure, unsupported };
  return kind === userKind ? { ...common, ...userParts(content, at) } : common;
}

function userParts(
  content: YamlObject,
  { file, where }: { readonly file: string; readonly where: string },
): Pick<KubeconfigEntry, "groups" | "extra" | "exec" | "file"> {
  const exec = own(content, "exec") ?? null;
  const extra = own(content, "as-user-extra") ?? {};
  if (!isObject(extra)) throw wrongType(`${where}.as-user-extra`, "a mapping");
  const facts = Object.entries(extra).map(
    ([key, values]) => [key, textList(values, `${where}.as-user-extra`)] as const,
  );
  return {
    file,
    groups: textList(own(content, "as-groups"), `${where}.as-groups`),
    extra: new Map(facts),
    ...(exec === null ? {} : { exec }),
  };
}

/** @see client-go tools/clientcmd/api Cluster.Extensions, pkg/apis/clientauthentication Cluster.Config */
function withExtensions(
  clusters: ReadonlyMap<string, KubeconfigEntry>,
  root: YamlObject,
): ReadonlyMap<string, KubeconfigEntry> {
  const all = new Map(clusters);
  for (const item of mappingsIn(own(root, clusterKind.list))) {
    const named = own(item, "name");
    // This parser reads a name of digits as a number.
    const name = typeof named === "string" ? named : JSON.stringify(named);
    const known = all.get(name);
    const cluster = own(item, clusterKind.field) ?? null;
    const extensions = isObject(cluster) ? mappingsIn(own(cluster, "extensions")) : [];
    const found = extensions.find((one) => own(one, "name") === execExtensionName);
    const value = found && own(found, "extension");
    if (known !== undefined && value !== undefined) all.set(name, { ...known, execExtension: value });
  }
  return all;
}

/** The mappings in a list. */
function mappingsIn(value: YamlValue | undefined): readonly YamlObject[] {
  return Array.isArray(value) ? (value as readonly YamlValue[]).filter(isObject) : [];
}

function textField(record: YamlObject, field: string, where: string): string {
  const value = own(record, field) ?? "";
  if (typeof value !== "string") throw wrongType(`${where}: ${field}`, "text");
  return value;
}

function isEmpty(value: YamlValue | undefined): boolean {
  return (
    value === undefined ||
    value === null ||
    value === "" ||
    (typeof value === "object" && Object.keys(value).length === 0)
  );
}
