import type { ApiObject } from "../apimachinery/object.ts";
import { forbidden } from "../apimachinery/status.ts";
import type { UserInfo } from "../apimachinery/user.ts";
import type { Resource } from "../apis/resource.ts";
import type { AdmissionPlugin, AdmissionRequest } from "./admission.ts";

/** Whether `user` may use `verb` (`approve`, `sign`) on the resource `signers` of that exact name in group certificates.k8s.io. */
export type SignerCheck = (user: UserInfo, verb: "approve" | "sign", name: string) => Promise<boolean>;

function isCsrKind({ group, plural }: Pick<Resource, "group" | "plural">): boolean {
  return group === "certificates.k8s.io" && plural === "certificatesigningrequests";
}

function isCsr({ resource }: AdmissionRequest): boolean {
  return isCsrKind(resource);
}

function part(object: ApiObject | undefined, field: "spec" | "status"): Readonly<Record<string, unknown>> {
  const value = object?.[field];
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

function textIn(fields: Readonly<Record<string, unknown>>, field: string): string {
  const value = fields[field];
  return typeof value === "string" ? value : "";
}

/** The signer's own name, then `<domain>/*`: the two names by which a right on signers can be granted. */
async function permitted(check: SignerCheck, request: AdmissionRequest, verb: "approve" | "sign"): Promise<void> {
  // The stored signer counts: the one in the request is the requester's word.
  const signerName = textIn(part(request.oldObject, "spec"), "signerName");
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
      if (isCsr(request) && request.operation === "UPDATE" && request.subresource === "approval") {
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
      if (!isCsr(request) || request.operation !== "UPDATE" || request.subresource !== "status") return;
      const [next, stored] = [part(request.object, "status"), part(request.oldObject, "status")];
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
      if (!isCsr(request) || request.operation !== "CREATE") return;
      const spec = part(request.object, "spec");
      if (spec["signerName"] !== "kubernetes.io/kube-apiserver-client") return;
      const pem = Buffer.from(textIn(spec, "request"), "base64");
      if (!organizationsOf(pem).includes("system:masters")) return;
      const why = "use of kubernetes.io/kube-apiserver-client signer with system:masters group is not allowed";
      throw forbidden(request.resource, request.name, why);
    },
  };
}
