import { defineCommand, defineOptions, type CommandGroup, type Operand } from "../command.ts";
import { outputOption } from "../output.ts";
import { policyOptions, proposedOptions } from "./policy-options.ts";

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
      run: async (args, io) => (await import("./run-policy-eval.ts")).runPolicyEval(args, io),
    }),
    defineCommand({
      name: "policy test",
      summary: "Run the rules whose names begin with test_",
      details: [
        "A test passes when its rule is true. A failing test, or one whose evaluation fails, makes the exit code 1.",
      ],
      operands: [tested],
      examples: { "all tests of a folder": "policy test policies/" },
      run: async (args, io) => (await import("./run-policy-test.ts")).runPolicyTest(args, io),
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
