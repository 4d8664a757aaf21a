import { readFile } from "node:fs/promises";
import type { Environment } from "../client/environment-proxy.ts";
import type { KubeconfigWorld } from "../client/kubeconfig-access.ts";
import type { Clock } from "../apimachinery/clock.ts";
import { pluginProcesses } from "./plugin-process.ts";

/** Long enough to sign in with a browser. */
const interactiveMs = 300_000;
const serviceMs = 60_000;

/** How a process runs the programs that kubeconfigs name. */
export interface ProcessWorldOptions {
  readonly clock: Clock;
  /** Default: that of this process. */
  readonly env?: Environment;
  /** Why there is no terminal to give to a plugin; default: whether standard input is one. */
  readonly noTerminal?: () => string | undefined;
  /** Is given what a plugin writes to standard error; absent: it goes where this process writes its own. */
  readonly stderr?: (text: string) => void;
}

/**
 * What of this process a kubeconfig may use: files, HTTPS_PROXY and NO_PROXY, and programs for credentials, which run as this process does.
 * They have 5 minutes where a person is looking at standard error, and else 60 seconds.
 */
export function processWorld({
  clock,
  env = process.env,
  noTerminal = withoutTerminal,
  stderr,
}: ProcessWorldOptions): KubeconfigWorld {
  return {
    clock,
    readFile: (path) => readFile(path),
    env,
    plugins: pluginProcesses({
      env,
      noTerminal,
      timeoutMs: process.stderr.isTTY && stderr === undefined ? interactiveMs : serviceMs,
      ...(stderr === undefined ? {} : { stderr }),
    }),
  };
}

function withoutTerminal(): string | undefined {
  return process.stdin.isTTY ? undefined : "standard input is not a terminal";
}

/** What the kubeconfigs that the hub reads may use of its process: as kube-apiserver's, all but a terminal. */
export function hubWorld({ clock }: { readonly clock: Clock }): KubeconfigWorld {
  return processWorld({ clock, noTerminal: () => "the hub runs as a service" });
}
