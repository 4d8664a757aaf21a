import { defineCommand, defineOptions, type Command, type Operand, type Option } from "../command.ts";
import { outputOption } from "../output.ts";
import { serverOptions } from "../shared-options.ts";

const operands: readonly Operand[] = [
  {
    name: "VERB",
    required: true,
    many: false,
    description: "the verb: get, list, create, approve and so on",
  },
  {
    name: "RESOURCE[/NAME]|/PATH",
    required: true,
    many: false,
    description: "the resource: pods, po, deployments.apps, secrets/db; or a path such as /metrics",
  },
];

const placeOptions: readonly Option[] = defineOptions({
  "--namespace NAMESPACE": { short: "n", description: "the namespace; default that of the kubeconfig's context" },
  "--all-namespaces": { short: "A", description: "in all namespaces at once" },
  "--subresource PART": "the subresource, such as log, status or exec",
});

/** `pratique why`. */
export const whyCommand: Command = defineCommand({
  name: "why",
  summary: "Explain why a user is or is not allowed to do something, and which right is missing",
  details: [
    "A hub returns the trace of its chain of authorizers: the verdict of each authorizer, and the binding, role and rule that allow the request. For a denied request it returns the nearest roles and bindings, and the commands that add exactly the missing right. To ask about another user you need the right to create accessexplanations, which ClusterRole pratique:access-explainer has.",
    "On any other Kubernetes the command sends a SubjectAccessReview. If you may read roles and bindings, it computes the binding or the nearest right from them.",
    "--as takes the name of an authenticated user. As impersonation does, the command adds group system:authenticated, and the groups of a ServiceAccount; give other groups with --as-group. The command performs no request as that user.",
    "The exit code is 0 for yes and 1 for no.",
  ],
  operands,
  options: [
    ...defineOptions({
      "--as USER": "the user to ask about; default yourself",
      "--as-group GROUP...": { commas: "kept", description: "a group of that user; may be given several times" },
      "--as-uid UID": "the UID of that user",
    }),
    ...placeOptions,
    outputOption,
    ...serverOptions,
  ],
  examples: {
    "whether ann may delete pods in a namespace": "why --as ann --as-group devs delete pods -n dev",
    "why a ServiceAccount may read a Secret": "why --as system:serviceaccount:ci:bot get secrets/db -n dev",
    "about yourself": "why get pods --subresource=log",
    "a path": "why --as ann get /metrics",
  },
  run: async (args, io) => (await import("./run-why.ts")).why(args, io),
});

/** `pratique who-can`. */
export const whoCanCommand: Command = defineCommand({
  name: "who-can",
  summary: "List the subjects that are allowed to do something, with binding and role",
  details: [
    "The command computes the subjects from the roles and bindings of the server, which you must be allowed to list. It does not know what other authorizers allow; a note below the table says so.",
  ],
  operands,
  options: [...placeOptions, outputOption, ...serverOptions],
  examples: {
    "who may read Secrets in a namespace": "who-can get secrets -n kube-system",
    "who may approve certificates of nodes":
      "who-can approve signers.certificates.k8s.io/kubernetes.io/kube-apiserver-client-kubelet",
  },
  run: async (args, io) => (await import("./run-who-can.ts")).whoCanRun(args, io),
});
