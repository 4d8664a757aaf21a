import { rfc3339 } from "../../apimachinery/clock.ts";
import { findCondition, setCondition } from "../../apimachinery/conditions.ts";
import type { Condition } from "../../apimachinery/object.ts";
import { nodeUserPrefix } from "../../apimachinery/user.ts";
import { nameInUseCondition } from "../../apis/csr-waiting.ts";
import type { CsrView } from "./csr-view.ts";
import type { NodeNameHolder, WantedNodeName } from "./node-name-claims.ts";

/** Why such a request waits, in its condition, the log and an Event. */
export const nameInUseReason = "NodeNameInUse";

/** What the condition says, to the approver and to the machine that asks. */
export function nameInUseMessage({ username }: WantedNodeName, { key, notAfter, request }: NodeNameHolder): string {
  const name = username.slice(nodeUserPrefix.length);
  const which = key === undefined ? "another key" : `another key, ${key}`;
  const until = notAfter === undefined ? "approved and not yet issued" : `valid until ${notAfter}`;
  const by = request === undefined ? "" : `, ${request}`;
  return `the node name ${name} is in use by ${which} (${until}${by}); this request is not approved automatically, an approver must decide`;
}

/**
 * The message that the mark has already, where that is one of those that are true now, else the first of them: a mark stays while the
 * holder that it names holds the name, so that renewals of the holder do not rewrite every request that waits.
 */
export function unchangedMessage({ conditions }: Pick<CsrView, "conditions">, messages: readonly string[]): string {
  const text = findCondition(conditions, nameInUseCondition);
  return messages.find((message) => text?.status === "True" && text.message === message) ?? messages[0] ?? "";
}

/** The conditions with the mark as it is to be; the same list where it says so already. */
export function withNameInUse(
  { conditions }: Pick<CsrView, "conditions">,
  message: string | undefined,
  now: number,
): readonly Condition[] {
  const before = findCondition(conditions, nameInUseCondition);
  if (message === undefined && before?.status !== "True") return conditions;
  const next: Condition =
    message === undefined
      ? {
          type: nameInUseCondition,
          status: "False",
          reason: "NodeNameFree",
          message: "no other key holds the node name",
        }
      : { type: nameInUseCondition, status: "True", reason: nameInUseReason, message };
  return setCondition(conditions, next, rfc3339(now));
}
