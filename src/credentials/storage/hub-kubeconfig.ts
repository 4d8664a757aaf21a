import { stringify } from "yaml";

/** A hub as the kubeconfig of its agents names it. */
export interface HubAddress {
  /** An `https://` URL. */
  readonly server: string;
  /** Absent: the roots of the system. */
  readonly caPem: string | undefined;
  /** The way there; it may hold a password. */
  readonly proxyUrl?: string | undefined;
  /** The name that the hub's certificate is for, where it is not that of the URL. */
  readonly tlsServerName?: string | undefined;
  /** The name of the cluster entry, as the bootstrap kubeconfig has it. */
  readonly entry: string;
}

/**
 * The kubeconfig beside `tls.crt` and `tls.key`, byte for byte as client-go writes it: an agent of OCM that finds any other bytes asks for
 * another certificate. @see open-cluster-management.io/ocm pkg/registration/register, client-go clientcmd.Write
 */
export function hubKubeconfig({ server, caPem, proxyUrl, tlsServerName, entry }: HubAddress): string {
  const ca = caPem === undefined ? {} : { "certificate-authority-data": Buffer.from(caPem, "utf8").toString("base64") };
  const proxy = proxyUrl === undefined ? {} : { "proxy-url": proxyUrl };
  const serverName = tlsServerName === undefined ? {} : { "tls-server-name": tlsServerName };
  const config = {
    apiVersion: "v1",
    clusters: [{ cluster: { ...ca, ...proxy, server, ...serverName }, name: entry }],
    contexts: [
      { context: { cluster: entry, namespace: "configuration", user: "default-auth" }, name: "default-context" },
    ],
    "current-context": "default-context",
    kind: "Config",
    users: [{ name: "default-auth", user: { "client-certificate": "tls.crt", "client-key": "tls.key" } }],
  };
  return stringify(config, { compat: "yaml-1.1", lineWidth: 0, indentSeq: false });
}
