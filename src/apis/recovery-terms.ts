import { invalid, type FieldError } from "../apimachinery/field-error.ts";
import { parseCidr } from "../policy/kubernetes/cidr.ts";
import { collectErrors } from "./field-rules.ts";
import { stringsAt, type Fields } from "./json-fields.ts";

/** On which terms a machine that was away past the end of its credential gets in again by itself. */
export interface RecoveryTerms {
  /** How long after the end of the credential; default 30 days. */
  readonly windowSeconds?: number;
  /** How often in `perSeconds`; default 3. */
  readonly times?: number;
  /** Default 30 days. */
  readonly perSeconds?: number;
  /** CIDRs from which; default anywhere. */
  readonly networks?: readonly string[];
}

/** What terms that say nothing of it mean. */
export const recoveryDefaults: Required<Omit<RecoveryTerms, "networks">> = {
  windowSeconds: 30 * 86_400,
  times: 3,
  perSeconds: 30 * 86_400,
};

/** How many recoveries of one machine are remembered, and so how many can be allowed. */
export const maxRecoveries = 16;

/** What is wrong with the networks of terms at `path`; the limits of terms are those of their schema. */
export function recoveryErrors(terms: Fields, path: string): readonly FieldError[] {
  return cidrErrors(stringsAt(terms, "networks"), `${path}.networks`);
}

/** What is wrong with networks, a list at `path`. */
export function cidrErrors(networks: readonly string[], path: string): readonly FieldError[] {
  return collectErrors(networks, (network, index) =>
    "cidr" in parseCidr(network) ? [] : [invalid(`${path}[${index}]`, network, "must be a CIDR such as 10.20.0.0/16")],
  );
}
