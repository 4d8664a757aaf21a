import type { Option } from "../command.ts";
import { policyOptions } from "./policy-options.ts";
import { serverOptions } from "../server-options.ts";

/** The options that describe a chain of authorizers that is not in force yet. */
export const proposedOptions: readonly Option[] = [
  {
    name: "authorization-mode",
    kind: "list",
    value: "MODES",
    choices: ["Node", "RBAC", "ABAC", "Webhook", "AlwaysAllow", "AlwaysDeny"],
    description:
      "who decides, in order; default Node,RBAC, and Webhook after them where one is named or a policy given",
  },
  {
    name: "authorization-config",
    kind: "text",
    value: "FILE",
    completes: "file",
    description: "an AuthorizationConfiguration (apiserver.config.k8s.io/v1) in place of modes",
  },
  {
    name: "authorization-policy-file",
    kind: "text",
    value: "FILE",
    completes: "file",
    description: "the policies of mode ABAC",
  },
  {
    name: "authorization-webhook-config-file",
    kind: "text",
    value: "FILE",
    completes: "file",
    description: "the service that mode Webhook asks; it is really asked, unless a policy stands in for it",
  },
  {
    name: "authorization-webhook-version",
    kind: "text",
    value: "VERSION",
    default: "v1beta1",
    choices: ["v1", "v1beta1"],
    description: "which SubjectAccessReview that service speaks",
  },
  ...policyOptions,
  {
    name: "rbac",
    kind: "list",
    value: "FILE",
    completes: "file",
    description:
      "roles and bindings in YAML or JSON, as kubectl applies or prints them; may be given several times, later objects take the place of earlier ones of the same name",
  },
  {
    name: "rbac-base",
    kind: "text",
    value: "WHICH",
    default: "defaults",
    choices: ["defaults", "server", "none"],
    description:
      "what --rbac comes on top of: the roles that Kubernetes, kubeadm and a hub have from the start; those of the server that --kubeconfig leads to, as they are; or nothing, for a dump of all that there is",
  },
  {
    name: "namespace",
    short: "n",
    kind: "text",
    value: "NAME",
    default: "default",
    description: "where objects of --rbac lie that name no namespace",
  },
  ...serverOptions,
];
