import type { Clock } from "../apimachinery/clock.ts";
import { logEntry, type LogEntry } from "../apimachinery/log-entry.ts";
import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { OptionError } from "../apimachinery/option-error.ts";
import type { NamedFiles } from "../host/read-text.ts";

/** What a policy came to for one input: its value as JSON text, undefined for no value, or why it could not be evaluated. */
export type Judgement = ({ readonly json: string | undefined } | JudgementFailure) & {
  /** By which an OPA server knows the decision. */
  readonly decisionId?: string;
};

/** Why there is no value; and whether whoever evaluates could not be reached at all, or not in time. */
interface JudgementFailure {
  readonly error: string;
  readonly away?: "unreachable" | "timedOut";
}

/** Asks a policy, whatever evaluates it; the input is JSON as it was parsed. Never rejects. */
export type Judge = (input: unknown) => Promise<Judgement>;

/** A policy that can be asked, and that follows its files. */
export interface DecidingPolicy {
  readonly ask: Judge;
  /** Looks at the files again. Where they cannot be used, the policy stays what it was, and the log says why, once. Never rejects. */
  readonly look: () => Promise<void>;
  /** Lets go of what it holds; questions under way fail. */
  readonly close: () => void;
}

/** A policy as one state of its files gives it. */
export interface CompiledPolicy {
  readonly ask: Judge;
  /** Takes no more questions, and ends when those under way are answered. */
  readonly retire?: () => void;
  /** Ends at once. */
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
  /** Told of each change of the files. */
  readonly reloaded?: (status: "success" | "failure") => void;
  /** By which changed files must stay as they are for half a second before they count; absent: they count at once. */
  readonly clock?: Pick<Clock, "sleep">;
}

/** For how long whoever writes a file may pause in the middle of it. */
const settleMs = 500;

/** How often files that could not be used, and have not changed since, are passed over before they are tried again. */
const looksBetweenTries = 30;

/**
 * Compiles a policy, and again when its files have changed and stay so: files that change while they are looked at or read are somebody's
 * unfinished work, and left to the next look. What is asked meanwhile is answered by the one before.
 * @throws what `read` and `compile` reject with: at first only
 */
export async function reloadingPolicy({ read, log, reloaded, clock }: ReloadingOptions): Promise<DecidingPolicy> {
  const first = await read();
  let { key } = first;
  let current = await first.compile();
  let problem = "";
  // What does not compile now will not in two seconds; a bundle that never starts would keep a core busy.
  let failed: { readonly key: string; readonly looks: number } | undefined;

  /** Whether the files are what they were. @throws what `read` rejects with, after `compiled` was closed */
  async function isStill(files: PolicyFiles, compiled?: CompiledPolicy): Promise<boolean> {
    try {
      return (await read()).key === files.key;
    } catch (error) {
      compiled?.close?.();
      throw error;
    }
  }

  /** Compiles files that have changed; undefined where they change once more meanwhile. */
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
    ask: async (input) => {
      try {
        return await current.ask(input);
      } catch (error) {
        return { error: error instanceof Error ? error.message : "the policy failed" };
      }
    },
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

/** One file that a policy is made of, as it is now. */
export interface PolicyFile {
  /** Another one for another content. */
  readonly key: string;
  readonly bytes: () => Promise<Buffer>;
}

/** Looks at a file of at most `maxBytes`. @throws OptionError usage when it is not there, or larger */
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

/** The parts of a place under `data`, written as `data.k8s.allow` or, as entry points of bundles are, `k8s/allow`. @throws OptionError usage */
export function queryPath(query: string): readonly string[] {
  const parts = query.includes("/") ? query.split("/") : query.startsWith("data.") ? query.split(".").slice(1) : [];
  if (parts.length === 0 || parts.some((part) => !/^[A-Za-z_][\w-]*$/.test(part)))
    throw new OptionError("usage", `--query ${query}: names joined by dots below data, such as data.k8s.allow`);
  return parts;
}
