import type { AccessFolder } from "./access-folder.ts";
import type { FileAccess } from "../../host/private-files.ts";
import { count, finite, flag, stateFormat, text, time } from "./state-format.ts";

/** What the agent remembers beside the token. Times in milliseconds since the epoch, by this machine's clock. */
export interface AgentState {
  /** The end of the token that this is about, as the token says it. */
  readonly expiresAt: number;
  readonly nextAt: number;
  readonly renewedAt?: number | undefined;
  /** How far this clock is ahead of the hub's. */
  readonly aheadMs?: number | undefined;
  /** How many tries have failed in a row. */
  readonly failures: number;
  readonly lastError?: string | undefined;
  /** Whether the hub refused the token for good. */
  readonly refused: boolean;
}

const format = stateFormat<AgentState, "expiresAt" | "nextAt">(
  {
    expiresAt: time,
    nextAt: time,
    renewedAt: time,
    aheadMs: finite,
    failures: count,
    lastError: text,
    refused: flag,
  },
  ["expiresAt", "nextAt"],
);

/** Writes it, with times that people can read. @throws JoinError write-failed */
export async function writeAgentState(folder: AccessFolder, state: AgentState, access?: FileAccess): Promise<void> {
  await folder.write(folder.state, format.print(state), access);
}

/** What was written before, or undefined where nothing was, or nothing that can be read. */
export async function readAgentState(folder: AccessFolder): Promise<AgentState | undefined> {
  const stored = format.parse(await folder.text(folder.state));
  return stored && { failures: 0, refused: false, ...stored };
}
