import { invalid, type FieldError } from "../core/field-error.ts";
import { parseCidr } from "../policy/kubernetes/cidr.ts";
import { arrayAt, numberAt, stringsAt, type Fields } from "./json-fields.ts";

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
export const mostRecoveries = 16;

// Records of what was issued are kept for as long.
const longestSeconds = 400 * 86_400;
const mostNetworks = 64;

/** What is wrong with terms at `path`. */
export function recoveryErrors(terms: Fields, path: string): readonly FieldError[] {
  return [
    ...within(terms, path, { field: "windowSeconds", least: 60, most: longestSeconds }),
    ...within(terms, path, { field: "times", least: 1, most: mostRecoveries }),
    ...within(terms, path, { field: "perSeconds", least: 60, most: longestSeconds }),
    ...(arrayAt(terms, "networks").length > mostNetworks
      ? [invalid(`${path}.networks`, arrayAt(terms, "networks").length, `must have at most ${mostNetworks} items`)]
      : []),
    ...stringsAt(terms, "networks").flatMap((network, index) =>
      "cidr" in parseCidr(network)
        ? []
        : [invalid(`${path}.networks[${index}]`, network, "must be a CIDR such as 10.20.0.0/16")],
    ),
  ];
}

function within(
  terms: Fields,
  path: string,
  { field, least, most }: { readonly field: string; readonly least: number; readonly most: number },
): readonly FieldError[] {
  const value = numberAt(terms, field);
  if (value === undefined || (value >= least && value <= most)) return [];
  return [invalid(`${path}.${field}`, value, `must be ${least} to ${most}`)];
}
