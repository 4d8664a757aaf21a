import { type Command, defineCommand, defineOptions } from "../command.ts";
import { serverOptions, logOptions, servingOptions } from "../shared-options.ts";

/** `pratique manifests`. */
export const manifestsCommand: Command = defineCommand({
  name: "manifests",
  summary: "Print the manifests for access requests on any Kubernetes, for kubectl apply -f -",
  details: [
    "The output contains the CustomResourceDefinitions of AccessRequest, AccessProfile and CredentialRevocation, roles and bindings, the controller and the webhook. It contains no AccessProfile: create one, and bind ClusterRole pratique:access-approver to the approvers.",
    "Until the webhook runs, the API rejects access requests, because the failurePolicy of its configuration is Fail.",
  ],
  options: defineOptions({
    "--namespace NAME = pratique-system": "the namespace of controller and webhook",
    "--image IMAGE = pratique:latest": "the container image, whose entry point is pratique",
    "--webhook-url URL":
      "the https:// URL of a `pratique webhook` that runs outside the cluster; the output then contains no webhook Deployment",
    "--webhook-ca-file FILE": "the CA of the webhook's certificate; without it, `pratique webhook --register` adds it",
    "--no-workloads": "omit Deployments and Services: controller and webhook run elsewhere",
    "--managed-clusters":
      "also print the kinds of Open Cluster Management, with roles and webhooks, for clusters that join this one",
    "--older-add-ons":
      "also serve ManagedClusterAddOn in v1alpha1, for agents of Open Cluster Management before v1.3; the webhook converts; with --managed-clusters",
    "--node-inventory":
      "allow only approvers of serving certificates to write the inventory of nodes: kube-apiserver calls the webhook for ConfigMaps of kube-system, with --cel for that one only",
    "--cel":
      "add CEL rules by which the API rejects changes of requests; requires Kubernetes 1.25, with --node-inventory 1.28",
  }),
  examples: {
    install: "manifests | kubectl apply -f -",
    "with controller and webhook outside the cluster": "manifests --webhook-url https://10.0.0.5:8443 --no-workloads",
  },
  run: async (args, io) => (await import("./run-manifests.ts")).runManifests(args, io),
});

/** `pratique controller`. */
export const controllerCommand: Command = defineCommand({
  name: "controller",
  summary: "Run the controllers of access requests, serving certificates and managed clusters on any Kubernetes",
  details: [
    "The controller does on any Kubernetes what a hub does itself: it creates the ServiceAccount of an approved machine, binds the roles of its profile, and encrypts token and CA to the machine's key. `pratique manifests` prints the objects that it needs.",
    "With --controllers serving-approving it approves serving certificates of kubelets whose names the providers of --serving-approval prove.",
    "With --controllers registration other clusters can join this one as managed clusters, as in Open Cluster Management; `pratique manifests --managed-clusters` prints the objects that it needs.",
    "With --leader-elect several replicas may run: one is the leader, and another becomes leader within 15 seconds after it has stopped.",
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
          "the providers that prove names: the ConfigMap kube-system/pratique-node-inventory, networks in a file, DNS together with the inventory. Only a hub knows the source address of a request",
      },
      "--serving-approval-config FILE":
        "a ServingApproval (pratique.dev/v1alpha1): networks of nodes, an inventory in CSV, additional names of the API",
      "--registration-config FILE":
        "a ClusterRegistration (pratique.dev/v1alpha1): which identities join which clusters by automatic approval; with --controllers registration",
      "--ca-file FILE":
        "the CA that machines receive; default that of the kubeconfig, else that of ConfigMap kube-root-ca.crt",
      "--leader-elect": "run the controllers only while this replica is the leader",
      "--leader-elect-lease-namespace NAME = pratique-system": "the namespace of that Lease",
      "--leader-elect-lease-name NAME = pratique-controller": "its name",
      "--health-address HOST:PORT": "the address that serves /livez and /readyz over plain HTTP; default none",
    }),
    ...logOptions,
  ],
  examples: {
    "outside the cluster": "controller --kubeconfig admin.conf",
    "serving certificates only": "controller --controllers serving-approving",
    "a hub for other clusters": "controller --controllers registration",
    "one of several replicas": "controller --kubeconfig admin.conf --leader-elect",
  },
  run: async (args, io) => (await import("./run-controller.ts")).runController(args, io),
});

/** `pratique webhook`. */
export const webhookCommand: Command = defineCommand({
  name: "webhook",
  summary: "Serve the admission webhook of access requests on any Kubernetes",
  details: [
    "The webhook makes kube-apiserver check what a hub checks itself: the spec of a request is immutable, a decision contains its user, requesters do not decide on their own requests, only the controller writes answers, and a profile grants only rights that its writer has.",
    "kube-apiserver does not tell webhooks the source address of a request: a profile with sourceNetworks accepts no requests there.",
    "Without --tls-cert-file the webhook creates a CA and a serving certificate in --cert-dir. --register writes that CA to the webhook configurations of `pratique manifests`; --print-configuration prints the configurations instead.",
  ],
  options: [
    ...serverOptions,
    ...defineOptions({
      "--bind-address IP = 127.0.0.1": "the address to listen on; 0.0.0.0 or :: for all",
      "--secure-port PORT = 8443": "the port; 0 for a free one",
      "--url URL": "the https:// URL at which kube-apiserver reaches the webhook, if not by a Service",
      "--service NAMESPACE/NAME = pratique-system/pratique-webhook":
        "the Service by which kube-apiserver reaches the webhook",
    }),
    ...servingOptions({
      dir: "pratique-webhook",
      hosts: "--url, --service",
      printed: "--register and --print-configuration",
    }),
    ...defineOptions({
      "--ca-file FILE": "the CA that machines receive, as for `pratique controller`",
      "--managed-clusters": "also check managed clusters and cluster sets, at the paths of Open Cluster Management",
      "--older-add-ons":
        "convert ManagedClusterAddOn between v1alpha1 and v1beta1, for agents of Open Cluster Management before v1.3; with --managed-clusters",
      "--node-inventory":
        "with --print-configuration: also call the webhook for ConfigMaps of kube-system, so that only approvers of serving certificates write the inventory of nodes",
      "--max-pending N = 1000": "the maximum number of pending access requests",
      "--requests-per-minute N = 600": "the maximum number of new access requests without a credential per minute",
      "--register": "write the CA to the webhook configurations of the cluster",
      "--print-configuration": "print the webhook configurations with the CA, for kubectl apply -f -, and exit",
    }),
    ...logOptions,
  ],
  examples: {
    "outside the cluster":
      "webhook --kubeconfig admin.conf --bind-address 10.0.0.5 --url https://10.0.0.5:8443 --register",
    "the configurations for it": "webhook --url https://10.0.0.5:8443 --print-configuration",
  },
  run: async (args, io) => (await import("./run-webhook.ts")).runWebhook(args, io),
});
