import type { CommandGroup, Operand, Option } from "./command.ts";

/** `--policy`, as all commands take it that evaluate Rego. */
export const policyOption: Option = {
  name: "policy",
  kind: "text",
  value: "FILE|DIR",
  completes: "file",
  description: "the Rego source, or a folder with .rego files; files that end in _test.rego are left out",
};

/** `--query`. */
export const queryOption: Option = {
  name: "query",
  kind: "text",
  value: "data.PATH",
  default: "data.k8s.allow",
  description: "the rule that decides",
};

const tested: Operand = {
  name: "FILE|DIR",
  required: true,
  many: false,
  description: "the Rego source, or a folder with .rego files, tests among them",
};

/** `pratique policy …`. */
export const policyCommands: CommandGroup = {
  name: "policy",
  summary: "Policies in Rego: try one request, run their tests",
  commands: [
    {
      name: "policy eval",
      summary: "Evaluate a rule of a policy for one input and print its value as JSON",
      details: [
        "The input is what the policy sees as `input`: for `pratique authorizer` a SubjectAccessReview. A rule without a value prints undefined, and the exit code is 1.",
      ],
      operands: [],
      options: [
        policyOption,
        queryOption,
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
