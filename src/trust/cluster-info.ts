import { isJsonObject } from "../apimachinery/json-value.ts";
import { loadYaml, YamlError, type YamlObject, type YamlValue } from "../serializer/yaml/bounded-yaml.ts";
import { detachedJws, verifyDetachedJws, secretsEqual, type BootstrapToken } from "./token.ts";
import { type CaPin, certificatesOfBundle, type PinnableCertificate, pinnedCertificates, PinError } from "./pins.ts";

/** The ConfigMap with the hub's address and CA, which a joining machine reads before it trusts any CA. */
export const clusterInfoKey = { namespace: "kube-public", name: "cluster-info" } as const;

/** The path that every joining machine reads. The parameter is kubeadm's. @see cmd/kubeadm/app/discovery/token */
export const clusterInfoPath: string = `/api/v1/namespaces/${clusterInfoKey.namespace}/configmaps/${clusterInfoKey.name}?timeout=10s`;

const kubeconfigKey = "kubeconfig";
const signaturePrefix = "jws-kubeconfig-";
const maxCharacters = 262_144;

/** The data key that holds the signature of the token with this id. */
export function signatureKey(tokenId: string): string {
  return `${signaturePrefix}${tokenId}`;
}

/** The content of cluster-info: the address of the hub and its CA. */
export interface ClusterInfo {
  /** An `https://` URL. */
  readonly server: string;
  /** One or more certificates. */
  readonly caPem: string;
}

/**
 * The kubeconfig text of cluster-info, with one cluster named `""`, no users and no contexts. Its bytes are what tokens
 * sign, so the same input always returns the same text. @throws TypeError for a server that is not a plain https URL.
 */
export function clusterInfoKubeconfig(info: ClusterInfo): string {
  if (!isHubUrl(info.server)) {
    throw new TypeError(`${JSON.stringify(info.server)} is not an https URL of a hub`);
  }
  return `apiVersion: v1
clusters:
- cluster:
    certificate-authority-data: ${Buffer.from(info.caPem, "utf8").toString("base64")}
    server: ${info.server}
  name: ""
contexts: []
current-context: ""
kind: Config
preferences: {}
users: []
`;
}

/** Why cluster-info is not trusted. Only `no-signature` is worth a retry: the signer may not have run yet. */
export type ClusterInfoRefusal =
  | "no-kubeconfig"
  | "no-signature"
  | "bad-signature"
  | "unparseable"
  | "no-cluster"
  | "bad-server"
  | "bad-ca"
  | "pin-mismatch";

/** A cluster-info that cannot be read or trusted; the message contains no secret. */
export interface RefusedClusterInfo {
  readonly kind: "refused";
  readonly code: ClusterInfoRefusal;
  readonly message: string;
}

/** A cluster-info that passed every check. */
export interface VerifiedClusterInfo extends ClusterInfo {
  readonly kind: "verified";
  /** The signed text; the second, pinned read must return exactly the same. */
  readonly kubeconfig: string;
  /**
   * Only the certificates that are pinned; empty without pins. The second read must trust these alone: a holder of the token
   * can sign a bundle with a CA of its own beside the pinned one.
   */
  readonly pinnedCaPem: string;
}

/**
 * Verifies the data of the cluster-info ConfigMap from an unverified connection: signature of `token` over the
 * exact text, then its cluster, then its CA against `pins`. An empty list of pins matches nothing.
 * @see cmd/kubeadm/app/discovery/token
 */
export function verifyClusterInfo(question: {
  readonly data: Readonly<Record<string, unknown>> | undefined;
  readonly token: BootstrapToken;
  readonly pins: readonly CaPin[] | "unsafe-skip";
}): VerifiedClusterInfo | RefusedClusterInfo {
  const { token, pins } = question;
  const data = question.data ?? {};
  const kubeconfig = textOf(data, kubeconfigKey) ?? "";
  if (kubeconfig === "") return refused("no-kubeconfig", "cluster-info holds no kubeconfig");
  const signature = textOf(data, signatureKey(token.id)) ?? "";
  if (signature === "") {
    return refused(
      "no-signature",
      `cluster-info is not signed by the token ${token.id}: it is unknown there, expired, or may not sign`,
    );
  }
  if (!verifyDetachedJws(signature, kubeconfig, token)) {
    return refused(
      "bad-signature",
      `the signature of the token ${token.id} on cluster-info is wrong: the token's secret differs, or cluster-info was changed on its way`,
    );
  }
  const info = parseClusterInfo(kubeconfig);
  if (info.kind === "refused") return info;
  const { server, caPem, certificates } = info;
  if (pins === "unsafe-skip") return { kind: "verified", kubeconfig, server, caPem, pinnedCaPem: "" };
  const pinned = pinnedCertificates(pins, certificates);
  if (pinned.length === 0) {
    const found = certificates.map(({ pin }) => pin).join(", ");
    return refused("pin-mismatch", `the hub's CA is not the pinned one: it has ${found}`);
  }
  return { kind: "verified", kubeconfig, server, caPem, pinnedCaPem: pinned.map(({ pem }) => pem).join("") };
}

