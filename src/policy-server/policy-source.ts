import type { Clock } from "../apimachinery/clock.ts";
import type { LogEntry } from "../apimachinery/log-entry.ts";
import { OptionError } from "../apimachinery/option-error.ts";
import type { NamedFiles } from "../host/read-text.ts";
import type { DecidingPolicy } from "./deciding-policy.ts";

/** What a policy gets from its host. */
export interface PolicyWorld extends NamedFiles {
  readonly clock: Clock;
  /** The environment variables, which name the proxy of an OPA server. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly log: (entry: LogEntry) => void;
  /** Called for each change of the files. */
  readonly reloaded?: (status: "success" | "failure") => void;
}

/** How an OPA server is called. */
export interface OpaOptions {
  readonly caFile: string | undefined;
  readonly tokenFile: string | undefined;
  readonly timeoutMs: number;
}

/** The policy that decides: `sources` has the values of the given options of `policyKinds`. */
export interface PolicySource {
  readonly sources: Readonly<Record<string, string>>;
  /** The rule that decides; for a bundle its entry point. */
  readonly query: string;
  readonly opa: OpaOptions;
}

export interface PolicyOptions extends PolicySource {
  readonly world: PolicyWorld;
}

type Open = (value: string, options: PolicyOptions) => Promise<DecidingPolicy>;

/** The evaluator by the option that names the policy; each module is loaded on demand. */
const kinds: Readonly<Record<string, Open>> = {
  policy: async (value, options) => (await import("./rego-policy.ts")).openRegoPolicy(value, options),
  bundle: async (value, options) => (await import("./bundle-runner.ts")).openBundlePolicy(value, options),
  cel: async (value, options) => (await import("./cel-file.ts")).openCelPolicy(value, options),
  "opa-url": async (value, options) => (await import("./opa-policy.ts")).openOpaPolicy(value, options),
};

/** The options that name a policy. */
export const policyKinds: readonly string[] = Object.keys(kinds);

/** Opens the one policy that the options name. @throws OptionError usage for none, for two, and for one that cannot be used */
export async function openPolicy(options: PolicyOptions): Promise<DecidingPolicy> {
  const [[name, value] = ["", ""], other] = Object.entries(options.sources);
  if (other !== undefined) throw new OptionError("usage", `--${name} and --${other[0]} exclude each other`);
  const open = kinds[name];
  if (open === undefined)
    throw new OptionError("usage", "--policy is needed, or one of --bundle, --cel and --opa-url: what decides");
  try {
    return await open(value, options);
  } catch (error) {
    const isUnnamed = error instanceof OptionError && error.code === "usage" && !error.message.startsWith("--");
    throw isUnnamed ? new OptionError("usage", `--${name}: ${error.message}`, error.hints) : error;
  }
}
