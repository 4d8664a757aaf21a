import { type CommandGroup, defineCommand, defineOptions } from "../command.ts";
import { outputOption } from "../output.ts";
import { serverOptions } from "../shared-options.ts";

/** `pratique token …`. */
export const tokenCommands: CommandGroup = {
  name: "token",
  summary: "Bootstrap tokens: the secrets with which machines prove that they may ask to join",
  commands: [
    defineCommand({
      name: "token create",
      summary: "Create a bootstrap token and print it",
      details: [
        "A token has an id that may be shown and a secret that may not: ID.SECRET. It is kept as a Secret in kube-system.",
      ],
      operands: [
        {
          name: "TOKEN",
          required: false,
          many: false,
          description:
            "the token to create, of the form [a-z0-9]{6}.[a-z0-9]{16}, or - to read it from standard input; a random one if left out",
        },
      ],
      options: [
        ...defineOptions({
          "--ttl DURATION = 24h": "how long the token lives; 0 for ever",
          "--usages USAGES... = signing,authentication": {
            choices: ["signing", "authentication"],
            description: "what the token may be used for",
          },
          "--groups GROUPS...":
            "groups of the user of the token, each beginning with system:bootstrappers: (default system:bootstrappers:kubeadm:default-node-token, where the token may authenticate)",
          "--description TEXT": "what the token is for, for people",
          "--print-join-command":
            "print the whole command to type on the machine that joins, instead of the token alone",
        }),
        ...serverOptions,
      ],
      examples: {
        "what to type on the machine that joins": "token create --print-join-command",
        "a token for one hour": "token create --ttl 1h --description 'rack 7'",
      },
      run: async (args, io) => (await import("./run-token.ts")).tokenCreate(args, io),
    }),
    defineCommand({
      name: "token list",
      summary: "List the bootstrap tokens, secrets included",
      options: [outputOption, ...serverOptions],

      run: async (args, io) => (await import("./run-token.ts")).tokenList(args, io),
    }),
    defineCommand({
      name: "token delete",
      summary: "Delete bootstrap tokens; machines that have joined stay",
      operands: [{ name: "TOKEN", required: true, many: true, description: "the id of a token, or all of it" }],
      options: serverOptions,
      examples: { "by its id": "token delete abcdef" },
      run: async (args, io) => (await import("./run-token.ts")).tokenDelete(args, io),
    }),
    defineCommand({
      name: "token generate",
      summary: "Print a random token without creating it; talks to no server",

      run: async (args, io) => (await import("./run-token.ts")).tokenGenerate(args, io),
    }),
  ],
};
