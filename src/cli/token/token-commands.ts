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
        "A token consists of a public id and a secret: ID.SECRET. The server stores it as a Secret in kube-system.",
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
          "--ttl DURATION = 24h": "the lifetime of the token; 0 for no expiry",
          "--usages USAGES... = signing,authentication": {
            choices: ["signing", "authentication"],
            description: "what the token may be used for",
          },
          "--groups GROUPS...":
            "groups of the user of the token, each beginning with system:bootstrappers: (default system:bootstrappers:kubeadm:default-node-token, where the token may authenticate)",
          "--description TEXT": "a description of what the token is for",
          "--print-join-command": "print the complete `pratique join` command instead of the token",
        }),
        ...serverOptions,
      ],
      examples: {
        "the command to run on the machine that joins": "token create --print-join-command",
        "a token for one hour": "token create --ttl 1h --description 'rack 7'",
      },
      run: async (args, io) => (await import("./run-token.ts")).tokenCreate(args, io),
    }),
    defineCommand({
      name: "token list",
      summary: "List bootstrap tokens, including their secrets",
      options: [outputOption, ...serverOptions],

      run: async (args, io) => (await import("./run-token.ts")).tokenList(args, io),
    }),
    defineCommand({
      name: "token delete",
      summary: "Delete bootstrap tokens; machines that have joined are not affected",
      operands: [{ name: "TOKEN", required: true, many: true, description: "the id of a token, or the whole token" }],
      options: serverOptions,
      examples: { "by its id": "token delete abcdef" },
      run: async (args, io) => (await import("./run-token.ts")).tokenDelete(args, io),
    }),
    defineCommand({
      name: "token generate",
      summary: "Print a random bootstrap token without contacting a server",

      run: async (args, io) => (await import("./run-token.ts")).tokenGenerate(args, io),
    }),
  ],
};
