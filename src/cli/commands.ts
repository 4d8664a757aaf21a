import { agentCommand } from "./agent-command.ts";
import { authorizerCommand } from "./authorizer-command.ts";
import { caCommands } from "./ca-commands.ts";
import { clusterCommands } from "./cluster-commands.ts";
import type { CommandEntry } from "./command.ts";
import { completionCommand } from "./completion-command.ts";
import { controllerCommand } from "./controller-command.ts";
import { credentialCommand } from "./credential-command.ts";
import { approveCommand, denyCommand, pendingCommand, revokeCommand } from "./csr-commands.ts";
import { credentialsCommand } from "./credentials-command.ts";
import { hubCommand } from "./hub-command.ts";
import { joinCommand } from "./join-command.ts";
import { klusterletCommand } from "./klusterlet-command.ts";
import { manifestsCommand } from "./manifests-command.ts";
import { policyCommands } from "./policy-command.ts";
import { requestCommand } from "./request-command.ts";
import { revocationsCommand } from "./revocations-command.ts";
import { simulateCommand } from "./simulate-command.ts";
import { tokenCommands } from "./token-commands.ts";
import { versionCommand } from "./version-command.ts";
import { webhookCommand } from "./webhook-command.ts";
import { whoCanCommand, whyCommand } from "./why-commands.ts";

/** Every command, in the order in which help lists them. Their tables are here; what they run is loaded when they run. */
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
  completionCommand(() => commands),
];
