import { CliError } from "../cli-error.ts";
import type { Args } from "../command.ts";
import type { ExitName } from "../exit-code.ts";
import type { Io } from "../io.ts";
import { policySource } from "./policy-flags.ts";
import { openPolicy } from "../../policy-server/policy-source.ts";
import { readText } from "../../host/read-text.ts";

/** Prints the value of a policy for one input. @throws CliError */
export async function runPolicyEval(args: Args, io: Io): Promise<ExitName> {
  const policy = await openPolicy({ ...policySource(args), world: { ...io, log: () => undefined } });
  try {
    const judgement = await policy.ask(await inputOf(args, io));
    if ("error" in judgement)
      throw new CliError(judgement.away ?? "failed", judgement.error, isHere(judgement.away, args));
    io.stdout.write(`${judgement.json ?? "undefined"}\n`);
    return judgement.json === undefined ? "failed" : "ok";
  } finally {
    policy.close();
  }
}

/** What to look at where nobody answered. */
function isHere(away: "unreachable" | "timedOut" | undefined, args: Args): readonly string[] {
  return away === undefined ? [] : [`Does an OPA server run at --opa-url ${args.text("opa-url") ?? ""}?`];
}

async function inputOf(args: Args, io: Io): Promise<unknown> {
  const file = args.text("input");
  if (file === undefined) return undefined;
  const text = file === "-" ? await io.stdin() : await readText("input", file, io);
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new CliError("usage", `--input ${file}: not JSON`);
  }
}
