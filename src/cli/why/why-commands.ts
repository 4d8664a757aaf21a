import { defineCommand, defineOptions, type Command, type Operand, type Option } from "../command.ts";
import { outputOption } from "../output.ts";
import { serverOptions } from "../shared-options.ts";

const operands: readonly Operand[] = [
  {
    name: "VERB",
    required: true,
    many: false,
    description: "what is to be done: get, list, create, approve and so on",
  },
  {
    name: "RESOURCE[/NAME]|/PATH",
    required: true,
    many: false,
    description: "to what: pods, po, deployments.apps, secrets/db; or a path such as /metrics",
  },
];

const placeOptions: readonly Option[] = defineOptions({
  "--namespace NAMESPACE": { short: "n", description: "where; default the namespace of the kubeconfig's context" },
  "--all-namespaces": { short: "A", description: "in all namespaces at once" },
  "--subresource PART": "a part of the object, such as log, status or exec",
});

/** `pratique why`. */
export const whyCommand: Command = defineCommand({
  name: "why",
  summary: "Say why a user may do something, or may not, and what is missing",
  details: [
    "A hub answers with the trace of the very chain that decides: each authorizer with its verdict, the binding, role and rule that allow it; for a refusal what comes nearest, and the commands that add exactly the missing right. About others that needs the right to create accessexplanations, which ClusterRole pratique:access-explainer holds; about oneself nothing.",
    "Any other Kubernetes is asked with a SubjectAccessReview. Where you may read roles and bindings, the binding or the nearest right is worked out here, and said so.",
    "--as takes a user as it stands after signing in. Like impersonation it adds system:authenticated, and the groups of a ServiceAccount; other groups of a real login are not known here: give them with --as-group. Nothing is done in that name.",
    "The exit code is 0 for yes and 1 for no.",
  ],
  operands,
  options: [
    ...defineOptions({
      "--as USER": "about whom; default about yourself",
      "--as-group GROUP...": { commas: "kept", description: "a group of that user; may be given several times" },
      "--as-uid UID": "the UID of that user",
    }),
    ...placeOptions,
    outputOption,
    ...serverOptions,
  ],
  examples: {
    "why can ann not delete pods there": "why --as ann --as-group devs delete pods -n dev",
    "what lets a ServiceAccount read a Secret": "why --as system:serviceaccount:ci:bot get secrets/db -n dev",
    "about yourself": "why get pods --subresource=log",
    "a path": "why --as ann get /metrics",
  },
  run: async (args, io) => (await import("./run-why.ts")).why(args, io),
});

/** `pratique who-can`. */
export const whoCanCommand: Command = defineCommand({
  name: "who-can",
  summary: "List who may do something, through which binding and role",
  details: [
    "Works out from the roles and bindings of the server whom RBAC lets do it; it needs the right to list them. What else allows a user cannot be seen from there; a note below the table says so.",
  ],
  operands,
  options: [...placeOptions, outputOption, ...serverOptions],
  examples: {
    "who reads Secrets there": "who-can get secrets -n kube-system",
    "who approves nodes": "who-can approve signers.certificates.k8s.io/kubernetes.io/kube-apiserver-client-kubelet",
  },
  run: async (args, io) => (await import("./run-who-can.ts")).whoCanRun(args, io),
});