/** A parsed cluster-info kubeconfig. It is not verified yet. */
export interface ParsedClusterInfo extends ClusterInfo {
  readonly kind: "parsed";
  readonly certificates: readonly PinnableCertificate[];
}

/** Reads a cluster-info kubeconfig: the cluster named `""`, or else that of the current context. Never throws. */
export function parseClusterInfo(kubeconfig: string): ParsedClusterInfo | RefusedClusterInfo {
  const root = readRoot(kubeconfig);
  if (root === undefined) {
    return refused("unparseable", "the kubeconfig in cluster-info cannot be read");
  }
  const cluster = clusterNamed(root, "") ?? clusterNamed(root, currentCluster(root));
  if (cluster === undefined) {
    return refused(
      "no-cluster",
      "the kubeconfig in cluster-info has no cluster without a name and none in its current context",
    );
  }
  const server = textOf(cluster, "server") ?? "";
  if (!isHubUrl(server)) {
    return refused("bad-server", "the kubeconfig in cluster-info names no https server");
  }
  const caPem = Buffer.from(textOf(cluster, "certificate-authority-data") ?? "", "base64").toString("utf8");
  try {
    return { kind: "parsed", server, caPem, certificates: certificatesOfBundle(caPem) };
  } catch (error) {
    if (error instanceof PinError) {
      return refused("bad-ca", `cluster-info: ${error.message}`);
    }
    throw error;
  }
}

/**
 * The data of cluster-info with the signatures of exactly these tokens, or undefined when there is nothing to write: no
 * kubeconfig, or the signatures are current. Of tokens with one id the first counts. All other data stays byte for byte.
 * @see pkg/controller/bootstrap
 */
export function signClusterInfo(
  data: Readonly<Record<string, string>>,
  tokens: readonly BootstrapToken[],
): Readonly<Record<string, string>> | undefined {
  const content = textOf(data, kubeconfigKey);
  if (content === undefined) {
    return undefined;
  }
  const signatures = new Map<string, string>();
  for (const token of tokens) {
    const key = signatureKey(token.id);
    if (!signatures.has(key)) {
      signatures.set(key, detachedJws(content, token));
    }
  }
  const present = Object.entries(data).filter(([key]) => key.startsWith(signaturePrefix));
  const unchanged =
    present.length === signatures.size &&
    present.every(([key, value]) => {
      const wanted = signatures.get(key);
      return wanted !== undefined && secretsEqual(value, wanted);
    });
  const others = Object.entries(data).filter(([key]) => !key.startsWith(signaturePrefix));
  return unchanged ? undefined : Object.fromEntries([...others, ...signatures]);
}

function refused(code: ClusterInfoRefusal, message: string): RefusedClusterInfo {
  return { kind: "refused", code, message };
}

function isHubUrl(text: string): boolean {
  // Only characters that YAML keeps unchanged in a plain scalar; URL.canParse then checks the rest.
  return (
    /^https:\/\/[A-Za-z0-9.:[\]_~/%-]+$/.test(text) && text.length <= 2048 && !text.endsWith(":") && URL.canParse(text)
  );
}

function readRoot(kubeconfig: string): YamlObject | undefined {
  try {
    const root = loadYaml(kubeconfig, { maxCharacters });
    return isObject(root) ? root : undefined;
  } catch (error) {
    if (error instanceof YamlError) {
      return undefined;
    }
    throw error;
  }
}

function currentCluster(root: YamlObject): string | undefined {
  const current = textOf(root, "current-context");
  const context = entryNamed(root, { list: "contexts", field: "context" }, current);
  return context === undefined ? undefined : textOf(context, "cluster");
}

function clusterNamed(root: YamlObject, name: string | undefined): YamlObject | undefined {
  return entryNamed(root, { list: "clusters", field: "cluster" }, name);
}

function entryNamed(
  root: YamlObject,
  at: { readonly list: string; readonly field: string },
  name: string | undefined,
): YamlObject | undefined {
  const list = Object.hasOwn(root, at.list) ? root[at.list] : undefined;
  const entries = Array.isArray(list) ? list.filter(isObject) : [];
  const entry = entries.find((one) => name !== undefined && textOf(one, "name") === name);
  const content = entry !== undefined && Object.hasOwn(entry, at.field) ? entry[at.field] : undefined;
  return isObject(content) ? content : undefined;
}

function textOf(record: Readonly<Record<string, unknown>>, key: string): string | undefined {
  const value = Object.hasOwn(record, key) ? record[key] : undefined;
  return typeof value === "string" ? value : undefined;
}

function isObject(value: YamlValue | undefined): value is YamlObject {
  return isJsonObject(value);
}
