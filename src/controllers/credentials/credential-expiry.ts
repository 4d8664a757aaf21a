import type { Client } from "../../client/client.ts";
import { rfc3339 } from "../../core/clock.ts";
import type { Event } from "../../resources/event.ts";
import { credentialState } from "../../resources/credential-state.ts";
import { issuedCredentials, type IssuedCredential } from "../../resources/issued-credential.ts";
import { hasReason } from "../api-errors.ts";
import { events } from "../kinds.ts";

// Events of what lies in no namespace are in this one.
const namespace = "default";

/** Says in an Event that a credential was not renewed in time, and whether its holder was seen; once for each credential. */
export async function warnOfExpiry(
  client: Client,
  record: IssuedCredential,
  { now, notAfter }: { readonly now: number; readonly notAfter: string },
): Promise<void> {
  const { name = "", uid = "" } = record.metadata;
  const { group, version, kind } = issuedCredentials;
  const { username, purpose } = record.spec.identity;
  const about = { apiVersion: `${group}/${version}`, kind, name, uid };
  const isMissing = credentialState(record, now) === "missing";
  const seen = record.status?.lastSeen ?? "never";
  const why = isMissing ? `it was not seen within its renewal window, last seen: ${seen}` : "it has not been renewed";
  const event: Event = {
    apiVersion: "v1",
    kind: "Event",
    metadata: { namespace, name: `credential-${uid}-${Date.parse(notAfter)}`, ownerReferences: [about] },
    involvedObject: about,
    type: "Warning",
    reason: now >= Date.parse(notAfter) ? "CredentialExpired" : isMissing ? "CredentialUnseen" : "CredentialExpiring",
    message: `The ${purpose.toLowerCase()} credential of ${username} ends at ${notAfter}: ${why}.`,
    source: { component: "pratique-credential-keeper" },
    reportingComponent: "pratique.dev/credential-keeper",
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
