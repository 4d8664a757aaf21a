import { nodeUserPrefix } from "../../apimachinery/user.ts";
import type { CredentialIssue, IssuedCredential } from "../../apis/issued-credential.ts";
import type { RecoveryPolicy } from "../../apis/recovery-policy.ts";
import type { CredentialStatus } from "../credentials/credential-status.ts";
import { matchesNodePattern } from "./node-pattern.ts";
import { recoveryRefusal } from "../credentials/recovery-judgement.ts";

/** Everything that is known when somebody asks who comes back with an expired certificate. */
export interface ReturningView {
  /** The user name of the node. */
  readonly node: string;
  readonly credentialStatus: CredentialStatus;
  readonly record: IssuedCredential | undefined;
  /** The certificate that has expired. */
  readonly asking: CredentialIssue | undefined;
  readonly policies: readonly RecoveryPolicy[];
  /** Where the API saw the request come from. */
  readonly address: string | undefined;
  /** When it was let in so before, in milliseconds since the epoch. */
  readonly recoveries: readonly number[];
  readonly now: number;
}

/** What to do: approve by a policy, or leave it to a person and say why. */
export type ReturningStep =
  | { readonly kind: "approve"; readonly policy: string; readonly message: string }
  | { readonly kind: "wait"; readonly reason: string; readonly message: string };

/** Decides. It never denies: whoever proves the key of a machine that was let in once is for a person to judge. */
export function returningStep(view: ReturningView): ReturningStep {
  const { node, record, asking, credentialStatus } = view;
  const name = node.slice(nodeUserPrefix.length);
  if (credentialStatus === "unknown" || record === undefined || asking === undefined) {
    return wait("NoRecord", `${node} comes back with a certificate of which this hub has no record`);
  }
  const history = historyOf(record);
  if (credentialStatus === "cloned") {
    return wait("Cloned", `${node} comes back with a certificate after which a later one is in use; ${history}`);
  }
  const matching = view.policies
    .filter(({ spec }) => spec.nodeNames.some((pattern) => pattern === "*" || matchesNodePattern(pattern, name)))
    .toSorted((one, other) => ((one.metadata.name ?? "") < (other.metadata.name ?? "") ? -1 : 1));
  if (matching.length === 0) {
    return wait("NoPolicy", `${node} comes back, and no RecoveryPolicy speaks of it; ${history}`);
  }
  const { now, recoveries, address } = view;
  const facts = { now, ended: Date.parse(asking.notAfter ?? ""), recoveries, address };
  const refusals: string[] = [];
  for (const { metadata, spec } of matching) {
    const refusal = recoveryRefusal(spec, facts);
    const policy = metadata.name ?? "";
    if (refusal === undefined) {
      return { kind: "approve", policy, message: `${node} comes back within RecoveryPolicy ${policy}; ${history}` };
    }
    refusals.push(`RecoveryPolicy ${policy} does not approve it automatically: ${refusal}`);
  }
  return wait("OutsidePolicy", `${node} comes back; ${refusals.join("; ")}; ${history}`);
}

function wait(reason: string, message: string): ReturningStep {
  return { kind: "wait", reason, message };
}

/** Since when a machine is known, and when it was last here; in one clause. */
export function historyOf({ metadata, status = {} }: IssuedCredential): string {
  const { count = 0, lastSeen = "never" } = status;
  return `known since ${metadata.creationTimestamp ?? "an unknown time"}, ${count} issued, last seen ${lastSeen}`;
}

/** When a machine was let in again after its credential had expired; by its record, and by `others` that are not in it yet. */
export function recoveriesOf(
  record: IssuedCredential | undefined,
  others: ReadonlyMap<string, number>,
): readonly number[] {
  const known = new Map(others);
  for (const { request = "", time = "" } of record?.status?.recoveries ?? []) {
    const at = Date.parse(time);
    if (!Number.isNaN(at)) known.set(request, at);
  }
  return [...known.values()];
}
