import { describe, expect, it } from "vitest";
import type { KlusterletEvent } from "../../agent/klusterlet/klusterlet-event.ts";
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
      onTheHub: "pratique cluster accept east --agent-id a1b2c  or  kubectl certificate approve east-x",
    });
  });

  const events: readonly (readonly [string, string, KlusterletEvent])[] = [
    ["info", "the agent of cluster east", { kind: "started", cluster: "east", agent: "a", place: "/k" }],
    ["info", "works with the hub https://h", { kind: "hub", server: "https://h", as: "agent" }],
    ["info", "works with the hub https://h", { kind: "hub", server: "https://h", as: "bootstrap" }],
    ["info", "waits to be accepted", { kind: "cluster-created", cluster: "east", server: "https://h" }],
    ["info", "is there already", { kind: "cluster-found", cluster: "east", server: "https://h" }],
    ["info", "asked for", { kind: "requested", request: "r", fingerprint: "f", agent: "a", found: false }],
    ["info", "goes on", { kind: "requested", request: "r", fingerprint: "f", agent: "a", found: true }],
    ["info", "got a certificate", { kind: "issued", request: "r", expiresAt: at }],
    ["info", "renewed", { kind: "renewed", request: "r", expiresAt: at }],
    ["info", "is kept", { kind: "planned", at, expiresAt: at }],
    ["info", "a heartbeat each 60 s", { kind: "accepted", everyMs: 60_000 }],
    ["info", "available", { kind: "available" }],
    ["info", "other CAs", { kind: "trusts", pins: ["sha256:x"] }],
    ["info", "another address", { kind: "moved", server: "https://h" }],
    ["warn", "why", { kind: "failed", message: "why", at }],
    ["warn", "why; registers again", { kind: "registering-again", message: "why" }],
    ["warn", "why; looks for another hub", { kind: "leaving-hub", server: "https://h", message: "why" }],
    ["error", "why", { kind: "unavailable", message: "why" }],
    ["error", "why", { kind: "withheld", message: "why" }],
    ["error", "why", { kind: "denied", message: "why" }],
    ["error", "why", { kind: "detached", message: "why" }],
  ];

  it.each(events)("is at level %s and says %j", (level, text, event) => {
    const line = klusterletLine(event);
    expect([line.level, line.message.includes(text)]).toEqual([level, true]);
  });
});
