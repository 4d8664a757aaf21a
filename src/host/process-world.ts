import { readFile, access, constants, stat } from "node:fs/promises";
import type { Environment } from "../client/environment-proxy.ts";
import type { KubeconfigWorld } from "../client/kubeconfig-access.ts";
import type { Clock } from "../apimachinery/clock.ts";
import { spawn, type ChildProcess } from "node:child_process";
import { isAbsolute, join } from "node:path";
import type { PluginEnd, PluginHost, PluginRun } from "../client/exec-credentials.ts";
import { systemErrorWords } from "../apimachinery/system-error.ts";

/** Long enough to sign in with a browser. */
const interactiveMs = 300_000;
const serviceMs = 60_000;

/** How a process runs the credential plugins of kubeconfigs. */
export interface ProcessWorldOptions {
  readonly clock: Clock;
  /** Default: the environment of this process. */
  readonly env?: Environment;
  /** Why a plugin gets no terminal; default: by whether standard input is one. */
  readonly noTerminal?: () => string | undefined;
  /** Called with the standard error of a plugin; absent: it is written to that of this process. */
  readonly stderr?: (text: string) => void;
}

/**
 * The parts of this process that a kubeconfig may use: files, HTTPS_PROXY and NO_PROXY, and credential plugins, which run like this
 * process. They have 5 minutes where a user reads standard error, else 60 seconds.
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

/** The parts of its process that kubeconfigs of the hub may use: as with kube-apiserver, all but a terminal. */
export function hubWorld({ clock }: { readonly clock: Clock }): KubeconfigWorld {
  return processWorld({ clock, noTerminal: () => "the hub runs as a service" });
}

/** The environment of the process that runs plugins. */
export interface PluginProcessOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Why a plugin gets no terminal; undefined where it gets one. */
  readonly noTerminal: () => string | undefined;
  /** Called with the standard error of a plugin; absent: it is written to that of this process. */
  readonly stderr?: ((text: string) => void) | undefined;
  /** The timeout of a plugin, in milliseconds; a user may have to sign in meanwhile. */
  readonly timeoutMs: number;
  /** The time to exit after SIGTERM, in milliseconds, default 5000 (5 seconds); then follows SIGKILL. */
  readonly graceMs?: number;
}

const maxOutput = 1_048_576;

/** Runs credential plugins as child processes, without a shell. */
export function pluginProcesses(options: PluginProcessOptions): PluginHost {
  return { noTerminal: options.noTerminal, run: async (run) => running(run, options) };
}

async function running(run: PluginRun, options: PluginProcessOptions): Promise<PluginEnd> {
  const program = await findProgram(run.command, options.env["PATH"] ?? "");
  if (program === undefined) return { kind: "missing" };
  try {
    return await ended(program, run, options);
  } catch (error) {
    // spawn throws for some errors, for example for a file that is being written.
    return { kind: "failed", why: whyNotRun(error, program) };
  }
}

function whyNotRun(error: unknown, program: string): string {
  const { what, next } = systemErrorWords(error, { operation: "start", at: program });
  return `cannot be run: ${what}: ${next}`;
}

function ended(program: string, run: PluginRun, options: PluginProcessOptions): Promise<PluginEnd> {
  return new Promise((resolve) => {
    const child = spawn(program, run.args, {
      env: { ...options.env, ...run.env },
      // In the process group of this process: it may prompt at the terminal, and an interrupt there reaches both.
      stdio: [run.isInteractive ? "inherit" : "ignore", "pipe", options.stderr === undefined ? "inherit" : "pipe"],
    });
    let output = "";
    let why: string | undefined;
    const stop = (reason: string): void => {
      why ??= reason;
      endProcess(child, options.graceMs ?? 5000);
    };
    const seconds = Math.ceil(options.timeoutMs / 1000);
    const deadline = setTimeout(
      () => stop(`did not end within ${seconds} s and was stopped: run it by hand to see what it waits for`),
      options.timeoutMs,
    );
    child.stdout?.setEncoding("utf8").on("data", (chunk: string) => {
      output += chunk;
      if (output.length > maxOutput) stop("wrote more than 1 MiB and was stopped");
    });
    child.stderr?.setEncoding("utf8").on("data", (chunk: string) => options.stderr?.(chunk));
    child.once("error", (error) => {
      clearTimeout(deadline);
      resolve({ kind: "failed", why: whyNotRun(error, program) });
    });
    // Its exit counts: its child processes may keep its output open.
    child.once("exit", (code, signal) => {
      clearTimeout(deadline);
      const finish = (): void => {
        child.stdout?.destroy();
        child.stderr?.destroy();
        if (why !== undefined) resolve({ kind: "failed", why });
        else if (code === null) resolve({ kind: "failed", why: `was ended by ${signal ?? "a signal"}` });
        else resolve({ kind: "ended", code, output });
      };
      child.once("close", finish);
      setTimeout(finish, 1000).unref();
    });
  });
}

function endProcess(child: ChildProcess, graceMs: number): void {
  child.kill("SIGTERM");
  const last = setTimeout(() => child.kill("SIGKILL"), graceMs);
  child.once("exit", () => clearTimeout(last));
}

/** The file of a command: without a slash, the first executable in the absolute folders of PATH. @see os/exec LookPath */
async function findProgram(command: string, path: string): Promise<string | undefined> {
  if (command.includes("/")) return (await isThere(command)) ? command : undefined;
  for (const folder of path.split(":").filter((one) => isAbsolute(one))) {
    const file = join(folder, command);
    if ((await isThere(file)) && (await mayRun(file))) return file;
  }
  return undefined;
}

async function isThere(file: string): Promise<boolean> {
  return stat(file).then(
    (found) => found.isFile(),
    () => false,
  );
}

async function mayRun(file: string): Promise<boolean> {
  return access(file, constants.X_OK).then(
    () => true,
    () => false,
  );
}
