import type { Attributes } from "./authorizer.ts";

/**
 * Whether a request is about signers: they are authorized cluster-wide and served by no API server, so discovery does not list them, and
 * kubectl makes no role for them by its flags. @see Kubernetes, plugin/pkg/admission/certificates
 */
export function isAboutSigners({ group, resource, path }: Pick<Attributes, "group" | "resource" | "path">): boolean {
  return path === undefined && group === "certificates.k8s.io" && resource === "signers";
}
