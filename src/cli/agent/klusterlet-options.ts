import type { Option } from "../command.ts";

/** Where the hub is and what the cluster is, for every command that works as a cluster's agent. */
export const klusterletOptions: readonly Option[] = [
  {
    name: "bootstrap-kubeconfig",
    kind: "list",
    value: "FILE",
    completes: "file",
    description:
      "address, CA and first credential of the hub, as `pratique cluster token` writes it; with several, the next hub is taken when one fails or denies",
  },
  {
    name: "cluster-name",
    kind: "text",
    value: "NAME",
    description: "the name of this cluster on the hub (default: a random one, kept)",
  },
  {
    name: "spoke-kubeconfig",
    kind: "text",
    value: "FILE",
    completes: "file",
    description: "the API of this cluster, where it has one: its health, size and claims are reported",
  },
  {
    name: "namespace",
    kind: "text",
    value: "NAMESPACE",
    default: "open-cluster-management-agent",
    description: "where in this cluster Secret hub-kubeconfig-secret is kept",
  },
  {
    name: "dir",
    kind: "text",
    value: "DIR",
    completes: "directory",
    description:
      "where key and certificate are kept without --spoke-kubeconfig, and laid out as well with it (default without: /var/lib/pratique/klusterlet for root, else ~/.pratique/klusterlet)",
  },
  {
    name: "external-server",
    kind: "list",
    value: "URL",
    description: "where the API of this cluster can be reached from outside, for the hub to know",
  },
  {
    name: "certificate-duration",
    kind: "duration",
    value: "DURATION",
    description: "how long certificates shall last, 1h or more (default: as the hub decides)",
  },
];
