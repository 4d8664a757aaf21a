import type { Clock, RandomBytes } from "../core/clock.ts";
import type { AgentReport } from "./agent-event.ts";
import { findCredentials, type FolderView, type FoundCredential } from "./find-credentials.ts";
import type { JoinReport } from "./join-event.ts";
import { keepFresh, type Keeper } from "./keeper.ts";
import { tokenKeeper } from "./keep-token.ts";
import { nodeKeepers } from "./node-keepers.ts";
import { privateFiles, type FileAccess } from "./private-files.ts";
import type { MachineAddresses } from "./serving-names.ts";

/** What an agent keeps, and how. */
export interface AgentOptions {
  /** Everything at and below these folders is kept. */
  readonly dirs: readonly string[];
  readonly view: FolderView;
  /** The private key of access requests, where it is not in the folder. */
  readonly keyFile?: string | undefined;
  /** Does what is due now and ends. */
  readonly once: boolean;
  /** Asks for access anew by itself when a token is refused. */
  readonly askAgain: boolean;
  readonly hostname: string;
  readonly clock: Clock;
  readonly random: RandomBytes;
  readonly signal: AbortSignal;
  readonly userAgent: string;
  readonly report: AgentReport;
  /** Is told how asking anew goes. */
  readonly reportRequest: JoinReport;
  readonly addresses: MachineAddresses;
  /** Who may read what is written; default the owner of this process only. */
  readonly access?: FileAccess | undefined;
}

/** Keeps everything below some folders fresh. @throws JoinError no-access where there is nothing, and that of the last credential that was lost */
export async function runAgent(options: AgentOptions): Promise<void> {
  const { dirs, view, once, clock, signal, report } = options;
  const find = async (): Promise<readonly Keeper[]> =>
    (await findCredentials(dirs, view)).flatMap((found) => keepersOf(found, options));
  return keepFresh({ find, once, clock, signal, report });
}

function keepersOf(found: FoundCredential, options: AgentOptions): readonly Keeper[] {
  switch (found.kind) {
    case "token":
      return [tokenKeeper({ ...options, dir: found.dir })];
    case "node":
      return nodeKeepers(found, {
        ...options,
        fraction: () => fraction(options.random),
        files: privateFiles,
        access: options.access,
        renewed: async () => undefined,
      });
  }
}

/** In [0, 1). */
function fraction(random: RandomBytes): number {
  const [high = 0, low = 0] = random(2);
  return (high * 256 + low) / 65_536;
}
