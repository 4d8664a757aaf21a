/** The group of machines that join as nodes. */
const joiningNodes = "system:bootstrappers:kubeadm:default-node-token";

/** The Secret of the bootstrap token `ID.0123456789abcdef`, for kube-system. Source: contract of bootstrap tokens. */
export function bootstrapSecret(id: string, group: string = joiningNodes): object {
  return {
    metadata: { name: `bootstrap-token-${id}` },
    type: "bootstrap.kubernetes.io/token",
    stringData: {
      "token-id": id,
      "token-secret": "0123456789abcdef",
      "usage-bootstrap-authentication": "true",
      "auth-extra-groups": group,
    },
  };
}
