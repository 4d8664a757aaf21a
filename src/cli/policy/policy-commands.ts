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

/** The options that say what decides: one of four kinds of policy. */
const policyOptions: readonly Option[] = defineOptions({
  "--policy FILE|DIR": "the Rego source, or a folder with .rego files; files that end in _test.rego are left out",
  "--query data.PATH = data.k8s.allow": "the rule that decides; for a bundle its entry point",
  "--bundle FILE": "in place of --policy: Rego that `opa build -t wasm` compiled, as a .tar.gz or a .wasm",
  "--cel FILE": "in place of --policy: a CelPolicy in YAML, or one expression in a file that ends in .cel",
  "--opa-url URL":
    "in place of --policy: an OPA server; http:// only on this machine, https:// through HTTPS_PROXY but for what NO_PROXY lists",
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
        "who decides, in order; default Node,RBAC, and Webhook after them where one is named or a policy given",
    },
    "--authorization-config FILE": "an AuthorizationConfiguration (apiserver.config.k8s.io/v1) in place of modes",
    "--authorization-policy-file FILE": "the policies of mode ABAC",
    "--authorization-webhook-config-file FILE":
      "the service that mode Webhook asks; it is really asked, unless a policy stands in for it",
    "--authorization-webhook-version VERSION = v1beta1": {
      choices: ["v1", "v1beta1"],
      description: "which SubjectAccessReview that service speaks",
    },
  }),
  ...policyOptions,
  ...defineOptions({
    "--rbac FILE...":
      "roles and bindings in YAML or JSON, as kubectl applies or prints them; may be given several times, later objects take the place of earlier ones of the same name",
    "--rbac-base WHICH = defaults": {
      choices: ["defaults", "server", "none"],
      description:
        "what --rbac comes on top of: the roles that Kubernetes, kubeadm and a hub have from the start; those of the server that --kubeconfig leads to, as they are; or nothing, for a dump of all that there is",
    },
    "--namespace NAME = default": { short: "n", description: "where objects of --rbac lie that name no namespace" },
  }),
  ...serverOptions,
];

const tested: Operand = {
  name: "FILE|DIR",
  required: true,
  many: false,
  description: "the Rego source, or a folder with .rego files, tests among them",
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
        "The input is what the policy sees as `input`: for `pratique authorizer` a SubjectAccessReview. A policy in CEL takes nothing else, and prints its decision. A rule without a value prints undefined, and the exit code is 1.",
      ],
      options: [
        ...policyOptions,
        ...defineOptions({ "--input FILE|-": "the input as JSON; - reads standard input; without it there is none" }),
      ],
      examples: {
        "one review": "policy eval --policy k8s.rego --query data.k8s.allow --input review.json",
        "the same of an OPA server": "policy eval --opa-url http://127.0.0.1:8181 --input review.json",
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
      summary: "Say whom a proposed chain of authorizers would lock out",
      details: [
        "Puts what kubelets, controllers, the scheduler, joining machines, probes and operators need to the chain that the options describe, and prints whatever it would refuse. The exit code is then 4. Nothing is changed anywhere.",
        "A policy stands in for the webhook of the chain; without one, --authorization-webhook-config-file and the services of --authorization-config are really asked. Everything is asked twice where the chain has a webhook: once more as if it could not be reached.",
        "RBAC has the default roles of Kubernetes, kubeadm and the hub unless --rbac-base says otherwise; no server is asked but for those roles. Node knows of one pod on the node in the questions.",
      ],
      options: [
        ...proposedOptions,
        ...defineOptions({
          "--for WHERE": {
            choices: ["hub", "kubernetes"],
            description:
              "ask only for what runs there; a hub lets its own controllers through by their roles; default both",
          },
          "--outage = true": "ask as well as if no webhook could be reached",
          "--all": "print what is allowed request by request too",
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
      summary: "Say which recorded requests a proposed chain would decide otherwise",
      details: [
        "Reads audit logs of a hub or of any kube-apiserver, one JSON event on each line, packed with gzip or not, puts each request that was authorized to the chain that the options describe, and counts by user and rule what would be decided otherwise. The exit code is then 8. Nothing is changed anywhere.",
        "Level Metadata is enough. It checks the impersonated user, and the right to impersonate as well. A request with several stages counts once.",
        "RBAC has the default roles unless --rbac-base says otherwise: give the roles and bindings of the cluster, from the server or a dump, or requests that those allow seem to be refused.",
      ],
      options: [
        ...defineOptions({
          "--audit-log FILE...": "a log, such as those that a rotation has put aside; may be given several times",
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
  summary: "Decide the SubjectAccessReviews of any kube-apiserver with a policy in Rego or CEL",
  details: [
    "The policy is Rego from source (--policy), Rego compiled by OPA (--bundle), CEL (--cel), or an OPA server (--opa-url).",
    "Serves authorization.k8s.io/v1 and v1beta1 at /authorize over HTTPS. The policy sees the whole review as `input`; its rule is a boolean, or an object with allow, deny and reason. No value, and false, is no opinion, which refuses when no other authorizer allows; a policy that fails denies.",
    "Changed files are taken up within two seconds, and no request waits for that; files that do not compile change nothing. /metrics, /livez and /readyz are there.",
    "With --revocations it denies what is revoked, and until the list is known everything but reading the list. Put it first, with failurePolicy: Deny where the release has that, and a short cache: docs/revocation.md.",
    "Without --tls-cert-file it makes a CA in --cert-dir and serves under it. --print-kubeconfig prints the file for --authorization-webhook-config-file.",
  ],
  options: [
    ...policyOptions,
    ...defineOptions({
      "--revocations":
        "first deny every credential that a CredentialRevocation of the cluster names, whatever the policy says; a policy is then not needed. --kubeconfig must be allowed to list and watch them",
      "--bind-address IP = 127.0.0.1": "the address to listen on; 0.0.0.0 or :: for all",
      "--secure-port PORT = 8444": "the port; 0 for a free one",
      "--url URL": "the https:// URL at which kube-apiserver reaches it; default that of --bind-address",
    }),
    ...servingOptions({ dir: "pratique-authorizer", hosts: "--url", printed: "--print-kubeconfig" }),
    ...defineOptions({ "--print-kubeconfig": "print the file that kube-apiserver wants, and end" }),
    ...serverOptions,
    ...logOptions,
  ],
  examples: {
    "for an API server on this machine": "authorizer --policy k8s.rego --query data.k8s.allow",
    "with an OPA beside it": "authorizer --opa-url http://127.0.0.1:8181 --query data.k8s.allow",
    "that nothing but refuses what is revoked, as the first of several":
      "authorizer --revocations --kubeconfig authorizer.conf",
    "the file for it": "authorizer --policy k8s.rego --print-kubeconfig > authorizer.kubeconfig",
  },
  run: async (args, io) => (await import("./run-authorizer.ts")).runAuthorizer(args, io),
});
