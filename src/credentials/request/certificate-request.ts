import { createOrGet } from "../../client/api-errors.ts";
import type { Client, ResourceRef } from "../../client/client.ts";
import type { ApiObject, Condition } from "../../apimachinery/object.ts";
import { createCsr, CsrError, parseCsr, type ParsedCsr } from "../../pki/csr.ts";
import { sameBytes } from "../../pki/der.ts";
import { decodePem, PemError } from "../../pki/pem.ts";
import { CertificateError } from "../../pki/certificate.ts";
import { parseCertificate } from "../../pki/parse-certificate.ts";
import { JoinError } from "../join-error.ts";
import { isSubjectOf, nodeRequestName, nodesGroup, nodeUser, type NodeKey } from "./node-identity.ts";

/** The kind of certificate requests. */
export const certificateRequests: ResourceRef = {
  group: "certificates.k8s.io",
  version: "v1",
  kind: "CertificateSigningRequest",
  plural: "certificatesigningrequests",
  scope: "Cluster",
};

/** A CertificateSigningRequest as servers send it; every field may be missing. */
export interface RequestObject extends ApiObject {
  readonly spec?: { readonly request?: string; readonly signerName?: string; readonly username?: string };
  readonly status?: { readonly certificate?: string; readonly conditions?: readonly Condition[] | null };
}

/** A request that exists on the hub. */
export interface NodeRequest {
  readonly name: string;
  readonly uid: string;
  /** Created by an earlier join with the same key. */
  readonly found: boolean;
}

/** The names of a serving certificate; addresses as text. */
export interface ServingNames {
  readonly dns: readonly string[];
  readonly ip: readonly string[];
}

/** The subject of the request, and its key. */
export interface WantedCertificate {
  readonly nodeName: string;
  readonly key: NodeKey;
  readonly usages: readonly string[];
  /** In milliseconds since the epoch. */
  readonly now: number;
  /** A request that this user has created is not reused: the hub approves none. */
  readonly refusedUser?: string | undefined;
  /** Absent: a client certificate. */
  readonly serving?: ServingNames | undefined;
}

const noNames: ServingNames = { dns: [], ip: [] };
const clientSigner = "kubernetes.io/kube-apiserver-client-kubelet";
const servingSigner = "kubernetes.io/kubelet-serving";

/**
 * Requests a node's certificate, or finds the request that an earlier run created with this key. Only the public key leaves the machine.
 * @throws JoinError csr-conflict @throws StatusError, ConnectionError of the client @see pkg/kubelet/certificate/bootstrap, client-go
 * util/certificate/csr
 */
export async function nodeRequest(client: Client, wanted: WantedCertificate): Promise<NodeRequest> {
  const { usages, serving } = wanted;
  const signerName = serving === undefined ? clientSigner : servingSigner;
  const subject = { commonName: nodeUser(wanted.nodeName), organizations: [nodesGroup] };
  const { dns, ip } = serving ?? noNames;
  const name = nodeRequestName({ ...subject, spki: wanted.key.spki, usages, names: [...dns, ...ip] });
  const names = { dnsNames: dns, ipAddresses: ip };
  const object = requestObject({ name, key: wanted.key.key, ...subject, ...names, signerName, usages });
  const { object: stored, created } = await createOrGet<RequestObject>(client, certificateRequests, object);
  if (!created) requireOwn(stored, { ...wanted, name, signerName });
  return { name, uid: stored.metadata.uid ?? "", found: !created };
}

/** The contents of a certificate request, and its signer. */
export type CertificateWish = Parameters<typeof createCsr>[0] & {
  readonly name: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly signerName: string;
  readonly usages: readonly string[];
  readonly expirationSeconds?: number | undefined;
};

/** A request as it is sent; it contains only the public half of the key. */
export function requestObject({
  name,
  labels,
  signerName,
  usages,
  expirationSeconds,
  ...csr
}: CertificateWish): ApiObject {
  const request = Buffer.from(createCsr(csr), "latin1").toString("base64");
  return {
    apiVersion: "certificates.k8s.io/v1",
    kind: "CertificateSigningRequest",
    metadata: { name, ...(labels && { labels }) },
    spec: { request, signerName, usages, expirationSeconds },
  };
}

/** The certificate in the status of a request as PEM text, empty while there is none. */
export function certificateOf(request: RequestObject): string {
  const data = request.status?.certificate;
  return typeof data === "string" ? Buffer.from(data, "base64").toString("latin1") : "";
}

/** The cause of a conflict with an own request whose certificate expired before it was fetched: only another key helps. */
export const outlivedCode = "CertificateExpired";

const outlived = "its certificate has expired";

interface Own extends WantedCertificate {
  readonly name: string;
  readonly signerName: string;
}

function requireOwn(earlier: RequestObject, own: Own): void {
  const why =
    refusedRequester(earlier, own) ??
    (earlier.spec?.signerName === own.signerName ? differenceOf(earlier, own) : "it asks another signer");
  if (why !== undefined) {
    throw new JoinError(
      "csr-conflict",
      `the hub already has a request ${own.name} that cannot be used again: ${why}; delete it with \`kubectl delete csr ${own.name}\`, or join with --force, which makes a new key`,
      why === outlived ? { causeCode: outlivedCode } : {},
    );
  }
}

function refusedRequester({ spec }: RequestObject, { refusedUser }: Own): string | undefined {
  const isRefused = refusedUser !== undefined && spec?.username === refusedUser;
  return isRefused ? `it was made by ${refusedUser}, whose credential the hub does not accept` : undefined;
}

function differenceOf(earlier: RequestObject, own: Own): string | undefined {
  const csr = csrOf(earlier);
  if (csr === undefined) return "it cannot be read";
  if (!sameBytes(csr.spki, own.key.spki)) return "it is for another key";
  if (!isSubjectOf(own.nodeName, csr.subject)) return "it is for another subject";
  const { dns, ip } = own.serving ?? noNames;
  if (!sameTexts(csr.sans.dns, dns) || !sameTexts(csr.sans.ip, ip)) return "it is for other names";
  const end = expiryOf(certificateOf(earlier));
  return end !== undefined && own.now > end ? outlived : undefined;
}

function sameTexts(some: readonly string[], others: readonly string[]): boolean {
  return some.length === others.length && some.every((text, at) => text === others[at]);
}

/** The contents of a request; undefined where they cannot be read. */
export function csrOf({ spec }: RequestObject): ParsedCsr | undefined {
  const data: unknown = spec?.request;
  if (typeof data !== "string") return undefined;
  try {
    return parseCsr(Buffer.from(data, "base64"));
  } catch (error) {
    if (error instanceof CsrError) return undefined;
    throw error;
  }
}

/** When the first certificate expires; undefined for none, and for an unreadable one, which fails when it is used. */
function expiryOf(pem: string): number | undefined {
  try {
    const [block] = pem === "" ? [] : decodePem(pem, { surroundingText: "ignore" });
    return block === undefined ? undefined : parseCertificate(block.bytes).notAfter;
  } catch (error) {
    if (error instanceof PemError || error instanceof CertificateError) return undefined;
    throw error;
  }
}
