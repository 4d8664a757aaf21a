import type { ApiObject } from "../../apimachinery/object.ts";
import { dnsSubdomainProblems } from "../../apimachinery/names.ts";
import { nodeUserPrefix } from "../../apimachinery/user.ts";
import { isClientKubelet, type CsrFacts } from "../../pki/signers.ts";
import type { CsrView } from "./csr-view.ts";

/** What a requester must be allowed to do. */
export interface RequiredAccess {
  readonly group: string;
  readonly resource: string;
  readonly subresource: string;
  readonly verb: string;
}

/** A kind of request that is approved automatically if its requester has a permission for it. */
export interface Recogniser {
  readonly access: RequiredAccess;
  readonly message: string;
}

const create = { group: "certificates.k8s.io", resource: "certificatesigningrequests", verb: "create" };
const selfNodeClient: Recogniser = {
  access: { ...create, subresource: "selfnodeclient" },
  message: "Auto approving self kubelet client certificate after SubjectAccessReview.",
};
const nodeClient: Recogniser = {
  access: { ...create, subresource: "nodeclient" },
  message: "Auto approving kubelet client certificate after SubjectAccessReview.",
};

/**
 * The recognisers to try, in order; a request that none recognises is left to an approver. Source: Kubernetes
 * pkg/controller/certificates/approver, which recognises any node name; here it must be a valid name of a Node.
 */
export function recognisersOf(csr: CsrView, facts: CsrFacts): readonly Recogniser[] {
  if (!isClientKubelet(csr.signerName, facts, csr.usages) || nodeNameProblem(facts) !== undefined) return [];
  return facts.subject.commonName === csr.requester.username ? [selfNodeClient, nodeClient] : [nodeClient];
}

/**
 * Why no Node can have the name in the subject of a node; undefined where one can. `worker-1` with a trailing blank, or with a letter of
 * another alphabet, is another user of the API, which an approver cannot tell from `worker-1`.
 */
export function nodeNameProblem({ subject }: CsrFacts): string | undefined {
  const name = subject.commonName.slice(nodeUserPrefix.length);
  // Node names are compared without case, so ASCII upper case passes; other letters whose lower case is ASCII do not.
  const [problem] = dnsSubdomainProblems(name.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase()));
  return problem === undefined ? undefined : `no Node can have the name ${JSON.stringify(name)}: ${problem}`;
}

/** The SubjectAccessReview that asks whether the requester may get such a certificate automatically. */
export function accessReviewOf({ requester }: CsrView, access: RequiredAccess): ApiObject {
  const { username, uid, groups, extra } = requester;
  return {
    apiVersion: "authorization.k8s.io/v1",
    kind: "SubjectAccessReview",
    metadata: {},
    spec: {
      user: username,
      groups,
      ...(uid === undefined || uid === "" ? {} : { uid }),
      ...(extra === undefined ? {} : { extra }),
      resourceAttributes: access,
    },
  };
}

/** Whether the review allows it and does not deny it. */
export function isAllowed(review: ApiObject): boolean {
  const status = review["status"] as { readonly allowed?: unknown; readonly denied?: unknown } | undefined;
  return status?.allowed === true && status.denied !== true;
}
