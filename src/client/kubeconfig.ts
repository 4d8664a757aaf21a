import { dirname, isAbsolute, join } from "node:path";
import { loadYaml, YamlError, type YamlObject, type YamlValue } from "../formats/bounded-yaml.ts";

/** Why a kubeconfig cannot be used. */
export type KubeconfigErrorCode =
  | "unparseable"
  | "wrong-type"
  | "missing"
  | "bad-value"
  | "conflict"
  | "unsupported"
  | "unreadable-file";

/** A kubeconfig that cannot be used. The message names file and field, and holds no credential. */
export class KubeconfigError extends Error {
  readonly code: KubeconfigErrorCode;

  constructor(code: KubeconfigErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "KubeconfigError";
    this.code = code;
  }
}

/** One cluster, user or context. */
export interface KubeconfigEntry {
  /** File and field, for messages: `/etc/a.conf: clusters["x"]`. */
  readonly where: string;
  /** The fields that are understood and not empty, by their names in the file; file names are made absolute or relative to the kubeconfig's own folder. */
  readonly texts: ReadonlyMap<string, string>;
  readonly insecureSkipTlsVerify: boolean;
  /** A field that this client cannot honour; whoever uses the entry must refuse. */
  readonly unsupported: string | undefined;
}

/** A kubeconfig that was read; nothing that it points to was. */
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
  texts: ["server", "tls-server-name", "certificate-authority-data"],
  files: ["certificate-authority"],
  unsupported: ["proxy-url"],
};

const userKind: EntryKind = {
  list: "users",
  field: "user",
  texts: ["client-certificate-data", "client-key-data", "token"],
  files: ["client-certificate", "client-key", "tokenFile"],
  unsupported: ["exec", "auth-provider", "username", "password", "as", "as-uid", "as-groups", "as-user-extra"],
};

const contextKind: EntryKind = {
  list: "contexts",
  field: "context",
  texts: ["cluster", "user", "namespace"],
  files: [],
  unsupported: [],
};

const maximumCharacters = 1_048_576;

/**
 * Reads a kubeconfig in YAML or JSON, at most 1 MiB. `file` is its path: relative paths inside are relative to its folder, and
 * messages name it. Fields that are not known are passed over; known ones must be of their type.
 * @throws KubeconfigError @see client-go tools/clientcmd
 */
export function parseKubeconfig(text: string, file: string): Kubeconfig {
  const root = readRoot(text, file);
  const kind = root["kind"] ?? "Config";
  if (kind !== "Config") {
    throw new KubeconfigError("wrong-type", `${file}: kind must be Config`);
  }
  return {
    file,
    currentContext: textField(root, "current-context", file),
    clusters: entries(root, clusterKind, file),
    users: entries(root, userKind, file),
    contexts: entries(root, contextKind, file),
  };
}

/** Several kubeconfigs as one, as `KUBECONFIG` lists them: of two entries of one name, and of two current contexts, the first counts. */
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

function readRoot(text: string, file: string): YamlObject {
  try {
    const root = loadYaml(text, { maximumCharacters: maximumCharacters });
    if (isObject(root)) {
      return root;
    }
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
  if (!Array.isArray(list)) {
    throw new KubeconfigError("wrong-type", `${file}: ${kind.list} must be a list`);
  }
  const found = new Map<string, KubeconfigEntry>();
  for (const item of list as readonly YamlValue[]) {
    if (!isObject(item) || typeof own(item, "name") !== "string") {
      throw new KubeconfigError("wrong-type", `${file}: ${kind.list} must hold mappings with a name`);
    }
    const name = textField(item, "name", file);
    const where = `${file}: ${kind.list}[${JSON.stringify(name)}]`;
    if (found.has(name)) {
      throw new KubeconfigError("conflict", `${where} stands there twice`);
    }
    const content = own(item, kind.field) ?? {};
    if (!isObject(content)) {
      throw new KubeconfigError("wrong-type", `${where}.${kind.field} must be a mapping`);
    }
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
  if (typeof insecure !== "boolean") {
    throw new KubeconfigError("wrong-type", `${at.where}.insecure-skip-tls-verify must be true or false`);
  }
  const unsupported = kind.unsupported.find((field) => !isEmpty(own(content, field)));
  return { where: at.where, texts, insecureSkipTlsVerify: insecure, unsupported };
}

function textField(record: YamlObject, field: string, where: string): string {
  const value = own(record, field) ?? "";
  if (typeof value !== "string") {
    throw new KubeconfigError("wrong-type", `${where}: ${field} must be text`);
  }
  return value;
}

function own(record: YamlObject, key: string): YamlValue | undefined {
  return Object.hasOwn(record, key) ? record[key] : undefined;
}

function isObject(value: YamlValue): value is YamlObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isEmpty(value: YamlValue | undefined): boolean {
  return (
    value === undefined ||
    value === null ||
    value === "" ||
    (typeof value === "object" && Object.keys(value).length === 0)
  );
}
