import type { LogEntry } from "../../core/log-entry.ts";
import { CliError } from "../cli-error.ts";
import type { Args } from "../command.ts";
import type { DecidingPolicy } from "./deciding-policy.ts";
import type { Io } from "../io.ts";

/** What opening a policy needs. */
export interface PolicyWorld {
  readonly args: Args;
  readonly io: Io;
  readonly log: (entry: LogEntry) => void;
  /** Told of each change of the files. */
  readonly reloaded?: (status: "success" | "failure") => void;
}

type Open = (value: string, world: PolicyWorld) => Promise<DecidingPolicy>;

/** What evaluates a policy, by the option that names it; each is loaded when it is asked for. */
const kinds: Readonly<Record<string, Open>> = {
  policy: async (value, world) => (await import("./rego-policy.ts")).openRegoPolicy(value, world),
  bundle: async (value, world) => (await import("./bundle-policy.ts")).openBundlePolicy(value, world),
  cel: async (value, world) => (await import("./cel-file.ts")).openCelPolicy(value, world),
  "opa-url": async (value, world) => (await import("./opa-policy.ts")).openOpaPolicy(value, world),
};

/** The options that name a policy. */
export const policyKinds: readonly string[] = Object.keys(kinds);

/** Opens the one policy that the options name. @throws CliError usage for none, for two, and for one that cannot be used */
export async function openPolicy(world: PolicyWorld): Promise<DecidingPolicy> {
  const given = policyKinds.filter((name) => world.args.text(name) !== undefined);
  const [name = "", other] = given;
  if (other !== undefined) throw new CliError("usage", `--${name} and --${other} exclude each other`);
  const open = kinds[name];
  if (open === undefined)
    throw new CliError("usage", "--policy is needed, or one of --bundle, --cel and --opa-url: what decides");
  try {
    return await open(world.args.text(name) ?? "", world);
  } catch (error) {
    const isUnnamed = error instanceof CliError && error.code === "usage" && !error.message.startsWith("--");
    throw isUnnamed ? new CliError("usage", `--${name}: ${error.message}`, error.hints) : error;
  }
}
