import { fieldsAt, stringAt } from "../apis/json-fields.ts";
import { forbidden, StatusError } from "../apimachinery/status.ts";
import { mastersGroup, type UserInfo } from "../apimachinery/user.ts";
import type { Resource } from "../apis/resource.ts";
import type { AdmissionPlugin, AdmissionRequest } from "./admission.ts";

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
