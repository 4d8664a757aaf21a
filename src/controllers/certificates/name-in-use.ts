import type { Client } from "../../client/client.ts";
import { rfc3339 } from "../../core/clock.ts";
import { findCondition, setCondition } from "../../core/conditions.ts";
import type { ApiObject, Condition } from "../../core/object.ts";
import { nodeUserPrefix } from "../../core/user.ts";
import type { Event } from "../../resources/event.ts";
import { hasReason } from "../api-errors.ts";
import { events } from "../kinds.ts";
import type { CsrView } from "./csr-view.ts";
import type { NodeNameHolder, WantedNodeName } from "./node-name-claims.ts";

/** The condition of a certificate request that asks for a node name that another key holds. It is no decision. */
export const nameInUseCondition = "NameInUse";

const reason = "NodeNameInUse";
// Events of what lies in no namespace are in this one.
const namespace = "default";

/** What the condition says, to the approver and to the machine that asks. */
export function nameInUseMessage({ username }: WantedNodeName, { key, notAfter, request }: NodeNameHolder): string {
  const name = username.slice(nodeUserPrefix.length);
  const which = key === undefined ? "another key" : `another key, ${key}`;
  const until = notAfter === undefined ? "approved and not yet issued" : `valid until ${notAfter}`;
  const by = request === undefined ? "" : `, ${request}`;
  return `the node name ${name} is in use by ${which} (${until}${by}); it is not approved automatically, an approver must decide`;
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
      : { type: nameInUseCondition, status: "True", reason, message };
  return setCondition(conditions, next, rfc3339(now));
}

/** Says in an Event, once for each request, that it waits for a person and why. */
export async function tellNameInUse(client: Client, csr: ApiObject, message: string, now: number): Promise<void> {
  const { name = "", uid = "" } = csr.metadata;
  const about = { apiVersion: "certificates.k8s.io/v1", kind: "CertificateSigningRequest", name, uid };
  const event: Event = {
    apiVersion: "v1",
    kind: "Event",
    metadata: { namespace, name: `node-name-in-use-${uid}`, ownerReferences: [about] },
    involvedObject: about,
    type: "Warning",
    reason,
    message,
    source: { component: "pratique-csrapproving" },
    reportingComponent: "pratique.dev/csrapproving",
    firstTimestamp: rfc3339(now),
    lastTimestamp: rfc3339(now),
    count: 1,
  };
  try {
    await client.create(events, event);
  } catch (error) {
    if (!hasReason(error, "AlreadyExists")) throw error;
  }
}
