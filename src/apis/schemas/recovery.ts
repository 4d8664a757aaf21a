import type { Field, ObjectSchema } from "../../apimachinery/schema.ts";
import { kind, about, atomic, between, described, int32, maxItems, object, required, strings } from "./shorthand.ts";
import { maxRecoveries } from "../recovery-terms.ts";

// How machines that were away past the end of their credential get in again.

const prefix = "dev.pratique.access.v1alpha1";

/** Records of what was issued are kept for as long. */
const maxSeconds = 400 * 86_400;

/** The terms, with field numbers from `first` on. */
function terms(first: number): Readonly<Record<string, Field>> {
  return {
    windowSeconds: about(
      "How long after the end of the credential; default 2592000 (30 days).",
      between(60, maxSeconds, int32(first)),
    ),
    times: about("How often in perSeconds; default 3.", between(1, maxRecoveries, int32(first + 1))),
    perSeconds: about("Default 2592000 (30 days).", between(60, maxSeconds, int32(first + 2))),
    networks: about(
      "CIDRs from which, as the API sees the machine; default anywhere.",
      maxItems(64, strings(first + 3, atomic)),
    ),
  };
}

/** The `recovery` of an AccessProfile. */
export const accessRecovery: ObjectSchema = described(
  `${prefix}.AccessRecovery`,
  "On which terms a machine whose token has expired gets in again by itself.",
  terms(1),
);

const recoveryPolicySpec: ObjectSchema = described(`${prefix}.RecoveryPolicySpec`, "Which nodes, and on which terms.", {
  nodeNames: about("Exact names, prefix*, *suffix or *.", required(maxItems(64, strings(1, atomic)))),
  ...terms(2),
});

/** `RecoveryPolicy`. */
export const recoveryPolicySchema: ObjectSchema = kind(
  `${prefix}.RecoveryPolicy`,
  "Nodes whose client certificate has expired, and which prove that they hold its key, are given the next one without a person.",
  { spec: about("Which nodes, and on which terms.", required(object(2, recoveryPolicySpec))) },
);
