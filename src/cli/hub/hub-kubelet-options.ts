import type { Option } from "../command.ts";

/** How a hub reaches kubelets. */
export const hubKubeletOptions: readonly Option[] = [
  {
    name: "kubelet-preferred-address-types",
    kind: "list",
    value: "TYPES",
    default: "InternalIP,ExternalIP,Hostname",
    description: "the types of a Node's addresses at which its kubelet is asked, best first",
  },
  {
    name: "kubelet-certificate-authority",
    kind: "text",
    value: "FILE",
    completes: "file",
    description:
      "the CAs that sign serving certificates of kubelets, e.g. pki/ca.crt in the data directory; without it these certificates are not verified, as in kube-apiserver",
  },
];
