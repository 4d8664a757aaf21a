import { nodesGroup, nodeUserPrefix } from "../apimachinery/user.ts";
import type { ParsedCsr } from "./csr.ts";

/** The signers of this program. Source: Kubernetes api/certificates/v1; `legacy-unknown` is not of v1. */
export type BuiltInSigner =
  | "kubernetes.io/kube-apiserver-client"
  | "kubernetes.io/kube-apiserver-client-kubelet"
  | "kubernetes.io/kubelet-serving";

/** The part of a request that a signer's rules check. */
export type CsrFacts = Pick<ParsedCsr, "subject" | "sans">;

/** Undefined when the request follows the signer's rules, else the text for the Failed condition. */
export type SignerCheck = (csr: CsrFacts, usages: readonly string[]) => string | undefined;

/** The rules of each built-in signer; the first rule that fails returns the text. Source: Kubernetes pkg/apis/certificates. */
export const signerChecks: ReadonlyMap<string, SignerCheck> = new Map<BuiltInSigner, SignerCheck>([
  ["kubernetes.io/kube-apiserver-client", checkApiserverClient],
  [
    "kubernetes.io/kube-apiserver-client-kubelet",
    firstFailing([
      onlyNodesGroup,
      without("dns", "DNS"),
      without("email", "Email"),
      without("ip", "IP"),
      without("uri", "URI"),
      nodeCommonName,
      usagesOf("client auth"),
    ]),
  ],
  [
    "kubernetes.io/kubelet-serving",
    firstFailing([
      onlyNodesGroup,
      dnsOrIp,
      without("email", "Email"),
      without("uri", "URI"),
      usagesOf("server auth"),
      nodeCommonName,
    ]),
  ],
]);

/** Whether a request is for a kubelet's client certificate, which is what csrapproving looks for. */
export function isClientKubelet(signerName: string, csr: CsrFacts, usages: readonly string[]): boolean {
  const name: BuiltInSigner = "kubernetes.io/kube-apiserver-client-kubelet";
  return signerName === name && signerChecks.get(name)?.(csr, usages) === undefined;
}

function firstFailing(rules: readonly SignerCheck[]): SignerCheck {
  return (csr, usages) => {
    for (const rule of rules) {
      const text = rule(csr, usages);
      if (text !== undefined) return text;
    }
    return undefined;
  };
}

function onlyNodesGroup({ subject }: CsrFacts): string | undefined {
  const [first, ...others] = subject.organizations;
  return first === nodesGroup && others.length === 0 ? undefined : "subject organization is not system:nodes";
}

function nodeCommonName({ subject }: CsrFacts): string | undefined {
  return subject.commonName.startsWith(nodeUserPrefix)
    ? undefined
    : "subject common name does not begin with system:node:";
}

function without(kind: "dns" | "email" | "ip" | "uri", shown: string): SignerCheck {
  return ({ sans }) => (sans[kind].length === 0 ? undefined : `${shown} subjectAltNames are not allowed`);
}

function dnsOrIp({ sans }: CsrFacts): string | undefined {
  return sans.dns.length + sans.ip.length > 0 ? undefined : "DNS or IP subjectAltName is required";
}

// A kubelet requests key encipherment only when its key is RSA, so both sets are valid.
function usagesOf(purpose: "client auth" | "server auth"): SignerCheck {
  const required = new Set(["digital signature", purpose]);
  const all = [...required, "key encipherment"].sort();
  return (_csr, usages) => {
    const asked = new Set(usages);
    asked.delete("key encipherment");
    const matches = asked.size === required.size && [...required].every((usage) => asked.has(usage));
    return matches ? undefined : `usages did not match [${all.join(" ")}]`;
  };
}

function checkApiserverClient(_csr: CsrFacts, usages: readonly string[]): string | undefined {
  const allowed = ["client auth", "digital signature", "key encipherment"];
  const stray = usages.find((usage) => !allowed.includes(usage));
  if (stray !== undefined) return `invalid usage for client certificate: ${stray}`;
  return usages.includes("client auth") ? undefined : "missing required usage for client certificate: client auth";
}
