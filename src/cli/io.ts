import type { AgentOptions } from "../agent/node/agent.ts";
import type { Acceptance, AskOptions } from "../credentials/proof/credential-probe.ts";
import type { FolderEntry } from "../agent/node/find-credentials.ts";
import type { JoinReport } from "../agent/join/join-event.ts";
import type { Joined, JoinOptions } from "../agent/join/join-options.ts";
import type { Trust } from "../credentials/trust/trust-bundle-manager.ts";
import type { KlusterletOptions, KlusterletResult } from "../agent/klusterlet/klusterlet-options.ts";
import type { LeftHub } from "../agent/klusterlet/leave-hub.ts";
import type { AccessGranted, RequestAccessOptions } from "../agent/access/request-access.ts";
import type { RemoteClient } from "../client/remote.ts";
import type { ResolvedKubeconfig } from "../client/resolve-kubeconfig.ts";
import type { Clock, RandomBytes } from "../apimachinery/clock.ts";
import type { Hub } from "../server/hub.ts";
import type { HubOptions } from "../server/hub-options.ts";

import type { ChildEnd, ChildRun } from "./agent/child-program.ts";

/** Where text goes. */
export interface Output {
  readonly write: (text: string) => void;
  /** Whether a person is looking: a terminal, where colour and a spinner may go if `NO_COLOR` is not set. */
  readonly isTty: boolean;
  /** How wide that terminal is, in characters. */
  readonly columns?: number | undefined;
}

/** The world of a command. All of it is given, so that a test runs a command without a process, a disk or a network. */
export interface Io {
  /** How the program was called, for usage lines: `pratique` or `kubectl pratique`. */
  readonly program: string;
  readonly stdout: Output;
  readonly stderr: Output;
  /** All of standard input as text, at most 1 MiB. */
  readonly stdin: () => Promise<string>;
  /** The same as bytes, at most 32 MiB. */
  readonly stdinBytes: () => Promise<Uint8Array>;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly home: string;
  readonly hostname: string;
  /** The addresses of this machine's interfaces as they are now. */
  readonly addresses: () => readonly string[];
  readonly isRoot: boolean;
  /** How large this machine is. */
  readonly machine: () => { readonly cpus: number; readonly memoryBytes: number };
  readonly clock: Clock;
  readonly random: RandomBytes;
  /** Aborts at the first SIGINT or SIGTERM. From the first call on, that signal no longer ends the process; a second one does. */
  readonly interrupted: () => AbortSignal;
  /** A file by its path, relative to `cwd`. Rejects as node:fs does. */
  readonly readFile: (path: string) => Promise<Uint8Array>;
  /**
   * A sentence about a file with a secret that more than its owner may use; at most once for each path. `allowed`: the bits of the mode
   * that others may have, default none.
   */
  readonly openPermissions: (path: string, allowed?: number) => Promise<string | undefined>;
  /** Where warnings of a command go that writes a log; default a line on stderr. */
  readonly warn?: (message: string) => void;
  /** What is in a folder, by its path; nothing where there is none or none that may be read. */
  readonly listFolder: (path: string) => Promise<readonly FolderEntry[]>;
  /** Runs a program of others, without a shell. */
  readonly runChild: (words: readonly string[], run: ChildRun) => Promise<ChildEnd>;
  readonly connect: (config: ResolvedKubeconfig) => Promise<RemoteClient>;
  readonly startHub: (options: HubOptions) => Promise<Hub>;
  readonly join: (options: JoinOptions, report: JoinReport) => Promise<Joined>;
  /** Asks a hub whether it takes a credential. Never rejects for what a server does. */
  readonly probeCredential: (trust: Trust, options: AskOptions) => Promise<Acceptance>;
  readonly runAgent: (options: AgentOptions) => Promise<void>;
  readonly runKlusterlet: (options: KlusterletOptions) => Promise<KlusterletResult>;
  readonly leaveHub: (options: KlusterletOptions, force: boolean) => Promise<LeftHub>;
  readonly requestAccess: (options: RequestAccessOptions, report: JoinReport) => Promise<AccessGranted>;
}
