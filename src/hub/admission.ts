import { admissionChain, type Admission } from "../admission/admission.ts";
import {
  certificateApproval,
  certificateSigning,
  certificateSubjectRestriction,
  type SignerCheck,
} from "../admission/certificate-signers.ts";
import { namespaceLifecycle } from "../admission/namespace-lifecycle.ts";
import { rbacEscalation } from "../admission/rbac-escalation.ts";
import { bindingWriteRefusal, roleWriteRefusal, type BindingWrite } from "../authz/escalation.ts";
import { parseCsr } from "../pki/csr.ts";
import { objectOf } from "../registry/entry.ts";
import { storagePrefix } from "../resources/resource.ts";
import type { WatchCache } from "../storage/watch-cache.ts";
import type { Authorization } from "./authorization.ts";

/** The admission plugins of a hub, in order. */
export function hubAdmission(access: Authorization, cache: WatchCache): Admission {
  const namespaces = storagePrefix({ group: "", plural: "namespaces" });
  const signerCheck: SignerCheck = async (user, verb, name) => {
    const asked = {
      user,
      verb,
      group: "certificates.k8s.io",
      version: "*",
      resource: "signers",
      subresource: "",
      namespace: "",
      name,
      path: undefined,
    };
    return (await access.chain.decide(asked)).verdict === "allow";
  };
  const checks = { authorize: access.chain.authorize, rules: access.index };
  return admissionChain([
    namespaceLifecycle((name) => {
      const entry = cache.get(namespaces + name);
      return entry === undefined ? undefined : objectOf(entry);
    }),
    certificateApproval(signerCheck),
    certificateSigning(signerCheck),
    certificateSubjectRestriction((pem) => parseCsr(pem).subject.organizations),
    rbacEscalation({
      role: (write) => roleWriteRefusal(write, checks),
      binding: (write) => bindingWriteRefusal(write as BindingWrite, checks),
    }),
  ]);
}
