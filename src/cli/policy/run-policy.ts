import { CliError, usageError } from "../cli-error.ts";
import type { Args, Run } from "../command.ts";
import type { Io } from "../io.ts";
import { policySource } from "./policy-flags.ts";
import { openPolicy } from "../../policy-server/policy-source.ts";
import { readText } from "../../host/read-text.ts";
import { usualLimits } from "../../policy/rego/limits.ts";
import { policyAt } from "../../policy-server/rego-policy.ts";

/** Prints the value of a policy for one input. @throws CliError */
export const runPolicyEval: Run = async (args, io) => {
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
};

/** What to check where no service answered. */
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
    throw usageError(`--input ${file}: not JSON`);
  }
}

/** Runs the tests of a policy and prints the result of each. @throws CliError usage when there are none */
export const runPolicyTest: Run = async (args, io) => {
  const [path = ""] = args.operands;
  const policy = await policyAt(path, io, { tests: true });
  const tests = policy.rules.filter((rule) => /\.test_[^.]*$/.test(rule));
  if (tests.length === 0) throw usageError(`${path} holds no rules whose names begin with test_`);
  let failures = 0;
  for (const test of tests) {
    const outcome = policy.prepare(test)({ limits: usualLimits, now: () => io.clock.now() });
    if ("error" in outcome) {
      failures += 1;
      io.stdout.write(`${test}: ERROR\n  ${outcome.error.message}\n`);
    } else if (outcome.value === true) io.stdout.write(`${test}: PASS\n`);
    else {
      failures += 1;
      io.stdout.write(`${test}: FAIL\n`);
    }
  }
  io.stdout.write(`${"-".repeat(40)}\nPASS: ${tests.length - failures}/${tests.length}\n`);
  if (failures > 0) io.stdout.write(`FAIL: ${failures}/${tests.length}\n`);
  return failures === 0 ? "ok" : "failed";
};
