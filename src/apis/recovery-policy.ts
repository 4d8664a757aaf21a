import { parseCidr } from "../policy/kubernetes/cidr.ts";
import { invalid, required, type FieldError } from "../apimachinery/field-error.ts";
import { humanDuration } from "../apimachinery/duration.ts";
import { dnsSubdomainProblems } from "../apimachinery/names.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import { accessKind } from "./access-request.ts";
import { ageColumn, column, builtinKind } from "./builtin-kind.ts";
import { arrayAt, fieldsAt, numberAt, stringsAt, type Fields } from "./json-fields.ts";
import { limitErrors } from "./limit-errors.ts";
import type { Resource } from "./resource.ts";
import { recoveryPolicySchema } from "./schemas/access.ts";
import { fieldErrors, collectErrors } from "./field-rules.ts";

/** Nodes that recover automatically after their certificate has expired. */
export interface RecoveryPolicy extends ApiObject {
  readonly spec: RecoveryTerms & {
    /** Exact names, `prefix*`, `*suffix` or `*`. */
    readonly nodeNames: readonly string[];
  };
}

export const recoveryPolicies: Resource = builtinKind({
  ...accessKind,
  kind: "RecoveryPolicy",
  plural: "recoverypolicies",
  shortNames: ["rpol"],
  schema: recoveryPolicySchema,
  columns: [
    column("Nodes", "Which nodes.", (object) => stringsAt(object, "spec", "nodeNames").join(",")),
    column("Window", "How long after the end of a certificate.", (object) =>
      humanDuration((numberAt(object, "spec", "windowSeconds") ?? recoveryDefaults.windowSeconds) * 1000),
    ),
    {
      ...column(
        "Times",
        "How often in a period.",
        (object) => numberAt(object, "spec", "times") ?? recoveryDefaults.times,
      ),
      type: "integer",
    },
    column("Networks", "From where.", (object) => stringsAt(object, "spec", "networks").join(",") || "<any>"),
    ageColumn,
  ],
  validate: (object) => [...limitErrors(recoveryPolicySchema, object), ...policyErrors(object)],
});

function policyErrors(object: ApiObject): readonly FieldError[] {
  const spec = fieldsAt(object, "spec");
  return fieldErrors(
    arrayAt(spec, "nodeNames").length === 0 && required("spec.nodeNames", "exact names, prefix*, *suffix or *"),
    stringsAt(spec, "nodeNames").flatMap((pattern, index) =>
      isPattern(pattern)
        ? []
        : [invalid(`spec.nodeNames[${index}]`, pattern, "must be an exact name, prefix*, *suffix or *")],
    ),
    recoveryErrors(spec, "spec"),
  );
}

function isPattern(pattern: string): boolean {
  if (pattern === "*") return true;
  // One star at one end; the rest is extended to a name.
  const name = pattern.startsWith("*")
    ? `a${pattern.slice(1)}`
    : pattern.endsWith("*")
      ? `${pattern.slice(0, -1)}a`
      : pattern;
  return dnsSubdomainProblems(name).length === 0;
}

/** The conditions under which a machine recovers automatically after its credential has expired. */
export interface RecoveryTerms {
  /** Maximum time after the end of the credential; default 30 days. */
  readonly windowSeconds?: number;
  /** Maximum number in `perSeconds`; default 3. */
  readonly times?: number;
  /** Default 30 days. */
  readonly perSeconds?: number;
  /** CIDRs of the machine; default any. */
  readonly networks?: readonly string[];
}

/** Defaults of the conditions. */
export const recoveryDefaults: Required<Omit<RecoveryTerms, "networks">> = {
  windowSeconds: 30 * 86_400,
  times: 3,
  perSeconds: 30 * 86_400,
};

/** Errors of the networks of conditions at `path`; their schema has the limits. */
export function recoveryErrors(terms: Fields, path: string): readonly FieldError[] {
  return cidrErrors(stringsAt(terms, "networks"), `${path}.networks`);
}

/** Errors of networks, a list at `path`. */
export function cidrErrors(networks: readonly string[], path: string): readonly FieldError[] {
  return collectErrors(networks, (network, index) =>
    "cidr" in parseCidr(network) ? [] : [invalid(`${path}[${index}]`, network, "must be a CIDR such as 10.20.0.0/16")],
  );
}
