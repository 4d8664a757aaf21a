import type { Command } from "../command.ts";
import { logOptions } from "../log-options.ts";
import { serverOptions } from "../server-options.ts";

/** `pratique controller`. */
export const controllerCommand: Command = {
  name: "controller",
  summary: "Answer access requests and approve serving certificates on any Kubernetes cluster",
  details: [
    "Does on a cluster what a hub does by itself: makes the account of an approved machine, binds what its profile grants, and seals token and CA to the machine's key. `pratique manifests` prints what the cluster needs for it.",
    "With --controllers serving-approving it approves the serving certificates of kubelets, which Kubernetes leaves to people, as far as --serving-approval proves whose names they are.",
    "With --controllers registration other clusters join this one as managed clusters, as in Open Cluster Management; `pratique manifests --managed-clusters` prints what that needs.",
    "With --leader-elect several may run: one acts, and another takes over within 15 seconds when it is gone.",
  ],
  operands: [],
  options: [
    ...serverOptions,
    {
      name: "controllers",
      kind: "list",
      value: "NAMES",
      choices: ["access-request", "serving-approving", "registration"],
      default: "access-request",
      description: "the controllers to run",
    },
    {
      name: "serving-approval",
      kind: "list",
      value: "PROVIDERS",
      choices: ["inventory", "networks", "dns"],
      default: "inventory",
      description:
        "what proves whose names those are: the ConfigMap kube-system/pratique-node-inventory, networks of a file, DNS beside the inventory. Where a request came from is known to a hub only",
    },
    {
      name: "serving-approval-config",
      kind: "text",
      value: "FILE",
      completes: "file",
      description:
        "a ServingApproval (pratique.dev/v1alpha1): networks of nodes, an inventory in CSV, further names of the API",
    },
    {
      name: "registration-config",
      kind: "text",
      value: "FILE",
      completes: "file",
      description:
        "a ClusterRegistration (pratique.dev/v1alpha1): which identities join which clusters without a person; with --controllers registration",
    },
    {
      name: "ca-file",
      kind: "text",
      value: "FILE",
      completes: "file",
      description:
        "the CA that machines are given; default that of the kubeconfig, else that of ConfigMap kube-root-ca.crt",
    },
    {
      name: "leader-elect",
      kind: "boolean",
      default: "false",
      description: "act only while holding a Lease",
    },
    {
      name: "leader-elect-lease-namespace",
      kind: "text",
      value: "NAME",
      default: "pratique-system",
      description: "the namespace of that Lease",
    },
    {
      name: "leader-elect-lease-name",
      kind: "text",
      value: "NAME",
      default: "pratique-controller",
      description: "its name",
    },
    {
      name: "health-address",
      kind: "text",
      value: "HOST:PORT",
      description: "where to answer GET /livez and /readyz over plain HTTP; default nowhere",
    },
    ...logOptions,
  ],
  examples: [
    { note: "outside of a cluster", line: "controller --kubeconfig admin.conf" },
    { note: "serving certificates only", line: "controller --controllers serving-approving" },
    { note: "a hub for other clusters", line: "controller --controllers registration" },
    { note: "two of them, of which one acts", line: "controller --kubeconfig admin.conf --leader-elect" },
  ],
  run: async (args, io) => (await import("./run-controller.ts")).runController(args, io),
};
