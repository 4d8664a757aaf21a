import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import { requirePeer } from "./peers.ts";

/** What a finished program left behind. */
export interface Run {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** A program that still runs. */
export interface Running {
  /** Resolves with all output so far once it matches; `err` for what goes to standard error. @throws Error with the output when the program ends first; it does so after 50 s at the latest. */
  until(pattern: RegExp, where?: "out" | "err"): Promise<string>;
  /** Ends it, and waits for that. */
  stop(): Promise<Run>;
  readonly done: Promise<Run>;
}

export interface Kubectl {
  /** Runs to the end; never throws for an exit code. */
  (...args: readonly string[]): Promise<Run>;
  /** Standard output of a run that succeeds. @throws Error with what was printed otherwise. */
  ok(...args: readonly string[]): Promise<string>;
  /** Parsed output of `get … -o json`. */
  json(...args: readonly string[]): Promise<Record<string, unknown>>;
  start(...args: readonly string[]): Running;
  with(options: Partial<KubectlOptions>): Kubectl;
}

export interface KubectlOptions {
  /** HOME, where kubectl keeps its caches. */
  readonly home: string;
  readonly kubeconfig: string;
  /** Standard input. */
  readonly input?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** Milliseconds after which a kubectl is ended that does not end by itself. */
const patienceMs = 50_000;

/** kubectl that sees nothing of the machine it runs on but its own folder. */
export function kubectlRunner(options: KubectlOptions): Kubectl {
  const start = (args: readonly string[]): Running => {
    const { home, kubeconfig, env, input = "" } = options;
    const child = spawn(requirePeer("kubectl"), [...args], {
      env: { PATH: process.env["PATH"] ?? "", HOME: home, KUBECONFIG: kubeconfig, ...env },
    });
    child.stdin.on("error", () => undefined);
    child.stdin.end(input);
    return follow(child);
  };
  const run = (...args: readonly string[]): Promise<Run> => start(args).done;
  const ok = async (...args: readonly string[]): Promise<string> => {
    const { code, out, err } = await run(...args);
    if (code !== 0) throw new Error(`kubectl ${args.join(" ")} ended with ${code}: ${err}${out}`);
    return out;
  };
  return Object.assign(run, {
    ok,
    json: async (...args: readonly string[]) => JSON.parse(await ok(...args, "-o", "json")) as Record<string, unknown>,
    start: (...args: readonly string[]) => start(args),
    with: (changed: Partial<KubectlOptions>) => kubectlRunner({ ...options, ...changed }),
  });
}

function follow(child: ChildProcessWithoutNullStreams): Running {
  let [out, err] = ["", ""];
  const checks = new Set<() => void>();
  const seen = (): void => {
    for (const check of checks) check();
  };
  child.stdout.on("data", (chunk: Buffer) => {
    out += chunk.toString();
    seen();
  });
  child.stderr.on("data", (chunk: Buffer) => {
    err += chunk.toString();
    seen();
  });
  const late = setTimeout(() => child.kill("SIGKILL"), patienceMs);
  const done = new Promise<Run>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => {
      clearTimeout(late);
      resolve({ code: code ?? -1, out, err });
    });
  });
  return {
    done,
    until: (pattern, where = "out") =>
      new Promise((resolve, reject) => {
        const text = (): string => (where === "out" ? out : err);
        const finish = (error?: Error): void => {
          checks.delete(check);
          if (error === undefined) resolve(text());
          else reject(error);
        };
        const check = (): void => {
          if (pattern.test(text())) finish();
        };
        const unmatched = (): Error => new Error(`kubectl ended before it printed ${pattern}: ${out}${err}`);
        checks.add(check);
        void done.then(() => finish(pattern.test(text()) ? undefined : unmatched()));
        check();
      }),
    stop: async () => {
      child.kill("SIGTERM");
      return done;
    },
  };
}
