import { celExpressionPolicy, readCelPolicy, type CelPolicy } from "../authorization/cel-policy.ts";
import { StatusError } from "../apimachinery/status.ts";
import { loadYaml, YamlError } from "../serializer/yaml/bounded-yaml.ts";
import { CelError } from "../policy/cel/cel-error.ts";
import { askedReview } from "./authorizer-review.ts";
import { OptionError } from "../apimachinery/option-error.ts";
import { reloadingPolicy, type DecidingPolicy, type Judge, policyFile } from "./deciding-policy.ts";
import type { PolicyOptions } from "./policy-source.ts";

const maxBytes = 1 << 20;

/** A policy in CEL: a CelPolicy in YAML or JSON, or one expression where the name ends in `.cel`. @throws OptionError usage */
export async function openCelPolicy(path: string, { world }: PolicyOptions): Promise<DecidingPolicy> {
  return reloadingPolicy({
    read: async () => {
      const { key, bytes } = await policyFile(path, world, maxBytes);
      return { key, compile: async () => ({ ask: judge(compiled(path, (await bytes()).toString("utf8"))) }) };
    },
    ...world,
  });
}

function compiled(path: string, text: string): CelPolicy {
  try {
    if (path.endsWith(".cel")) return celExpressionPolicy(text);
    const read = readCelPolicy(loadYaml(text, { maxCharacters: maxBytes, numbers: "number" }));
    if (read.policy !== undefined) return read.policy;
    const why = read.errors.map(({ path: at, message }) => `${at}: ${onOneLine(message)}`).join("; ");
    throw new OptionError("usage", `${path}: ${why}`);
  } catch (error) {
    if (error instanceof YamlError || error instanceof CelError)
      throw new OptionError("usage", `${path}: ${onOneLine(error.message)}`);
    throw error;
  }
}

/** Without the excerpt of the source, which needs several lines. */
function onOneLine(message: string): string {
  return message
    .split("\n")
    .filter((line) => !line.startsWith(" | "))
    .join("; ")
    .replaceAll("ERROR: <input>:", "");
}

function judge(policy: CelPolicy): Judge {
  return async (input) => {
    try {
      const decided = policy(askedReview(input).asked);
      return "error" in decided ? decided : { json: JSON.stringify(decided) };
    } catch (error) {
      if (error instanceof StatusError) return { error: `the input cannot be judged: ${error.message}` };
      throw error;
    }
  };
}
