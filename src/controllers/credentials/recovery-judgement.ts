import { isInNetworks } from "../../policy/kubernetes/cidr.ts";
import { rfc3339 } from "../../apimachinery/clock.ts";
import { humanDuration } from "../../apimachinery/duration.ts";
import { type RecoveryTerms, recoveryDefaults } from "../../apis/recovery-policy.ts";

/** The inputs for a machine with an expired credential; times in milliseconds since the epoch. */
export interface ReturnFacts {
  readonly now: number;
  /** When its last credential expired. */
  readonly ended: number;
  /** Times of its earlier recoveries. */
  readonly recoveries: readonly number[];
  /** Its source address; undefined where the API recorded none. */
  readonly address: string | undefined;
}

/** Why these terms do not accept the machine, in one clause; undefined where they do. */
export function recoveryRefusal(terms: RecoveryTerms, facts: ReturnFacts): string | undefined {
  const { windowSeconds, times, perSeconds } = { ...recoveryDefaults, ...terms };
  const { now, ended, recoveries, address } = facts;
  if (Number.isNaN(ended)) return "it is not known when it ended";
  if (now - ended > windowSeconds * 1000) {
    return `it ended at ${rfc3339(ended)}, which is more than ${humanDuration(windowSeconds * 1000)} ago`;
  }
  const recent = recoveries.filter((at) => now - at < perSeconds * 1000).length;
  if (recent >= times) {
    return `it has come back ${recent} times within ${humanDuration(perSeconds * 1000)}, and ${times} are allowed`;
  }
  const { networks = [] } = terms;
  if (networks.length > 0 && !isInNetworks(address ?? "", networks)) {
    return `it comes from ${address === undefined || address === "" ? "an unknown address" : address}, which is in none of the allowed networks`;
  }
  return undefined;
}
