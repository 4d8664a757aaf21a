import type { AccessFolder } from "./access-folder.ts";
import { readAgentState } from "./agent-state.ts";
import { keptAccess } from "./kept-access.ts";

/** How the access of a folder stands. Times in milliseconds since the epoch, those of the token by the hub's clock. */
export interface AgentStatus {
  readonly good: boolean;
  readonly server: string;
  readonly account: string;
  readonly expiresAt: number;
  /** Of this very token; absent where no agent has looked at it. */
  readonly agent?: {
    readonly nextAt: number;
    readonly renewedAt?: number | undefined;
    readonly failures: number;
    readonly lastError?: string | undefined;
    readonly refused: boolean;
  };
}

/** Reads how the access stands, without asking the hub. @throws JoinError no-access */
export async function agentStatus(folder: AccessFolder, now: number): Promise<AgentStatus> {
  const { server, claims } = await keptAccess(folder);
  const state = await readAgentState(folder);
  const { expiresAt, namespace, serviceAccount } = claims;
  // What was written about an earlier token says nothing of this one.
  const own = state?.expiresAt === expiresAt ? state : undefined;
  return {
    good: now - (state?.aheadMs ?? 0) < expiresAt && own?.refused !== true,
    server,
    account: `${namespace}/${serviceAccount}`,
    expiresAt,
    ...(own === undefined
      ? {}
      : {
          agent: {
            nextAt: own.nextAt,
            renewedAt: own.renewedAt,
            failures: own.failures,
            lastError: own.lastError,
            refused: own.refused,
          },
        }),
  };
}
