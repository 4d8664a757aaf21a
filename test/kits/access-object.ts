import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { sshPublicKeyOf } from "../../src/pki/ssh-public-key.ts";
import type { AccessProfile, AccessProfileSpec } from "../../src/apis/access-profile.ts";
import { defaultProfileAnnotation } from "../../src/apis/access-profile.ts";
import type { AccessEvidence, AccessRequest, AccessRequestStatus } from "../../src/apis/access-request.ts";

/** What a request says; all of it may be left out. */
export interface AskedAccess {
  readonly name?: string;
  readonly created?: string;
  /** Default: a new key for each request. */
  readonly key?: KeyObject;
  readonly profile?: string;
  readonly hostname?: string;
  readonly claims?: Readonly<Record<string, string>>;
  readonly labels?: Readonly<Record<string, string>>;
  readonly evidence?: AccessEvidence;
  readonly status?: AccessRequestStatus;
}

/** The public half of a new Ed25519 key. */
export function newAccessKey(): KeyObject {
  return generateKeyPairSync("ed25519").publicKey;
}

/** A request as the API stores it, proven and undecided but for what `asked` says. */
export function accessObject(asked: AskedAccess = {}): AccessRequest {
  const { name = "vm-1", key = newAccessKey(), profile, hostname, claims, labels } = asked;
  const { text, fingerprint } = sshPublicKeyOf(key, name);
  const evidence: AccessEvidence = {
    sourceAddress: "192.0.2.7",
    requester: "system:anonymous",
    possession: "Proven",
    earlierRequests: 0,
    ...asked.evidence,
  };
  return {
    apiVersion: "access.pratique.dev/v1alpha1",
    kind: "AccessRequest",
    metadata: {
      name,
      creationTimestamp: asked.created ?? "2026-11-21T00:00:00Z",
      ...(labels === undefined ? {} : { labels }),
    },
    spec: {
      pubKey: text,
      ...(profile === undefined ? {} : { profile }),
      ...(hostname === undefined ? {} : { hostname }),
      ...(claims === undefined ? {} : { claims }),
    },
    status: { fingerprint, evidence, ...asked.status },
  };
}

/** A profile that grants to see pods in `vms`; the default one if it is called `pods`. */
export function accessProfile(name: string, spec: Partial<AccessProfileSpec> = {}): AccessProfile {
  const annotations = name === "pods" ? { [defaultProfileAnnotation]: "true" } : {};
  return {
    apiVersion: "access.pratique.dev/v1alpha1",
    kind: "AccessProfile",
    metadata: { name, annotations },
    spec: { namespace: "vms", roles: [{ kind: "ClusterRole", name: "viewer" }], ...spec },
  };
}
