import { describe, expect, it } from "vitest";
import type { KlusterletEvent } from "../../agent/klusterlet/klusterlet-event.ts";
import type { LogReason } from "../../apimachinery/reasons.ts";
import { klusterletLine } from "./klusterlet-line.ts";

const at = Date.UTC(2026, 10, 21);

describe("what the agent of a cluster logs", () => {
  it("names what is waited for, the agent id, and what an approver types", () => {
    expect(
      klusterletLine({
        kind: "waiting",
        open: ["certificate", "acceptance"],
        agent: "a1b2c",
        commands: ["pratique cluster accept east --agent-id a1b2c", "kubectl certificate approve east-x"],
      }),
    ).toEqual({
      level: "info",
      reason: "ApprovalPending",
      message: "waiting for the approval of the certificate and the acceptance of the cluster",
      agentId: "a1b2c",
      approve: "pratique cluster accept east --agent-id a1b2c or kubectl certificate approve east-x",
    });
  });

  const events: readonly (readonly [string, LogReason, string, KlusterletEvent])[] = [
    ["info", "AgentStarted", "agent of cluster east", { kind: "started", cluster: "east", agent: "a", place: "/k" }],
    ["info", "HubSelected", "uses the hub https://h", { kind: "hub", server: "https://h", as: "agent" }],
    ["info", "HubSelected", "uses the hub https://h", { kind: "hub", server: "https://h", as: "bootstrap" }],
    ["info", "ClusterCreated", "waits for", { kind: "cluster-created", cluster: "east", server: "https://h" }],
    ["info", "ClusterFound", "exists", { kind: "cluster-found", cluster: "east", server: "https://h" }],
    ["info", "CertificateRequested", "requested", requested(false)],
    ["info", "CertificateRequested", "continues", requested(true)],
    ["info", "CertificateIssued", "received a certificate", { kind: "issued", request: "r", expiresAt: at }],
    ["info", "CredentialRenewed", "renewed", { kind: "renewed", request: "r", expiresAt: at }],
    ["info", "RenewalScheduled", "scheduled", { kind: "planned", at, expiresAt: at }],
    ["info", "ClusterAccepted", "its lease every 60 s", { kind: "accepted", everyMs: 60_000 }],
    ["info", "ClusterAvailable", "available", { kind: "available" }],
    ["info", "TrustBundleUpdated", "CA bundle", { kind: "trusts", pins: ["sha256:x"] }],
    ["info", "ServerAddressUpdated", "server address", { kind: "moved", server: "https://h" }],
    ["warn", "AttemptFailed", "why", { kind: "failed", message: "why", at }],
    ["warn", "ApprovalPending", "the hub says: why", { kind: "left-to-approver", request: "r", message: "why" }],
    ["warn", "RegisteringAgain", "why; the agent registers", { kind: "registering-again", message: "why" }],
    ["warn", "HubLeft", "why; the agent looks", { kind: "leaving-hub", server: "https://h", message: "why" }],
    ["error", "ClusterUnavailable", "why", { kind: "unavailable", message: "why" }],
    ["error", "StatusWithheld", "why", { kind: "withheld", message: "why" }],
    ["error", "ClusterDenied", "why", { kind: "denied", message: "why" }],
    ["error", "ClusterDetached", "why", { kind: "detached", message: "why" }],
  ];

  it.each(events)("is at level %s with the reason %s and says %j", (level, reason, text, event) => {
    const line = klusterletLine(event);
    expect([line.level, line.reason, line.message.includes(text)]).toEqual([level, reason, true]);
  });
});

function requested(found: boolean): KlusterletEvent {
  return { kind: "requested", request: "r", fingerprint: "f", agent: "a", found };
}
