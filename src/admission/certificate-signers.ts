import { fieldsAt, stringAt, stringsAt } from "../apis/json-fields.ts";
import { forbidden, StatusError } from "../apimachinery/status.ts";
import { mastersGroup, type UserInfo } from "../apimachinery/user.ts";
import type { Resource } from "../apis/resource.ts";
import type { AdmissionPlugin, AdmissionRequest } from "./admission.ts";
import { invalidObject } from "../apimachinery/field-error.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import { nodeReturningAs } from "../apimachinery/expired-credential.ts";
import { isClientKubelet, type CsrFacts } from "../pki/signers.ts";
import { modestErrors } from "./access-requests.ts";

/** Whether `user` may use `verb` (`approve`, `sign`) on the resource `signers` of that exact name in group certificates.k8s.io. */
export type SignerCheck = (user: UserInfo, verb: "approve" | "sign", name: string) => Promise<boolean>;

function isCsrKind({ group, plural }: Pick<Resource, "group" | "plural">): boolean {
  return group === "certificates.k8s.io" && plural === "certificatesigningrequests";
}

/** The name of the signer, then `<domain>/*`: the two names under which a permission on signers can be granted. */
async function permitted(check: SignerCheck, request: AdmissionRequest, verb: "approve" | "sign"): Promise<void> {
  // The stored signer counts: the requester controls the one in the request.
  const signerName = stringAt(request.oldObject, "spec", "signerName");
  const domain = signerName.slice(0, signerName.indexOf("/"));
  if (await check(request.user, verb, signerName)) return;
  if (await check(request.user, verb, `${domain}/*`)) return;
  const what = `user not permitted to ${verb} requests with signerName ${JSON.stringify(signerName)}`;
  throw forbidden(request.resource, request.name, what);
}

/** Requires verb `approve` on the signer for an approval. Source: kubernetes plugin/pkg/admission/certificates/approval. */
export function certificateApproval(check: SignerCheck): AdmissionPlugin {
  return {
    name: "CertificateApproval",
    concerns: isCsrKind,
    validate: async (request) => {
      if (isCsrKind(request.resource) && request.operation === "UPDATE" && request.subresource === "approval") {
        await permitted(check, request, "approve");
      }
    },
  };
}

/** Requires verb `sign` on the signer to set a certificate or conditions. Source: plugin/pkg/admission/certificates/signing. */
export function certificateSigning(check: SignerCheck): AdmissionPlugin {
  return {
    name: "CertificateSigning",
    concerns: isCsrKind,
    validate: async (request) => {
      if (!isCsrKind(request.resource) || request.operation !== "UPDATE" || request.subresource !== "status") return;
      const [next, stored] = [fieldsAt(request.object, "status"), fieldsAt(request.oldObject, "status")];
      const same = (field: string): boolean =>
        JSON.stringify(next[field] ?? null) === JSON.stringify(stored[field] ?? null);
      if (!same("certificate") || !same("conditions")) await permitted(check, request, "sign");
    },
  };
}

/**
 * Rejects a client certificate for group system:masters, whose rights nothing could revoke. `organizationsOf` reads the subject of a PEM
 * request. Source: plugin/pkg/admission/certificates/subjectrestriction.
 */
export function certificateSubjectRestriction(
  organizationsOf: (pem: Uint8Array) => readonly string[],
): AdmissionPlugin {
  return {
    name: "CertificateSubjectRestriction",
    concerns: isCsrKind,
    validate: async (request) => {
      if (!isCsrKind(request.resource) || request.operation !== "CREATE") return;
      if (stringAt(request.object, "spec", "signerName") !== "kubernetes.io/kube-apiserver-client") return;
      const pem = Buffer.from(stringAt(request.object, "spec", "request"), "base64");
      if (!organizationsOf(pem).includes("system:masters")) return;
      const why = "use of kubernetes.io/kube-apiserver-client signer with system:masters group is not allowed";
      throw forbidden(request.resource, request.name, why);
    },
  };
}

interface CertificateRequestLimitOptions {
  /** The number of undecided CertificateSigningRequests of this user. */
  readonly undecided: (username: string) => number;
  readonly maxUndecided: number;
}

/**
 * Rejects a CertificateSigningRequest of a user with `maxUndecided` undecided ones: each is kept for a day, and one bootstrap token can
 * create any number of them. Members of system:masters are not limited.
 */
export function certificateRequestLimit({ undecided, maxUndecided }: CertificateRequestLimitOptions): AdmissionPlugin {
  return {
    name: "PratiqueCertificateRequestLimit",
    concerns: isCsrKind,
    validate: async ({ user, operation, subresource }) => {
      if (operation !== "CREATE" || subresource !== "" || user.groups.includes(mastersGroup)) return;
      if (undecided(user.username) < maxUndecided) return;
      throw new StatusError(
        "TooManyRequests",
        `user ${JSON.stringify(user.username)} has ${maxUndecided} CertificateSigningRequests that no approver has decided: approve, deny or delete some of them (pratique pending), then try again`,
        { details: { retryAfterSeconds: 60 } },
      );
    },
  };
}

export interface ReturningMachinesOptions {
  /** The contents of a PEM certificate request. @throws when it cannot be parsed */
  readonly factsOf: (pem: Uint8Array) => CsrFacts;
  /** The number of undecided requests of this user. */
  readonly undecided: (username: string) => number;
}

const maxUndecided = 2;

/**
 * Limits a requester with an expired certificate: a few small requests for the next client certificate of the node that the expired one
 * names. Authorization has rejected everything else.
 */
export function returningMachines(options: ReturningMachinesOptions): AdmissionPlugin {
  return {
    name: "PratiqueReturning",
    concerns: ({ group, plural }) => group === "certificates.k8s.io" && plural === "certificatesigningrequests",
    validate: async (request) => {
      const { user, operation, subresource, object, resource, name } = request;
      const node = nodeReturningAs(user);
      if (node === undefined || object === undefined) return;
      if (operation !== "CREATE" || subresource !== "")
        throw forbidden(resource, name, "spec is immutable; create a new request");
      // Such a requester must not fill the store, nor prevent the deletion of its requests.
      const errors = modestErrors(object, "labels are put on by those who decide");
      if (errors.length > 0) throw invalidObject(resource, name, errors);
      const why = notOwn(object, node, options);
      if (why !== undefined) throw forbidden(resource, name, why);
      if (options.undecided(user.username) < maxUndecided) return;
      throw new StatusError("TooManyRequests", `${maxUndecided} requests of ${node} wait for a decision already`, {
        details: { retryAfterSeconds: 60 },
      });
    },
  };
}

/** Why this is not a request of that node for its client certificate. */
function notOwn(object: ApiObject, node: string, { factsOf }: ReturningMachinesOptions): string | undefined {
  let facts: CsrFacts;
  try {
    facts = factsOf(Buffer.from(stringAt(object, "spec", "request"), "base64"));
  } catch {
    return "unable to parse csr: not a request for a certificate in PEM";
  }
  if (facts.subject.commonName !== node) return `can only create a node CSR with CN=${node}`;
  return isClientKubelet(stringAt(object, "spec", "signerName"), facts, stringsAt(object, "spec", "usages"))
    ? undefined
    : "with an expired certificate one can only ask for the next client certificate of the node";
}
