import {
  defineCommand,
  defineOptions,
  type CommandGroup,
  type Operand,
  type Option,
  type Command,
} from "../command.ts";
import { outputOption } from "../output.ts";
import { serverOptions, logOptions, servingOptions } from "../shared-options.ts";

/** The options that select the policy: one of four kinds. */
const policyOptions: readonly Option[] = defineOptions({
  "--policy FILE|DIR": "a Rego file, or a directory with .rego files, without those that end in _test.rego",
  "--query data.PATH = data.k8s.allow": "the rule that decides; for a bundle its entry point",
  "--bundle FILE": "in place of --policy: Rego that `opa build -t wasm` compiled, as a .tar.gz or a .wasm",
  "--cel FILE": "in place of --policy: a CelPolicy in YAML, or one expression in a file that ends in .cel",
  "--opa-url URL":
    "in place of --policy: an OPA server; http:// on this machine only; https:// uses HTTPS_PROXY and NO_PROXY",
  "--opa-ca-file FILE": "the CA of that server; default those of the system",
  "--opa-token-file FILE": "a bearer token for that server",
  "--opa-timeout DURATION = 3s": "the maximum time for one answer of that server; up to 30s",
});

/** The options that describe a chain of authorizers that is not in force yet. */
const proposedOptions: readonly Option[] = [
  ...defineOptions({
    "--authorization-mode MODES...": {
      choices: ["Node", "RBAC", "ABAC", "Webhook", "AlwaysAllow", "AlwaysDeny"],
      description:
        "the authorization modes in their order; default Node,RBAC, followed by Webhook if a webhook or a policy is given",
    },
    "--authorization-config FILE": "an AuthorizationConfiguration (apiserver.config.k8s.io/v1) in place of modes",
    "--authorization-policy-file FILE": "the policies of mode ABAC",
    "--authorization-webhook-config-file FILE":
      "the kubeconfig of the service of mode Webhook, which the command calls unless a policy is given",
    "--authorization-webhook-version VERSION = v1beta1": {
      choices: ["v1", "v1beta1"],
      description: "the version of SubjectAccessReview that the hub sends to that service",
    },
  }),
  ...policyOptions,
  ...defineOptions({
    "--rbac FILE...":
      "roles and bindings in YAML or JSON; may be given several times; later objects replace earlier ones of the same name",
    "--rbac-base WHICH = defaults": {
      choices: ["defaults", "server", "none"],
      description:
        "the roles to which --rbac is added: the default roles of Kubernetes, kubeadm and a hub; those of the server of --kubeconfig; or none, for a complete dump",
    },
    "--namespace NAME = default": { short: "n", description: "the namespace of objects of --rbac that name none" },
  }),
  ...serverOptions,
];

const tested: Operand = {
  name: "FILE|DIR",
  required: true,
  many: false,
  description: "a Rego file, or a directory with .rego files that contain tests",
};

