import { mastersGroup } from "../core/user.ts";
import type { RandomBytes } from "../core/clock.ts";
import type { Authorities } from "./authority-folder.ts";
import { issueOwn } from "./authority.ts";

/** The user of that kubeconfig. Source: kubeadm. */
export const operatorName = "kubernetes-admin";

/** A kubeconfig with a new client certificate of group system:masters; whoever reads it may do everything. */
export function adminKubeconfig(
  authorities: Authorities,
  url: string,
  at: { readonly now: number; readonly random: RandomBytes },
): string {
  const pair = issueOwn(
    authorities.signer,
    {
      commonName: operatorName,
      organizations: [mastersGroup],
      dnsNames: [],
      ipAddresses: [],
      usage: "client auth",
    },
    at,
  );
  const base64 = (pem: string): string => Buffer.from(pem).toString("base64");
  return [
    "apiVersion: v1",
    "kind: Config",
    "clusters:",
    "- name: pratique",
    "  cluster:",
    `    server: ${url}`,
    `    certificate-authority-data: ${base64(authorities.bundlePem)}`,
    "users:",
    "- name: kubernetes-admin",
    "  user:",
    `    client-certificate-data: ${base64(pair.certPem)}`,
    `    client-key-data: ${base64(pair.keyPem)}`,
    "contexts:",
    "- name: kubernetes-admin@pratique",
    "  context: {cluster: pratique, user: kubernetes-admin}",
    "current-context: kubernetes-admin@pratique",
    "",
  ].join("\n");
}
