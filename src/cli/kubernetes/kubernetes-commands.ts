import { type Command, defineCommand, defineOptions } from "../command.ts";
import { serverOptions, logOptions, servingOptions } from "../shared-options.ts";

/** `pratique manifests`. */
export const manifestsCommand: Command = defineCommand({
  name: "manifests",
  summary: "Print what a Kubernetes cluster needs for access requests, for kubectl apply -f -",
  details: [
    "Definitions of AccessRequest, AccessProfile and CredentialRevocation, the rights of everybody concerned, the controller, and the webhook that keeps requests and decisions as they are. No profile is among them: make one, and bind ClusterRole pratique:access-approver to those who decide.",
    "Until the webhook runs, the API takes no request: it cannot ask what it must ask.",
  ],
  options: defineOptions({
    "--namespace NAME = pratique-system": "where controller and webhook run",
    "--image IMAGE = pratique:latest": "the container image, whose entry point is pratique",
    "--webhook-url URL":
      "an https:// URL at which `pratique webhook` runs outside the cluster; then it is not installed in it",
    "--webhook-ca-file FILE":
      "the CA of the webhook's certificate; without it, `pratique webhook --register` fills it in",
    "--no-workloads": "print no Deployment and no Service: controller and webhook run elsewhere",
    "--managed-clusters":
      "print what clusters need that join this one as well: the kinds of Open Cluster Management, roles, webhooks",
    "--older-add-ons":
      "serve ManagedClusterAddOn as v1alpha1 too, for agents of Open Cluster Management before v1.3; the webhook converts; with --managed-clusters",
    "--node-inventory":
      "let only those who may approve serving certificates write the inventory of nodes: kube-apiserver asks the webhook about ConfigMaps of kube-system, with --cel about that one alone",
    "--cel":
      "let the API itself refuse changes of requests too, by a rule that Kubernetes takes from 1.25 on; with --node-inventory from 1.28 on",
  }),
  examples: {
    install: "manifests | kubectl apply -f -",
    "with the webhook outside": "manifests --webhook-url https://10.0.0.5:8443 --no-workloads",
  },
  run: async (args, io) => (await import("./run-manifests.ts")).runManifests(args, io),
});

/** `pratique controller`. */
export const controllerCommand: Command = defineCommand({
  name: "controller",
  summary: "Answer access requests and approve serving certificates on any Kubernetes cluster",
  details: [
    "Does on a cluster what a hub does by itself: makes the account of an approved machine, binds what its profile grants, and seals token and CA to the machine's key. `pratique manifests` prints what the cluster needs for it.",
    "With --controllers serving-approving it approves the serving certificates of kubelets, which Kubernetes leaves to people, as far as --serving-approval proves whose names they are.",
    "With --controllers registration other clusters join this one as managed clusters, as in Open Cluster Management; `pratique manifests --managed-clusters` prints what that needs.",
    "With --leader-elect several may run: one acts, and another takes over within 15 seconds when it is gone.",
  ],
  options: [
    ...serverOptions,
    ...defineOptions({
      "--controllers NAMES... = access-request": {
        choices: ["access-request", "serving-approving", "registration"],
        description: "the controllers to run",
      },
      "--serving-approval PROVIDERS... = inventory": {
        choices: ["inventory", "networks", "dns"],
        description:
          "what proves whose names those are: the ConfigMap kube-system/pratique-node-inventory, networks of a file, DNS beside the inventory. Where a request came from is known to a hub only",
      },
      "--serving-approval-config FILE":
        "a ServingApproval (pratique.dev/v1alpha1): networks of nodes, an inventory in CSV, further names of the API",
      "--registration-config FILE":
        "a ClusterRegistration (pratique.dev/v1alpha1): which identities join which clusters without a person; with --controllers registration",
      "--ca-file FILE":
        "the CA that machines are given; default that of the kubeconfig, else that of ConfigMap kube-root-ca.crt",
      "--leader-elect": "act only while holding a Lease",
      "--leader-elect-lease-namespace NAME = pratique-system": "the namespace of that Lease",
      "--leader-elect-lease-name NAME = pratique-controller": "its name",
      "--health-address HOST:PORT": "where to answer GET /livez and /readyz over plain HTTP; default nowhere",
    }),
    ...logOptions,
  ],
  examples: {
    "outside of a cluster": "controller --kubeconfig admin.conf",
    "serving certificates only": "controller --controllers serving-approving",
    "a hub for other clusters": "controller --controllers registration",
    "two of them, of which one acts": "controller --kubeconfig admin.conf --leader-elect",
  },
  run: async (args, io) => (await import("./run-controller.ts")).runController(args, io),
});

/** `pratique webhook`. */
export const webhookCommand: Command = defineCommand({
  name: "webhook",
  summary:
    "Guard access requests on any Kubernetes cluster: decisions are stamped, each field is written by the user who may",
  details: [
    "Serves the AdmissionReviews of kube-apiserver with what a hub does by itself: a request does not change, decisions carry who made them, a requester cannot decide on its own request, sealed fields are written by the controller alone, profiles hand out only what their writer holds.",
    "kube-apiserver does not say where a request comes from: a profile with sourceNetworks takes no requests there.",
    "Without --tls-cert-file it makes a CA in --cert-dir and serves under it. --register puts that CA into the webhook configurations that `pratique manifests` made; --print-configuration prints them instead.",
  ],
  options: [
    ...serverOptions,
    ...defineOptions({
      "--bind-address IP = 127.0.0.1": "the address to listen on; 0.0.0.0 or :: for all",
      "--secure-port PORT = 8443": "the port; 0 for a free one",
      "--url URL": "the https:// URL at which kube-apiserver reaches it, where that is no Service of the cluster",
      "--service NAMESPACE/NAME = pratique-system/pratique-webhook": "the Service by which kube-apiserver reaches it",
    }),
    ...servingOptions({
      dir: "pratique-webhook",
      hosts: "--url, --service",
      printed: "--register and --print-configuration",
    }),
    ...defineOptions({
      "--ca-file FILE": "the CA that machines are given, as for `pratique controller`",
      "--managed-clusters": "guard managed clusters and their sets as well, at the paths of Open Cluster Management",
      "--older-add-ons":
        "convert ManagedClusterAddOn between v1alpha1 and v1beta1, for agents of Open Cluster Management before v1.3; with --managed-clusters",
      "--node-inventory":
        "with --print-configuration: ask about ConfigMaps of kube-system too, so that only those who may approve serving certificates write the inventory of nodes",
      "--max-pending N = 1000": "the maximum number of pending access requests",
      "--requests-per-minute N = 600": "the maximum number of new access requests without a credential per minute",
      "--register": "put the CA into the webhook configurations of the cluster",
      "--print-configuration": "print the webhook configurations with the CA, for kubectl apply -f -, and end",
    }),
    ...logOptions,
  ],
  examples: {
    "outside of a cluster":
      "webhook --kubeconfig admin.conf --bind-address 10.0.0.5 --url https://10.0.0.5:8443 --register",
    "the configurations for it": "webhook --url https://10.0.0.5:8443 --print-configuration",
  },
  run: async (args, io) => (await import("./run-webhook.ts")).runWebhook(args, io),
});
