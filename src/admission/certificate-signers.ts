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

/** The signer's own name, then `<domain>/*`: the two names by which a right on signers can be granted. */
async function permitted(check: SignerCheck, request: AdmissionRequest, verb: "approve" | "sign"): Promise<void> {
  // The stored signer counts: the one in the request is the requester's word.
  const signerName = stringAt(request.oldObject, "spec", "signerName");
  const domain = signerName.slice(0, signerName.indexOf("/"));
  if (await check(request.user, verb, signerName)) return;
  if (await check(request.user, verb, `${domain}/*`)) return;
  const what = `user not permitted to ${verb} requests with signerName ${JSON.stringify(signerName)}`;
  throw forbidden(request.resource, request.name, what);
}

/** Lets only those approve who hold verb `approve` on the signer. Source: kubernetes plugin/pkg/admission/certificates/approval. */
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

/** Lets only those set a certificate or conditions who hold verb `sign` on the signer. Source: plugin/pkg/admission/certificates/signing. */
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
 * Refuses a client certificate for group system:masters, which nothing could take away again.
 * `organizationsOf` reads the subject of a PEM request. Source: plugin/pkg/admission/certificates/subjectrestriction.
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
  /** How many CertificateSigningRequests of this user are undecided. */
  readonly undecided: (username: string) => number;
  readonly maxUndecided: number;
}

/**
 * Refuses a CertificateSigningRequest of a user who has `maxUndecided` that no approver has decided: each is kept for a day, and a
 * bootstrap token is good for any number of them. Members of system:masters are not limited.
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
  /** What a request for a certificate says, in PEM. @throws when it cannot be read */
  readonly factsOf: (pem: Uint8Array) => CsrFacts;
  /** How many requests of this user are undecided. */
  readonly undecided: (username: string) => number;
}

const maxUndecided = 2;

/**
 * Limits whoever comes back with an expired certificate to what it comes for: a few small requests for the next client certificate of
 * the very node that the expired one names. Authorization has refused everything else.
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
      // Nobody who only comes back puts much into the store, or keeps anybody from removing it.
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

/** Why this is not the request of that node for its client certificate. */
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
