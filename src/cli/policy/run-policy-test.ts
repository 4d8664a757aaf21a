import { usualLimits } from "../../policy/rego/limits.ts";
import { CliError } from "../cli-error.ts";
import type { Args } from "../command.ts";
import type { ExitName } from "../exit-code.ts";
import type { Io } from "../io.ts";
import { policyAt } from "../../policy-server/rego-files.ts";

/** Runs the tests of a policy and prints what became of each. @throws CliError usage when there are none */
export async function runPolicyTest(args: Args, io: Io): Promise<ExitName> {
  const [path = ""] = args.operands;
  const policy = await policyAt(path, io, { tests: true });
  const tests = policy.rules.filter((rule) => /\.test_[^.]*$/.test(rule));
  if (tests.length === 0) throw new CliError("usage", `${path} holds no rules whose names begin with test_`);
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
}
