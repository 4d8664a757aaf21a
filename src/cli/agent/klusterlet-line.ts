import type { KlusterletEvent } from "../../agent/klusterlet/klusterlet-event.ts";
import { rfc3339 } from "../../apimachinery/clock.ts";
import { logEntry, type LogEntry } from "../../apimachinery/log-entry.ts";

const decisions = {
  certificate: "the approval of the certificate",
  acceptance: "the acceptance of the cluster",
} as const;

const lines: { readonly [E in KlusterletEvent as E["kind"]]: (event: E) => LogEntry } = {
  started: ({ cluster, agent: agentId, place: keptIn }) =>
    logEntry("AgentStarted", `started the agent of cluster ${cluster}`, { agentId, keptIn }),
  hub: ({ server, as }) =>
    logEntry("HubSelected", `uses the hub ${server}`, {
      as: as === "bootstrap" ? "the bootstrap identity" : "this cluster",
    }),
  "cluster-created": ({ cluster }) =>
    logEntry("ClusterCreated", `created the ManagedCluster ${cluster}, which waits for acceptance`),
  "cluster-found": ({ cluster }) => logEntry("ClusterFound", `the ManagedCluster ${cluster} exists`),
  requested: ({ found, request, agent: agentId, fingerprint: key }) => {
    const what = found ? "continues with an earlier request for a certificate" : "requested a certificate";
    return logEntry("CertificateRequested", what, { request: `csr/${request}`, agentId, key });
  },
  waiting: ({ open, agent: agentId, commands }) =>
    logEntry("ApprovalPending", `waiting for ${open.map((one) => decisions[one]).join(" and ")}`, {
      agentId,
      approve: commands.join(" or "),
    }),
  issued: ({ expiresAt }) =>
    logEntry("CertificateIssued", "received a certificate", { validUntil: rfc3339(expiresAt) }),
  renewed: ({ expiresAt }) =>
    logEntry("CredentialRenewed", "renewed the certificate", { validUntil: rfc3339(expiresAt) }),
  planned: ({ expiresAt, at }) =>
    logEntry("RenewalScheduled", "scheduled the renewal of the certificate", {
      validUntil: rfc3339(expiresAt),
      renewsAt: rfc3339(at),
    }),
  accepted: ({ everyMs }) =>
    logEntry("ClusterAccepted", `the hub accepted the cluster; the agent updates its lease every ${everyMs / 1000} s`),
  available: () => logEntry("ClusterAvailable", "the agent reports the cluster as available"),
  trusts: ({ pins }) => logEntry("TrustBundleUpdated", "CA bundle updated from cluster-info", { pins }),
  moved: ({ server }) => logEntry("ServerAddressUpdated", "server address updated from cluster-info", { server }),
  failed: ({ message, at }) =>
    logEntry("AttemptFailed", message, { triedAgainAt: at === undefined ? undefined : rfc3339(at) }),
  "left-to-approver": ({ message, request }) =>
    logEntry("ApprovalPending", `the hub says: ${message}`, { level: "warn", request: `csr/${request}` }),
  "registering-again": ({ message }) => logEntry("RegisteringAgain", `${message}; the agent registers again`),
  "leaving-hub": ({ message, server }) =>
    logEntry("HubLeft", `${message}; the agent looks for another hub`, { server }),
  unavailable: ({ message }) => logEntry("ClusterUnavailable", message),
  withheld: ({ message }) => logEntry("StatusWithheld", message),
  denied: ({ message }) => logEntry("ClusterDenied", message, { level: "error" }),
  detached: ({ message }) => logEntry("ClusterDetached", message),
};

/** The log line of an event. */
export function klusterletLine(event: KlusterletEvent): LogEntry {
  const all: Readonly<Record<KlusterletEvent["kind"], (event: never) => LogEntry>> = lines;
  return (all[event.kind] as (event: KlusterletEvent) => LogEntry)(event);
}
