import { rfc3339 } from "../core/clock.ts";
import type { AccessFolder } from "./access-folder.ts";
import type { FileAccess } from "./private-files.ts";

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

/** Writes it, with times that people can read. @throws JoinError write-failed */
export async function writeAgentState(folder: AccessFolder, state: AgentState, access?: FileAccess): Promise<void> {
  const { renewedAt, expiresAt, nextAt, ...rest } = state;
  const text = {
    expiresAt: rfc3339(expiresAt),
    nextAt: rfc3339(nextAt),
    ...(renewedAt === undefined ? {} : { renewedAt: rfc3339(renewedAt) }),
    ...rest,
  };
  await folder.write(folder.state, `${JSON.stringify(text, undefined, 2)}\n`, access);
}

/** What was written before, or undefined where nothing was, or nothing that can be read. */
export async function readAgentState(folder: AccessFolder): Promise<AgentState | undefined> {
  const text = await folder.text(folder.state);
  if (text === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? stateIn(value) : undefined;
  } catch {
    return undefined;
  }
}

function stateIn(value: Partial<Record<keyof AgentState, unknown>>): AgentState | undefined {
  const { aheadMs, failures, lastError, refused } = value;
  const [expiresAt, nextAt, renewedAt] = [value.expiresAt, value.nextAt, value.renewedAt].map((one) => {
    const at = typeof one === "string" ? Date.parse(one) : Number.NaN;
    return Number.isNaN(at) ? undefined : at;
  });
  if (expiresAt === undefined || nextAt === undefined) return undefined;
  return {
    expiresAt,
    nextAt,
    renewedAt,
    aheadMs: typeof aheadMs === "number" && Number.isFinite(aheadMs) ? aheadMs : undefined,
    failures: typeof failures === "number" && Number.isFinite(failures) ? failures : 0,
    lastError: typeof lastError === "string" ? lastError : undefined,
    refused: refused === true,
  };
}
