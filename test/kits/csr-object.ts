import type { KeyObject } from "node:crypto";
import type { ApiObject } from "../../src/apimachinery/object.ts";
import { createCsr } from "../../src/pki/csr.ts";
import { generatePrivateKey } from "../../src/pki/keys.ts";

/** The key of every request made here that names no other. */
export const csrKey: KeyObject = generatePrivateKey();

/** What a request asks for; all of it may be left out. */
export interface AskedCsr {
  readonly key?: KeyObject;
  readonly commonName?: string;
  readonly organizations?: readonly string[];
  readonly dnsNames?: readonly string[];
  readonly ipAddresses?: readonly string[];
  readonly signerName?: string;
  readonly usages?: readonly string[];
  readonly username?: string;
  /** The PEM, whatever it is. */
  readonly request?: string;
  readonly name?: string;
  readonly created?: string;
  readonly expirationSeconds?: number;
  readonly conditions?: readonly object[];
}

/** A node's request for its client certificate, but for what `asked` says. */
export function csrObject(asked: AskedCsr = {}): ApiObject {
  const {
    commonName = "system:node:m1",
    organizations = ["system:nodes"],
    signerName = "kubernetes.io/kube-apiserver-client-kubelet",
    usages = ["digital signature", "client auth"],
    username = "system:bootstrap:abcdef",
  } = asked;
  const { dnsNames = [], ipAddresses = [] } = asked;
  const request =
    asked.request ?? createCsr({ key: asked.key ?? csrKey, commonName, organizations, dnsNames, ipAddresses });
  return {
    apiVersion: "certificates.k8s.io/v1",
    kind: "CertificateSigningRequest",
    metadata: { name: asked.name ?? "r", creationTimestamp: asked.created ?? "2026-11-21T00:00:00Z" },
    spec: {
      request: Buffer.from(request).toString("base64"),
      signerName,
      usages,
      username,
      groups: ["system:bootstrappers"],
      ...(asked.expirationSeconds === undefined ? {} : { expirationSeconds: asked.expirationSeconds }),
    },
    ...(asked.conditions === undefined ? {} : { status: { conditions: asked.conditions } }),
  };
}
