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

/** An output stream. */
export interface Output {
  readonly write: (text: string) => void;
  /** Whether it is a terminal, where colour and a spinner are allowed unless `NO_COLOR` is set. */
  readonly isTty: boolean;
  /** The width of that terminal, in characters. */
  readonly columns?: number | undefined;
}

/** The environment of a command. All of it is injected, so that a test runs a command without a process, a disk or a network. */
export interface Io {
  /** The name under which the program was called, for usage lines: `pratique` or `kubectl pratique`. */
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
  /** The present addresses of this machine's interfaces. */
  readonly addresses: () => readonly string[];
  readonly isRoot: boolean;
  /** The memory and processors of this machine. */
  readonly machine: () => { readonly cpus: number; readonly memoryBytes: number };
  readonly clock: Clock;
  readonly random: RandomBytes;
  /** Aborts at the first SIGINT or SIGTERM. From the first call on, that signal no longer ends the process; a second one does. */
  readonly interrupted: () => AbortSignal;
  /** A file by its path, relative to `cwd`. Rejects as node:fs does. */
  readonly readFile: (path: string) => Promise<Uint8Array>;
  /**
   * A sentence about a secret file that other accounts may use; at most once for each path. `allowed`: the bits of the mode that others
   * may have, default none.
   */
  readonly openPermissions: (path: string, allowed?: number) => Promise<string | undefined>;
  /** Receives the warnings of a command that writes a log; default a line on stderr. */
  readonly warn?: (message: string) => void;
  /** The entries of a folder; empty where it is missing or may not be read. */
  readonly listFolder: (path: string) => Promise<readonly FolderEntry[]>;
  /** Runs another program, without a shell. */
  readonly runChild: (words: readonly string[], run: ChildRun) => Promise<ChildEnd>;
  readonly connect: (config: ResolvedKubeconfig) => Promise<RemoteClient>;
  readonly startHub: (options: HubOptions) => Promise<Hub>;
  readonly join: (options: JoinOptions, report: JoinReport) => Promise<Joined>;
  /** Probes whether a hub accepts a credential. Never rejects for what a server does. */
  readonly probeCredential: (trust: Trust, options: AskOptions) => Promise<Acceptance>;
  readonly runAgent: (options: AgentOptions) => Promise<void>;
  readonly runKlusterlet: (options: KlusterletOptions) => Promise<KlusterletResult>;
  readonly leaveHub: (options: KlusterletOptions, force: boolean) => Promise<LeftHub>;
  readonly requestAccess: (options: RequestAccessOptions, report: JoinReport) => Promise<AccessGranted>;
}
