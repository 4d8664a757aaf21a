import { toJsonText } from "../policy/rego/json.ts";
import { usualLimits } from "../policy/rego/limits.ts";
import { RegoError } from "../policy/rego/rego-error.ts";
import type { RegoOutcome, RegoPolicy, RegoQuestion } from "../policy/rego/compile.ts";
import { CliError } from "./cli-error.ts";
import type { Args } from "./command.ts";
import type { ExitName } from "./exit-code.ts";
import type { Io } from "./io.ts";
import { policyAt } from "./rego-files.ts";

/** Prints the value of a rule for one input. @throws CliError */
export async function runPolicyEval(args: Args, io: Io): Promise<ExitName> {
  const path = args.text("policy");
  if (path === undefined) throw new CliError("usage", "--policy is needed: a Rego file or a folder of them");
  const ask = preparedQuery(await policyAt(path, io, { tests: false }), args.text("query") ?? "");
  const now = (): number => io.clock.now();
  const outcome = ask({ input: await inputOf(args, io), limits: usualLimits, now });
  if ("error" in outcome) throw new CliError("failed", outcome.error.message);
  io.stdout.write(`${outcome.value === undefined ? "undefined" : toJsonText(outcome.value)}\n`);
  return outcome.value === undefined ? "failed" : "ok";
}

/** The query of a policy. @throws CliError usage for one that is none, or names nothing of the policy */
export function preparedQuery(policy: RegoPolicy, query: string): (question: RegoQuestion) => RegoOutcome {
  try {
    const ask = policy.prepare(query);
    const isThere = policy.rules.some(
      (rule) => rule === query || rule.startsWith(`${query}.`) || query.startsWith(`${rule}.`),
    );
    if (!isThere && !query.includes("[")) throw new CliError("usage", `--query ${query}: the policy has no such rule`);
    return ask;
  } catch (error) {
    if (error instanceof RegoError) throw new CliError("usage", `--query: ${error.message}`);
    throw error;
  }
}

async function inputOf(args: Args, io: Io): Promise<unknown> {
  const file = args.text("input");
  if (file === undefined) return undefined;
  const text = file === "-" ? await io.stdin() : Buffer.from(await io.readFile(file)).toString("utf8");
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new CliError("usage", `--input ${file}: not JSON`);
  }
}