/** `pratique policy …`. */
export const policyCommands: CommandGroup = {
  name: "policy",
  summary: "Policies in Rego and CEL: try them, test them, and find out which requests they would reject",
  commands: [
    defineCommand({
      name: "policy eval",
      summary: "Evaluate a policy for one input and print its value as JSON",
      details: [
        "The input is the value of `input` in the policy: for `pratique authorizer` a SubjectAccessReview. A policy in CEL accepts only that, and its decision is printed. If the rule has no value, the command prints undefined and exits with code 1.",
      ],
      options: [
        ...policyOptions,
        ...defineOptions({ "--input FILE|-": "the input as JSON; - for standard input; default none" }),
      ],
      examples: {
        "one review": "policy eval --policy k8s.rego --query data.k8s.allow --input review.json",
        "the same policy on an OPA server": "policy eval --opa-url http://127.0.0.1:8181 --input review.json",
      },
      run: async (args, io) => (await import("./run-policy.ts")).runPolicyEval(args, io),
    }),
    defineCommand({
      name: "policy test",
      summary: "Run the rules whose names begin with test_",
      details: [
        "A test passes when its rule is true. A failing test, or one whose evaluation fails, makes the exit code 1.",
      ],
      operands: [tested],
      examples: { "all tests of a folder": "policy test policies/" },
      run: async (args, io) => (await import("./run-policy.ts")).runPolicyTest(args, io),
    }),
    defineCommand({
      name: "policy check",
      summary: "Check which components a proposed chain of authorizers would lock out",
      details: [
        "The command evaluates the requests that kubelets, controllers, the scheduler, joining machines, probes and operators need with the chain of the options, and prints those that the chain would deny; the exit code is then 4. It changes nothing.",
        "A policy takes the place of the webhook of the chain; without one, the command calls the services of --authorization-webhook-config-file and --authorization-config. If the chain has a webhook, the command evaluates each request a second time as if the webhook could not be reached.",
        "RBAC has the default roles of Kubernetes, kubeadm and the hub unless --rbac-base says otherwise; the command contacts a server only for roles. Node knows one Pod on the node of the requests.",
      ],
      options: [
        ...proposedOptions,
        ...defineOptions({
          "--for WHERE": {
            choices: ["hub", "kubernetes"],
            description:
              "only requests of components that run there; a hub always allows its own controllers by their roles; default both",
          },
          "--outage = true": "also evaluate as if no webhook could be reached",
          "--all": "print allowed requests as well",
        }),
        outputOption,
      ],
      examples: {
        "a policy behind Node and RBAC": "policy check --policy k8s.rego",
        "a configuration file, with the policy in place of its webhook":
          "policy check --authorization-config authorization.yaml --policy k8s.rego",
        "the roles of a cluster as they are, and a policy before them":
          "policy check --authorization-mode Webhook,Node,RBAC --policy k8s.rego --rbac roles.json --rbac-base none",
      },
      run: async (args, io) => (await import("./run-policy-check.ts")).runPolicyCheck(args, io),
    }),
    defineCommand({
      name: "policy replay",
      summary: "Replay an audit log: which requests a proposed chain of authorizers would decide differently",
      details: [
        "The command reads audit logs of a hub or of any kube-apiserver (one JSON event on each line, also with gzip), evaluates each recorded request with the chain of the options, and counts by user and rule which decisions would change; the exit code is then 8. It changes nothing.",
        "Level Metadata is enough. The command evaluates the impersonated user, and the right to impersonate. A request with several stages counts once.",
        "RBAC has the default roles unless --rbac-base says otherwise: give the roles and bindings of the cluster, from the server or a dump; else requests that only they allow count as denied.",
      ],
      options: [
        ...defineOptions({
          "--audit-log FILE...": "an audit log; may be given several times, for rotated files",
        }),
        ...proposedOptions,
        outputOption,
      ],
      examples: {
        "a new policy behind the roles of the cluster":
          "policy replay --audit-log audit.log --policy new.rego --rbac-base server",
        "the policy alone, without Node and RBAC":
          "policy replay --audit-log audit.log --policy new.rego --authorization-mode Webhook",
        "roles and bindings before they are applied":
          "policy replay --audit-log audit.log --rbac-base server --rbac proposed.yaml",
      },
      run: async (args, io) => (await import("./run-policy-replay.ts")).runPolicyReplay(args, io),
    }),
  ],
};

/** `pratique authorizer`. */
export const authorizerCommand: Command = defineCommand({
  name: "authorizer",
  summary: "Serve an authorization webhook that decides by a policy in Rego or CEL",
  details: [
    "The policy is Rego from source (--policy), Rego compiled by OPA (--bundle), CEL (--cel), or an OPA server (--opa-url).",
    "The authorizer serves SubjectAccessReviews of authorization.k8s.io/v1 and v1beta1 at /authorize over HTTPS. The policy receives the review as `input`; its rule is a boolean, or an object with allow, deny and reason. No value and false mean no opinion; the request is then denied unless another authorizer allows it. A failed evaluation denies.",
    "The authorizer reloads changed files within two seconds; if they do not compile it keeps the previous policy. It serves /metrics, /livez and /readyz.",
    "With --revocations it denies revoked credentials, and every request but those for the list until it has read the list. Make it the first authorizer, with failurePolicy: Deny if the release has that, and a short cache: docs/revocation.md.",
    "Without --tls-cert-file the authorizer creates a CA and a serving certificate in --cert-dir. --print-kubeconfig prints the file for --authorization-webhook-config-file.",
  ],
  options: [
    ...policyOptions,
    ...defineOptions({
      "--revocations":
        "deny every credential that a CredentialRevocation of the cluster names, before the policy decides; a policy is then optional. The user of --kubeconfig must be allowed to list and watch credentialrevocations",
      "--bind-address IP = 127.0.0.1": "the address to listen on; 0.0.0.0 or :: for all",
      "--secure-port PORT = 8444": "the port; 0 for a free one",
      "--url URL": "the https:// URL at which kube-apiserver reaches the authorizer; default that of --bind-address",
    }),
    ...servingOptions({ dir: "pratique-authorizer", hosts: "--url", printed: "--print-kubeconfig" }),
    ...defineOptions({ "--print-kubeconfig": "print the kubeconfig for kube-apiserver and exit" }),
    ...serverOptions,
    ...logOptions,
  ],
  examples: {
    "for an API server on this machine": "authorizer --policy k8s.rego --query data.k8s.allow",
    "with an OPA server on this machine": "authorizer --opa-url http://127.0.0.1:8181 --query data.k8s.allow",
    "only for revocations, as the first authorizer of a chain": "authorizer --revocations --kubeconfig authorizer.conf",
    "the kubeconfig for kube-apiserver": "authorizer --policy k8s.rego --print-kubeconfig > authorizer.kubeconfig",
  },
  run: async (args, io) => (await import("./run-authorizer.ts")).runAuthorizer(args, io),
});
