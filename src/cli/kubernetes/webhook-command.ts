import type { Command } from "../command.ts";
import { logOptions } from "../log-options.ts";
import { servingOptions } from "../serving-options.ts";
import { serverOptions } from "../server-options.ts";

/** `pratique webhook`. */
export const webhookCommand: Command = {
  name: "webhook",
  summary:
    "Guard access requests on any Kubernetes cluster: decisions are stamped, each field is written by the user who may",
  details: [
    "Serves the AdmissionReviews of kube-apiserver with what a hub does by itself: a request does not change, decisions carry who made them, a requester cannot decide on its own request, sealed fields are written by the controller alone, profiles hand out only what their writer holds.",
    "kube-apiserver does not say where a request comes from: a profile with sourceNetworks takes no requests there.",
    "Without --tls-cert-file it makes a CA in --cert-dir and serves under it. --register puts that CA into the webhook configurations that `pratique manifests` made; --print-configuration prints them instead.",
  ],
  operands: [],
  options: [
    ...serverOptions,
    {
      name: "bind-address",
      kind: "text",
      value: "IP",
      default: "127.0.0.1",
      description: "the address to listen on; 0.0.0.0 or :: for all",
    },
    { name: "secure-port", kind: "integer", value: "PORT", default: "8443", description: "the port; 0 for a free one" },
    {
      name: "url",
      kind: "text",
      value: "URL",
      description: "the https:// URL at which kube-apiserver reaches it, where that is no Service of the cluster",
    },
    {
      name: "service",
      kind: "text",
      value: "NAMESPACE/NAME",
      default: "pratique-system/pratique-webhook",
      description: "the Service by which kube-apiserver reaches it",
    },
    ...servingOptions({
      dir: "pratique-webhook",
      hosts: "--url, --service",
      printed: "--register and --print-configuration",
    }),
    {
      name: "ca-file",
      kind: "text",
      value: "FILE",
      completes: "file",
      description: "the CA that machines are given, as for `pratique controller`",
    },
    {
      name: "managed-clusters",
      kind: "boolean",
      default: "false",
      description: "guard managed clusters and their sets as well, at the paths of Open Cluster Management",
    },
    {
      name: "older-add-ons",
      kind: "boolean",
      default: "false",
      description:
        "convert ManagedClusterAddOn between v1alpha1 and v1beta1, for agents of Open Cluster Management before v1.3; with --managed-clusters",
    },
    {
      name: "node-inventory",
      kind: "boolean",
      default: "false",
      description:
        "with --print-configuration: ask about ConfigMaps of kube-system too, so that only those who may approve serving certificates write the inventory of nodes",
    },
    {
      name: "max-pending",
      kind: "integer",
      value: "N",
      default: "1000",
      description: "the maximum number of pending access requests",
    },
    {
      name: "requests-per-minute",
      kind: "integer",
      value: "N",
      default: "600",
      description: "the maximum number of new access requests without a credential per minute",
    },
    {
      name: "register",
      kind: "boolean",
      default: "false",
      description: "put the CA into the webhook configurations of the cluster",
    },
    {
      name: "print-configuration",
      kind: "boolean",
      default: "false",
      description: "print the webhook configurations with the CA, for kubectl apply -f -, and end",
    },
    ...logOptions,
  ],
  examples: [
    {
      note: "outside of a cluster",
      line: "webhook --kubeconfig admin.conf --bind-address 10.0.0.5 --url https://10.0.0.5:8443 --register",
    },
    { note: "the configurations for it", line: "webhook --url https://10.0.0.5:8443 --print-configuration" },
  ],
  run: async (args, io) => (await import("./run-webhook.ts")).runWebhook(args, io),
};
