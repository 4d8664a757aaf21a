import type { Command } from "../command.ts";

/** `pratique manifests`. */
export const manifestsCommand: Command = {
  name: "manifests",
  summary: "Print what a Kubernetes cluster needs for access requests, for kubectl apply -f -",
  details: [
    "Definitions of AccessRequest, AccessProfile and CredentialRevocation, the rights of everybody concerned, the controller, and the webhook that keeps requests and decisions as they are. No profile is among them: make one, and bind ClusterRole pratique:access-approver to those who decide.",
    "Until the webhook runs, the API takes no request: it cannot ask what it must ask.",
  ],
  operands: [],
  options: [
    {
      name: "namespace",
      kind: "text",
      value: "NAME",
      default: "pratique-system",
      description: "where controller and webhook run",
    },
    {
      name: "image",
      kind: "text",
      value: "IMAGE",
      default: "pratique:latest",
      description: "the container image, whose entry point is pratique",
    },
    {
      name: "webhook-url",
      kind: "text",
      value: "URL",
      description:
        "an https:// URL at which `pratique webhook` runs outside the cluster; then it is not installed in it",
    },
    {
      name: "webhook-ca-file",
      kind: "text",
      value: "FILE",
      completes: "file",
      description: "the CA of the webhook's certificate; without it, `pratique webhook --register` fills it in",
    },
    {
      name: "no-workloads",
      kind: "boolean",
      default: "false",
      description: "print no Deployment and no Service: controller and webhook run elsewhere",
    },
    {
      name: "managed-clusters",
      kind: "boolean",
      default: "false",
      description:
        "print what clusters need that join this one as well: the kinds of Open Cluster Management, roles, webhooks",
    },
    {
      name: "older-add-ons",
      kind: "boolean",
      default: "false",
      description:
        "serve ManagedClusterAddOn as v1alpha1 too, for agents of Open Cluster Management before v1.3; the webhook converts; with --managed-clusters",
    },
    {
      name: "node-inventory",
      kind: "boolean",
      default: "false",
      description:
        "let only those who may approve serving certificates write the inventory of nodes: kube-apiserver asks the webhook about ConfigMaps of kube-system, with --cel about that one alone",
    },
    {
      name: "cel",
      kind: "boolean",
      default: "false",
      description:
        "let the API itself refuse changes of requests too, by a rule that Kubernetes takes from 1.25 on; with --node-inventory from 1.28 on",
    },
  ],
  examples: [
    { note: "install", line: "manifests | kubectl apply -f -" },
    { note: "with the webhook outside", line: "manifests --webhook-url https://10.0.0.5:8443 --no-workloads" },
  ],
  run: async (args, io) => (await import("./run-manifests.ts")).runManifests(args, io),
};
