import { compileRego, type RegoOutcome, type RegoPolicy, type RegoQuestion } from "../policy/rego/compile.ts";
import { toJsonText } from "../policy/rego/json.ts";
import { usualLimits } from "../policy/rego/limits.ts";
import { RegoError } from "../policy/rego/rego-error.ts";
import { OptionError } from "../apimachinery/option-error.ts";
import { reloadingPolicy, type DecidingPolicy, type Judge } from "./deciding-policy.ts";
import type { PolicyOptions } from "./policy-source.ts";
import { regoSources } from "./rego-files.ts";

const maxMessages = 20;

/** A policy in Rego of a file or folder, evaluated in this process. @throws OptionError usage */
export async function openRegoPolicy(path: string, { query, world }: PolicyOptions): Promise<DecidingPolicy> {
  const now = (): number => world.clock.now();
  const read = async (): ReturnType<typeof regoSources> => regoSources(path, world, { tests: false });
  try {
    return await reloadingPolicy({
      read: async () => {
        const sources = await read();
        return {
          key: JSON.stringify(sources),
          compile: () => ({ ask: judge(preparedQuery(compileRego(sources), query), now) }),
        };
      },
      ...world,
    });
  } catch (error) {
    if (error instanceof RegoError) throw new OptionError("usage", error.message);
    throw error;
  }
}

function judge(ask: (question: RegoQuestion) => RegoOutcome, now: () => number): Judge {
  return async (input) => {
    const outcome = ask({ input, limits: usualLimits, now });
    if ("error" in outcome) return { error: outcome.error.message };
    return { json: outcome.value === undefined ? undefined : toJsonText(outcome.value) };
  };
}

function preparedQuery(policy: RegoPolicy, query: string): (question: RegoQuestion) => RegoOutcome {
  try {
    const ask = policy.prepare(query);
    const isThere = policy.rules.some(
      (rule) => rule === query || rule.startsWith(`${query}.`) || query.startsWith(`${rule}.`),
    );
    if (!isThere && !query.includes("[")) {
      const [there, more] = [
        policy.rules.slice(0, maxMessages),
        policy.rules.length > maxMessages ? " and others" : "",
      ];
      throw new OptionError(
        "usage",
        `--query ${query}: the policy has no such rule; there are: ${there.join(", ")}${more}`,
      );
    }
    return ask;
  } catch (error) {
    if (error instanceof RegoError) throw new OptionError("usage", `--query: ${error.message}`);
    throw error;
  }
}
