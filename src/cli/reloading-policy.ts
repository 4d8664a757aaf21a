import type { LogEntry } from "../hub/hub-options.ts";
import { compileRego, type RegoOutcome, type RegoQuestion, type RegoSource } from "../policy/rego/compile.ts";
import { preparedQuery } from "./run-policy-eval.ts";

/** A policy whose sources may change. */
export interface ReloadingPolicy {
  /** Asks the last good policy. */
  readonly ask: (question: RegoQuestion) => RegoOutcome;
  /** Looks at the sources again. Where they no longer compile, the policy stays what it was, and the log says why, once. */
  readonly look: () => Promise<void>;
}

/**
 * Compiles a policy, and again when its sources have changed. What is asked meanwhile is answered by the one before.
 * @throws what `read` rejects with, CliError usage, RegoError: at first only
 */
export async function reloadingPolicy(options: {
  readonly read: () => Promise<readonly RegoSource[]>;
  readonly query: string;
  readonly log: (entry: LogEntry) => void;
}): Promise<ReloadingPolicy> {
  const { read, query, log } = options;
  let sources = await read();
  let ask = preparedQuery(compileRego(sources), query);
  let problem = "";
  return {
    ask: (question) => ask(question),
    look: async () => {
      try {
        const now = await read();
        if (JSON.stringify(now) === JSON.stringify(sources)) {
          problem = "";
          return;
        }
        ask = preparedQuery(compileRego(now), query);
        sources = now;
        problem = "";
        log({ level: "info", message: "the policy was reloaded", files: now.length });
      } catch (error) {
        const message = error instanceof Error ? error.message : String(error);
        if (message === problem) return;
        problem = message;
        log({ level: "error", message: "the policy stays what it was: its files cannot be used", error: message });
      }
    },
  };
}
