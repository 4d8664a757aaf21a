import type { Client } from "../../client/client.ts";
import { rfc3339 } from "../../core/clock.ts";
import type { ApiObject } from "../../core/object.ts";
import type { Event } from "../../resources/event.ts";
import { hasReason } from "../api-errors.ts";
import { events } from "../kinds.ts";

const longestMessage = 1024;
// Events of what lies in no namespace are in this one.
const namespace = "default";

/**
 * Says on the request, in one Event however often it is looked at, why it is not approved: a decision would be the only condition
 * that could say it. The Event goes with the request, by the garbage collector or by its age.
 */
export async function recordAbstention(
  client: Client,
  csr: ApiObject,
  { why, now }: { readonly why: string; readonly now: number },
): Promise<void> {
  const { name = "", uid = "" } = csr.metadata;
  const message = why.length > longestMessage ? `${why.slice(0, longestMessage - 1)}…` : why;
  const event = eventFor(csr, { message, now: rfc3339(now) });
  try {
    await client.create(events, event);
  } catch (error) {
    if (!hasReason(error, "AlreadyExists")) throw error;
    const before = await client.get<Event>(events, { namespace, name: event.metadata.name ?? "" });
    const isOurs = before.involvedObject.uid === uid && before.involvedObject.name === name;
    if (isOurs && before.message === message) return;
    const { metadata, firstTimestamp = rfc3339(now), count = 1 } = before;
    await client.update(events, { ...event, metadata, firstTimestamp, count: count + 1 });
  }
}

function eventFor(csr: ApiObject, { message, now }: { readonly message: string; readonly now: string }): Event {
  const { name = "", uid = "" } = csr.metadata;
  const about = { apiVersion: "certificates.k8s.io/v1", kind: "CertificateSigningRequest", name, uid };
  return {
    apiVersion: "v1",
    kind: "Event",
    metadata: { namespace, name: `serving-not-approved-${uid}`, ownerReferences: [about] },
    involvedObject: about,
    type: "Warning",
    reason: "ServingNotApproved",
    message,
    source: { component: "pratique-serving-approving" },
    reportingComponent: "pratique.dev/serving-approving",
    firstTimestamp: now,
    lastTimestamp: now,
    count: 1,
  };
}
