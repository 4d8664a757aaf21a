import {
  agentCommand,
  credentialCommand,
  joinCommand,
  klusterletCommand,
  requestCommand,
  simulateCommand,
} from "./agent/agent-commands.ts";
import { authorizerCommand, policyCommands } from "./policy/policy-commands.ts";
import { caCommands } from "./ca/ca-commands.ts";
import { clusterCommands } from "./cluster/cluster-commands.ts";
import { type CommandEntry, defineCommand, defineOptions } from "./command.ts";
import { controllerCommand, manifestsCommand, webhookCommand } from "./kubernetes/kubernetes-commands.ts";
import { approveCommand, denyCommand, pendingCommand, revokeCommand } from "./access/approval-commands.ts";
import { credentialsCommand, revocationsCommand } from "./credentials/credential-commands.ts";
import { outputOption } from "./output.ts";
import { serverOptions } from "./shared-options.ts";
import { hubCommand } from "./hub/hub-command.ts";
import { tokenCommands } from "./token/token-commands.ts";
import { whoCanCommand, whyCommand } from "./why/why-commands.ts";

const versionCommand = defineCommand({
  name: "version",
  summary: "Print the version of this program, and of the server if there is a kubeconfig",
  options: [...defineOptions({ "--client": "do not contact a server" }), outputOption, ...serverOptions],
  run: async (args, io) => (await import("./run-version.ts")).runVersion(args, io),
});

const completionCommand = defineCommand({
  name: "completion",
  summary: "Print the completion script of a shell",
  operands: [
    { name: "SHELL", required: true, many: false, choices: ["bash", "zsh", "fish"], description: "bash, zsh or fish" },
  ],
  examples: {
    "for bash": "completion bash > ~/.local/share/bash-completion/completions/pratique",
    "for zsh, in a folder of $fpath": "completion zsh > ~/.zsh/_pratique",
    "for fish": "completion fish > ~/.config/fish/completions/pratique.fish",
  },
  run: async ({ operands: [shell] }, io) => {
    const { completionScript } = await import("./completion-script.ts");
    io.stdout.write(completionScript(shell === "zsh" || shell === "fish" ? shell : "bash", commands));
  },
});

/** Every command, in the order of help. Their tables are here; their code is loaded when they run. */
export const commands: readonly CommandEntry[] = [
  hubCommand,
  joinCommand,
  requestCommand,
  agentCommand,
  klusterletCommand,
  credentialCommand,
  tokenCommands,
  pendingCommand,
  approveCommand,
  denyCommand,
  revokeCommand,
  revocationsCommand,
  credentialsCommand,
  whyCommand,
  whoCanCommand,
  clusterCommands,
  caCommands,
  manifestsCommand,
  controllerCommand,
  webhookCommand,
  authorizerCommand,
  policyCommands,
  simulateCommand,
  versionCommand,
  completionCommand,
];
