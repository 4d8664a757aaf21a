import { stringify } from "yaml";

/** The place of a cluster's CA: in the kubeconfig, or in a file beside it. */
export type CaReference = { readonly pem: string } | { readonly file: string };

/** What every kubeconfig needs. */
export interface ClusterReference {
  /** An `https://` URL. */
  readonly server: string;
  readonly ca: CaReference;
  /** The way there; it may hold a password. */
  readonly proxyUrl?: string | undefined;
  /** The name that the server's certificate is for, where it is not that of the URL. */
  readonly tlsServerName?: string | undefined;
}

/**
 * A kubeconfig for a person, with certificate and key inside it: the text is secret. Names are `admin`, `pratique` and
 * `admin@pratique` unless given.
 */
export function adminKubeconfig(
  input: ClusterReference & {
    readonly clientCertPem: string;
    readonly clientKeyPem: string;
    readonly clusterName?: string;
    readonly userName?: string;
  },
): string {
  const { clusterName = "pratique", userName = "admin" } = input;
  return kubeconfigText(input, {
    clusterName,
    userName,
    contextName: `${userName}@${clusterName}`,
    user: { "client-certificate-data": base64(input.clientCertPem), "client-key-data": base64(input.clientKeyPem) },
  });
}

/**
 * The kubeconfig of a kubelet, which points at one file for certificate and key, by its absolute path or relative to the folder
 * of the kubeconfig; the file need not exist yet. @see pkg/kubelet/certificate/bootstrap
 */
export function kubeletKubeconfig(input: ClusterReference & { readonly credentialFile: string }): string {
  return kubeconfigText(input, {
    clusterName: "default-cluster",
    userName: "default-auth",
    contextName: "default-context",
    namespace: "default",
    user: { "client-certificate": input.credentialFile, "client-key": input.credentialFile },
  });
}

/** A kubeconfig that points at a file for its token, so that the token can be renewed without it. */
export function tokenFileKubeconfig(
  input: ClusterReference & { readonly tokenFile: string; readonly namespace?: string | undefined },
): string {
  return kubeconfigText(input, {
    clusterName: "pratique",
    userName: "machine",
    contextName: "machine@pratique",
    namespace: input.namespace,
    user: { tokenFile: input.tokenFile },
  });
}

/** A kubeconfig with a credential plugin: clients run it, and pass it the server of the credential. It contains no secret. */
export function execKubeconfig(
  input: ClusterReference & { readonly command: string; readonly args: readonly string[] },
): string {
  return kubeconfigText(input, {
    clusterName: "pratique",
    userName: "machine",
    contextName: "machine@pratique",
    user: {
      exec: {
        apiVersion: "client.authentication.k8s.io/v1",
        command: input.command,
        args: [...input.args],
        interactiveMode: "Never",
        provideClusterInfo: true,
        installHint: "Pratique must be on this machine, and on the PATH unless it is named by its path.",
      },
    },
  });
}

/** The kubeconfig with which a machine requests its first certificate; it contains the token: the text is secret. @see cmd/kubeadm/app/discovery */
export function bootstrapKubeconfig(input: ClusterReference & { readonly token: string }): string {
  return kubeconfigText(input, {
    clusterName: "kubernetes",
    userName: "tls-bootstrap-token-user",
    contextName: "tls-bootstrap-token-user@kubernetes",
    user: { token: input.token },
  });
}

interface Names {
  readonly clusterName: string;
  readonly userName: string;
  readonly contextName: string;
  readonly namespace?: string | undefined;
  readonly user: Readonly<Record<string, unknown>>;
}

function kubeconfigText({ server, ca, proxyUrl, tlsServerName }: ClusterReference, names: Names): string {
  const { clusterName, userName, contextName, namespace, user } = names;
  const authority =
    "pem" in ca ? { "certificate-authority-data": base64(ca.pem) } : { "certificate-authority": ca.file };
  const cluster = { ...authority, "proxy-url": proxyUrl, server, "tls-server-name": tlsServerName };
  const config = {
    apiVersion: "v1",
    clusters: [{ cluster, name: clusterName }],
    contexts: [{ context: { cluster: clusterName, namespace, user: userName }, name: contextName }],
    "current-context": contextName,
    kind: "Config",
    preferences: {},
    users: [{ name: userName, user }],
  };
  // Fields that are undefined are left out. Readers of YAML 1.1 take more words and digits for something else than text.
  return stringify(config, { compat: "yaml-1.1", lineWidth: 0 });
}

function base64(text: string): string {
  return Buffer.from(text, "utf8").toString("base64");
}
