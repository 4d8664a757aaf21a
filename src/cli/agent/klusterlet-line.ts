import type { KlusterletEvent } from "../../agent/klusterlet/klusterlet-event.ts";
import { rfc3339 } from "../../apimachinery/clock.ts";
import { logEntry, type LogEntry } from "../../apimachinery/log-entry.ts";

const decisions = {
  certificate: "the approval of the certificate",
  acceptance: "the acceptance of the cluster",
} as const;

/** The log line of an event. */
export function klusterletLine(event: KlusterletEvent): LogEntry {
  switch (event.kind) {
    case "started":
      return logEntry("AgentStarted", `started the agent of cluster ${event.cluster}`, {
        agentId: event.agent,
        keptIn: event.place,
      });
    case "hub":
      return logEntry("HubSelected", `uses the hub ${event.server}`, {
        as: event.as === "bootstrap" ? "the bootstrap identity" : "this cluster",
      });
    case "cluster-created":
      return logEntry("ClusterCreated", `created the ManagedCluster ${event.cluster}, which waits for acceptance`);
    case "cluster-found":
      return logEntry("ClusterFound", `the ManagedCluster ${event.cluster} exists`);
    case "requested":
      return logEntry(
        "CertificateRequested",
        event.found ? "continues with an earlier request for a certificate" : "requested a certificate",
        {
          request: `csr/${event.request}`,
          agentId: event.agent,
          key: event.fingerprint,
        },
      );
    case "waiting":
      return logEntry("ApprovalPending", `waiting for ${event.open.map((one) => decisions[one]).join(" and ")}`, {
        agentId: event.agent,
        approve: event.commands.join(" or "),
      });
    case "issued":
      return logEntry("CertificateIssued", "received a certificate", { validUntil: rfc3339(event.expiresAt) });
    case "renewed":
      return logEntry("CredentialRenewed", "renewed the certificate", { validUntil: rfc3339(event.expiresAt) });
    case "planned":
      return logEntry("RenewalScheduled", "scheduled the renewal of the certificate", {
        validUntil: rfc3339(event.expiresAt),
        renewsAt: rfc3339(event.at),
      });
    case "accepted":
      return logEntry(
        "ClusterAccepted",
        `the hub accepted the cluster; the agent updates its lease every ${event.everyMs / 1000} s`,
      );
    case "available":
      return logEntry("ClusterAvailable", "the agent reports the cluster as available");
    case "trusts":
      return logEntry("TrustBundleUpdated", "CA bundle updated from cluster-info", { pins: event.pins });
    case "moved":
      return logEntry("ServerAddressUpdated", "server address updated from cluster-info", { server: event.server });
    default:
      return badLine(event);
  }
}

type Bad = Extract<KlusterletEvent, { readonly message: string }>;

function badLine(event: Bad): LogEntry {
  const { kind, message } = event;
  switch (kind) {
    case "failed": {
      const triedAgainAt = event.at === undefined ? undefined : rfc3339(event.at);
      return logEntry("AttemptFailed", message, { triedAgainAt });
    }
    case "left-to-approver":
      return logEntry("ApprovalPending", `the hub says: ${message}`, {
        level: "warn",
        request: `csr/${event.request}`,
      });
    case "registering-again":
      return logEntry("RegisteringAgain", `${message}; the agent registers again`);
    case "leaving-hub":
      return logEntry("HubLeft", `${message}; the agent looks for another hub`, { server: event.server });
    case "unavailable":
      return logEntry("ClusterUnavailable", message);
    case "withheld":
      return logEntry("StatusWithheld", message);
    case "denied":
      return logEntry("ClusterDenied", message, { level: "error" });
    case "detached":
      return logEntry("ClusterDetached", message);
  }
}
