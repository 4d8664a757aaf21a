import type { Clock } from "../apimachinery/clock.ts";
import { logEntry, type LogEntry } from "../apimachinery/log-entry.ts";
import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { OptionError } from "../apimachinery/option-error.ts";
import type { NamedFiles } from "../host/read-text.ts";

/** The result of a policy for one input: its value as JSON text, undefined for no value, or why the evaluation failed. */
export type Judgement = ({ readonly json: string | undefined } | JudgementFailure) & {
  /** The decision id of an OPA server. */
  readonly decisionId?: string;
};

/** Why there is no value; and whether the evaluator was unreachable or timed out. */
interface JudgementFailure {
  readonly error: string;
  readonly away?: "unreachable" | "timedOut";
}

/** Evaluates a policy of any kind; the input is parsed JSON. Never rejects. */
export type Judge = (input: unknown) => Promise<Judgement>;

/** A policy that reloads when its files change. */
export interface DecidingPolicy {
  readonly ask: Judge;
  /** Checks the files for changes. Where they cannot be used, the previous policy stays, and the cause is logged once. Never rejects. */
  readonly look: () => Promise<void>;
  /** Releases its resources; evaluations in progress fail. */
  readonly close: () => void;
}

/** A policy compiled from one state of its files. */
export interface CompiledPolicy {
  readonly ask: Judge;
  /** Takes no further input, and closes when the evaluations in progress have ended. */
  readonly retire?: () => void;
  /** Closes at once. */
  readonly close?: () => void;
}

/** One state of the files: `key` is the same for the same content. */
interface PolicyFiles {
  readonly key: string;
  readonly compile: () => Promise<CompiledPolicy> | CompiledPolicy;
}

interface ReloadingOptions {
  readonly read: () => Promise<PolicyFiles>;
  readonly log: (entry: LogEntry) => void;
  /** Called for each change of the files. */
  readonly reloaded?: (status: "success" | "failure") => void;
  /** Measures the half second for which changed files must be stable before they are compiled; absent: no wait. */
  readonly clock?: Pick<Clock, "sleep">;
}

/** How long a writer may pause in the middle of a file, in milliseconds. */
const settleMs = 500;

/** How many checks skip files that failed to compile and have not changed, before they are compiled again. */
const looksBetweenTries = 30;

/**
 * Compiles a policy, and again when its files have changed and are stable: files that change during a check or a read are unfinished, and
 * left to the next check. Until then the previous policy answers. @throws what `read` and `compile` reject with, only at the first
 * compilation
 */
export async function reloadingPolicy({ read, log, reloaded, clock }: ReloadingOptions): Promise<DecidingPolicy> {
  const first = await read();
  let { key } = first;
  let current = await first.compile();
  let problem = "";
  // Files that fail to compile still fail two seconds later; a bundle that never starts would keep a core busy.
  let failed: { readonly key: string; readonly looks: number } | undefined;

  /** Whether the files are unchanged. @throws what `read` rejects with, after it has closed `compiled` */
  async function isStill(files: PolicyFiles, compiled?: CompiledPolicy): Promise<boolean> {
    try {
      return (await read()).key === files.key;
    } catch (error) {
      compiled?.close?.();
      throw error;
    }
  }

  /** Compiles changed files; undefined where they change again meanwhile. */
  async function compiled(files: PolicyFiles): Promise<CompiledPolicy | undefined> {
    await clock?.sleep(settleMs);
    if (!(await isStill(files))) return undefined;
    failed = { key: files.key, looks: 0 };
    const next = await files.compile();
    failed = undefined;
    if (await isStill(files, next)) return next;
    next.close?.();
    return undefined;
  }

  async function reload(): Promise<void> {
    const now = await read();
    if (failed?.key === now.key && failed.looks < looksBetweenTries) {
      failed = { key: now.key, looks: failed.looks + 1 };
      return;
    }
    failed = undefined;
    if (now.key !== key) {
      const next = await compiled(now);
      if (next === undefined) return;
      const before = current;
      current = next;
      key = now.key;
      before.retire?.();
      reloaded?.("success");
      log(logEntry("Reloaded", "the authorizer reloaded the policy"));
    }
    problem = "";
  }

  return {
    ask: (input) => evaluated(current, input),
    close: () => current.close?.(),
    look: () =>
      reload().catch((error: unknown) => {
        const message = error instanceof Error ? error.message : String(error);
        if (message === problem) return;
        problem = message;
        reloaded?.("failure");
        log(
          logEntry("ReloadFailed", "reload of the policy failed; the authorizer keeps the previous one", {
            error: message,
          }),
        );
      }),
  };
}

async function evaluated(policy: CompiledPolicy, input: unknown): Promise<Judgement> {
  try {
    return await policy.ask(input);
  } catch (error) {
    return { error: error instanceof Error ? error.message : "the policy failed" };
  }
}

/** One file of a policy in its current state. */
export interface PolicyFile {
  /** Differs for different content. */
  readonly key: string;
  readonly bytes: () => Promise<Buffer>;
}

/** Checks a file of at most `maxBytes`. @throws OptionError usage when it is missing or larger */
export async function policyFile(path: string, files: NamedFiles, maxBytes: number): Promise<PolicyFile> {
  const found = await stat(resolve(files.cwd, path)).catch(() => undefined);
  if (found === undefined || !found.isFile()) throw new OptionError("usage", `${path} is not there, or no file`);
  const tooLarge = new OptionError("usage", `${path} is larger than ${maxBytes} bytes`);
  if (found.size > maxBytes) throw tooLarge;
  return {
    key: [found.dev, found.ino, found.size, found.mtimeMs, found.ctimeMs].join(":"),
    bytes: async () => {
      const bytes = Buffer.from(await files.readFile(path));
      if (bytes.length > maxBytes) throw tooLarge;
      return bytes;
    },
  };
}

/** The path segments below `data`, from `data.k8s.allow` or, as entry points of bundles are written, `k8s/allow`. @throws OptionError usage */
export function queryPath(query: string): readonly string[] {
  const parts = query.includes("/") ? query.split("/") : query.startsWith("data.") ? query.split(".").slice(1) : [];
  if (parts.length === 0 || parts.some((part) => !/^[A-Za-z_][\w-]*$/.test(part)))
    throw new OptionError("usage", `--query ${query}: names joined by dots below data, such as data.k8s.allow`);
  return parts;
}
