import type { KlusterletEvent } from "../../agent/klusterlet/klusterlet-event.ts";
import { rfc3339 } from "../../core/clock.ts";
import { logEntry, type LogEntry } from "../../core/log-entry.ts";

const decisions = {
  certificate: "the approval of the certificate",
  acceptance: "the acceptance of the cluster",
} as const;

/** The log line of an event. */
export function klusterletLine(event: KlusterletEvent): LogEntry {
  switch (event.kind) {
    case "started":
      return logEntry("AgentStarted", `the agent of cluster ${event.cluster}`, {
        agentId: event.agent,
        keptIn: event.place,
      });
    case "hub":
      return logEntry("HubSelected", `works with the hub ${event.server}`, {
        as: event.as === "bootstrap" ? "the bootstrap identity" : "this cluster",
      });
    case "cluster-created":
      return logEntry("ClusterCreated", `made the ManagedCluster ${event.cluster}, which waits to be accepted`);
    case "cluster-found":
      return logEntry("ClusterFound", `the ManagedCluster ${event.cluster} is there already`);
    case "requested":
      return logEntry(
        "CertificateRequested",
        event.found ? "goes on with an earlier request for a certificate" : "asked for a certificate",
        {
          request: `csr/${event.request}`,
          agentId: event.agent,
          key: event.fingerprint,
        },
      );
    case "waiting":
      return logEntry("ApprovalPending", `waiting for ${event.open.map((one) => decisions[one]).join(" and ")}`, {
        agentId: event.agent,
        onTheHub: event.commands.join("  or  "),
      });
    case "issued":
      return logEntry("CertificateIssued", "got a certificate", { validUntil: rfc3339(event.expiresAt) });
    case "renewed":
      return logEntry("CredentialRenewed", "renewed the certificate", { validUntil: rfc3339(event.expiresAt) });
    case "planned":
      return logEntry("RenewalScheduled", "the certificate is kept", {
        validUntil: rfc3339(event.expiresAt),
        renewsAt: rfc3339(event.at),
      });
    case "accepted":
      return logEntry("ClusterAccepted", `accepted by the hub; a heartbeat each ${event.everyMs / 1000} s`);
    case "available":
      return logEntry("ClusterAvailable", "reported as available");
    case "trusts":
      return logEntry("TrustBundleUpdated", "the hub told of other CAs, which are trusted now", { pins: event.pins });
    case "moved":
      return logEntry("ServerAddressUpdated", `the hub told of another address, which is used now: ${event.server}`);
    default:
      return badLine(event);
  }
}

type Bad = Extract<KlusterletEvent, { readonly message: string }>;

function badLine(event: Bad): LogEntry {
  const { kind, message } = event;
  switch (kind) {
    case "failed":
      return logEntry("AttemptFailed", message, {
        ...(event.at === undefined ? {} : { triedAgainAt: rfc3339(event.at) }),
      });
    case "left-to-approver":
      return logEntry("ApprovalPending", `the hub says: ${message}`, { request: `csr/${event.request}` });
    case "registering-again":
      return logEntry("RegisteringAgain", `${message}; registers again`);
    case "leaving-hub":
      return logEntry("HubLeft", `${message}; looks for another hub`, { server: event.server });
    case "unavailable":
    case "withheld":
    case "denied":
    case "detached":
      return logEntry(
        (
          {
            unavailable: "ClusterUnavailable",
            withheld: "StatusWithheld",
            denied: "ClusterDenied",
            detached: "ClusterDetached",
          } as const
        )[kind],
        message,
        { level: "error" as const },
      );
  }
}
