import type { Attributes, Decision, SelectorRequirement } from "./authorizer.ts";

/** Health, version and time of the server. */
const readablePaths: ReadonlySet<string> = new Set([
  "/version",
  "/healthz",
  "/livez",
  "/readyz",
  "/.well-known/pratique/time",
]);

/**
 * Decides on requests with an expired certificate, in place of all authorizers, so that no mode, role or service can grant
 * more: the client may create a CertificateSigningRequest, get requests by name, and read the CAs, as every client may.
 */
export function returningDecision(attributes: Attributes): Decision {
  return mayReturning(attributes)
    ? { verdict: "allow", reason: "a machine with an expired certificate may request its next one" }
    : {
        verdict: "deny",
        reason: "the certificate has expired: with it one can ask for the next one and do nothing else",
      };
}

function mayReturning(attributes: Attributes): boolean {
  const { path, verb, group, resource, subresource } = attributes;
  if (path !== undefined) return (verb === "get" || verb === "head") && readablePaths.has(path);
  if (subresource !== "") return false;
  return mayWith.get(`${resource}.${group}`)?.(attributes) ?? false;
}

/** By `<resource>.<group>`. */
const mayWith: ReadonlyMap<string, (attributes: Attributes) => boolean> = new Map([
  [
    "configmaps.",
    ({ verb, namespace, name }) => verb === "get" && namespace === "kube-public" && name === "cluster-info",
  ],
  [
    "certificatesigningrequests.certificates.k8s.io",
    ({ verb, name, fieldSelector = [] }) => {
      if (verb === "create") return true;
      if (verb === "get") return name !== "";
      return (verb === "list" || verb === "watch") && selectsName(fieldSelector);
    },
  ],
]);

function selectsName(requirements: readonly SelectorRequirement[]): boolean {
  return requirements.some(
    ({ key, operator, values }) =>
      key === "metadata.name" && operator === "In" && values.length === 1 && values[0] !== "",
  );
}
