import { currentContextOf, KubeconfigError, parseKubeconfig } from "../../client/kubeconfig.ts";
import { sameBytes } from "../../pki/der.ts";
import { loadPrivateKey, spkiOf } from "../../pki/keys.ts";
import { subjectOf } from "../../pki/names.ts";
import { oids } from "../../pki/oids.ts";
import { parseCertificate } from "../../pki/parse-certificate.ts";
import { decodePem, encodePem } from "../../pki/pem.ts";
import {
  agentOf,
  agentUser,
  clusterGroupOf,
  managedClustersGroup,
  type AgentIdentity,
} from "../../apis/managed-cluster.ts";
import { JoinError } from "../join-error.ts";
import { readable } from "../storage/stored-certificate.ts";
import { isComplete, type CredentialFiles } from "../storage/klusterlet-store.ts";
import { stringify } from "yaml";

/** The certificate of an agent, with its key, which is secret. Times in milliseconds since the epoch. */
export interface AgentCertificate {
  readonly identity: AgentIdentity;
  /** Leaf first. */
  readonly certificatePem: string;
  readonly keyPem: string;
  /** The latest beginning and the earliest end in the chain. */
  readonly notBefore: number;
  readonly notAfter: number;
}

/** A hub, and the certificate for it. */
export interface ClusterCredential extends AgentCertificate {
  readonly hub: HubAddress;
}

/** The credential in files, valid at any time, or undefined where there is none, or where its parts do not belong together. */
export function readClusterCredential(files: Partial<CredentialFiles>): ClusterCredential | undefined {
  if (!isComplete(files)) return undefined;
  const hub = hubIn(files.kubeconfig);
  const certificate = certificateIn(files["tls.crt"], files["tls.key"]);
  if (hub === undefined || certificate === undefined) return undefined;
  const { cluster, agent } = certificate.identity;
  const isNamed = files["cluster-name"] === cluster && files["agent-name"] === agent;
  return isNamed ? { ...certificate, hub } : undefined;
}

/**
 * Verifies that the PEM is the certificate that was requested with this key. Its CA is not checked: it need not be the CA of the hub's
 * serving certificate. @throws JoinError bad-certificate, or clock-skew where it has expired by this machine's clock
 */
export function ownClusterCertificate(
  pem: string,
  wanted: { readonly keyPem: string; readonly identity: AgentIdentity; readonly now: number },
): AgentCertificate {
  const found = certificateIn(pem, wanted.keyPem);
  if (found === undefined) throw bad("it cannot be read, is for another key, or not for an agent of a cluster");
  if (agentUser(found.identity) !== agentUser(wanted.identity)) {
    throw bad(`it is for ${agentUser(found.identity)} and not for ${agentUser(wanted.identity)}`);
  }
  if (found.notAfter <= wanted.now) {
    throw new JoinError(
      "clock-skew",
      "the hub issued a certificate that has ended already by this machine's clock: set the clock, for example with NTP",
    );
  }
  return found;
}

function bad(why: string): JoinError {
  return new JoinError("bad-certificate", `the hub issued a certificate that this agent does not accept: ${why}`);
}

function hubIn(text: string): HubAddress | undefined {
  try {
    const { server, entry, caPem, proxyUrl, tlsServerName } = currentContextOf(parseKubeconfig(text, "kubeconfig"));
    if (server === undefined || !/^https:\/\//i.test(server) || !URL.canParse(server)) return undefined;
    return { server, entry, caPem, proxyUrl, tlsServerName };
  } catch (error) {
    if (error instanceof KubeconfigError) return undefined;
    throw error;
  }
}

function certificateIn(pem: string, keyPem: string): AgentCertificate | undefined {
  return readable(() => {
    const key = loadPrivateKey(keyPem);
    const blocks = decodePem(pem, { surroundingText: "ignore" });
    const [leaf, ...others] = blocks.map(({ bytes }) => parseCertificate(bytes));
    if (leaf === undefined || blocks.some(({ label }) => label !== "CERTIFICATE")) return undefined;
    if (!sameBytes(leaf.publicKey.spki, spkiOf(key))) return undefined;
    if (leaf.extendedKeyUsage?.includes(oids.clientAuth) === false) return undefined;
    const { commonName, organizations } = subjectOf(leaf.subject, "certificate: the subject");
    const identity = agentOf(commonName);
    if (identity === undefined || !areGroupsOf(identity.cluster, organizations)) return undefined;
    return {
      identity,
      certificatePem: blocks.map(({ bytes }) => encodePem("CERTIFICATE", bytes)).join(""),
      keyPem,
      notBefore: Math.max(leaf.notBefore, ...others.map(({ notBefore }) => notBefore)),
      notAfter: Math.min(leaf.notAfter, ...others.map(({ notAfter }) => notAfter)),
    };
  });
}

function areGroupsOf(cluster: string, organizations: readonly string[]): boolean {
  const own = clusterGroupOf(cluster);
  return organizations.includes(own) && organizations.every((one) => one === own || one === managedClustersGroup);
}

/** A hub as the kubeconfig of its agents names it. */
export interface HubAddress {
  /** An `https://` URL. */
  readonly server: string;
  /** Absent: the roots of the system. */
  readonly caPem: string | undefined;
  /** The proxy; it may contain a password. */
  readonly proxyUrl?: string | undefined;
  /** The name in the hub's certificate, where it differs from the host of the URL. */
  readonly tlsServerName?: string | undefined;
  /** The name of the cluster entry in the bootstrap kubeconfig. */
  readonly entry: string;
}

/**
 * The kubeconfig beside `tls.crt` and `tls.key`, byte for byte as client-go writes it: an agent of OCM that finds any other bytes
 * requests another certificate. @see open-cluster-management.io/ocm pkg/registration/register, client-go clientcmd.Write
 */
export function hubKubeconfig({ server, caPem, proxyUrl, tlsServerName, entry }: HubAddress): string {
  // Undefined fields are omitted.
  const cluster = {
    "certificate-authority-data": caPem && Buffer.from(caPem, "utf8").toString("base64"),
    "proxy-url": proxyUrl,
    server,
    "tls-server-name": tlsServerName,
  };
  const config = {
    apiVersion: "v1",
    clusters: [{ cluster, name: entry }],
    contexts: [
      { context: { cluster: entry, namespace: "configuration", user: "default-auth" }, name: "default-context" },
    ],
    "current-context": "default-context",
    kind: "Config",
    users: [{ name: "default-auth", user: { "client-certificate": "tls.crt", "client-key": "tls.key" } }],
  };
  return stringify(config, { compat: "yaml-1.1", lineWidth: 0, indentSeq: false });
}
