import type { CommandEntry } from "./command.ts";
import { hubCommand } from "./hub-command.ts";
import { tokenCommands } from "./token-commands.ts";
import { versionCommand } from "./version-command.ts";

/** Every command, in the order in which help lists them. */
export const commands: readonly CommandEntry[] = [hubCommand, tokenCommands, versionCommand];
