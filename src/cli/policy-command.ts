import type { CommandGroup, Operand } from "./command.ts";
import { policyOptions } from "./policy-options.ts";

const tested: Operand = {
  name: "FILE|DIR",
  required: true,
  many: false,
  description: "the Rego source, or a folder with .rego files, tests among them",
};

/** `pratique policy …`. */
export const policyCommands: CommandGroup = {
  name: "policy",
  summary: "Policies in Rego and CEL: try one request, run tests",
  commands: [
    {
      name: "policy eval",
      summary: "Evaluate a policy for one input and print its value as JSON",
      details: [
        "The input is what the policy sees as `input`: for `pratique authorizer` a SubjectAccessReview. A policy in CEL takes nothing else, and prints its decision. A rule without a value prints undefined, and the exit code is 1.",
      ],
      operands: [],
      options: [
        ...policyOptions,
        {
          name: "input",
          kind: "text",
          value: "FILE|-",
          completes: "file",
          description: "the input as JSON; - reads standard input; without it there is none",
        },
      ],
      examples: [
        { note: "one review", line: "policy eval --policy k8s.rego --query data.k8s.allow --input review.json" },
        { note: "the same of an OPA server", line: "policy eval --opa-url http://127.0.0.1:8181 --input review.json" },
      ],
      run: async (args, io) => (await import("./run-policy-eval.ts")).runPolicyEval(args, io),
    },
    {
      name: "policy test",
      summary: "Run the rules whose names begin with test_",
      details: [
        "A test passes when its rule is true. A failing test, or one whose evaluation fails, makes the exit code 1.",
      ],
      operands: [tested],
      options: [],
      examples: [{ note: "all tests of a folder", line: "policy test policies/" }],
      run: async (args, io) => (await import("./run-policy-test.ts")).runPolicyTest(args, io),
    },
  ],
};
