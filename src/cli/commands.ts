import { agentCommand } from "./agent/agent-command.ts";
import { authorizerCommand } from "./policy/authorizer-command.ts";
import { caCommands } from "./ca/ca-commands.ts";
import { clusterCommands } from "./cluster/cluster-commands.ts";
import type { CommandEntry } from "./command.ts";
import { completionCommand } from "./completion-command.ts";
import { controllerCommand } from "./kubernetes/controller-command.ts";
import { credentialCommand } from "./agent/credential-command.ts";
import { approveCommand, denyCommand, pendingCommand, revokeCommand } from "./access/approval-commands.ts";
import { credentialsCommand } from "./credentials/credentials-command.ts";
import { hubCommand } from "./hub/hub-command.ts";
import { joinCommand } from "./agent/join-command.ts";
import { klusterletCommand } from "./agent/klusterlet-command.ts";
import { manifestsCommand } from "./kubernetes/manifests-command.ts";
import { policyCommands } from "./policy/policy-command.ts";
import { requestCommand } from "./agent/request-command.ts";
import { revocationsCommand } from "./credentials/revocations-command.ts";
import { simulateCommand } from "./agent/simulate-command.ts";
import { tokenCommands } from "./token/token-commands.ts";
import { versionCommand } from "./version-command.ts";
import { webhookCommand } from "./kubernetes/webhook-command.ts";
import { whoCanCommand, whyCommand } from "./why/why-commands.ts";

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
