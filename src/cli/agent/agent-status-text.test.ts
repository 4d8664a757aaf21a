import { describe, expect, test } from "vitest";
import type { CredentialStatus } from "../../agent/node/agent-status.ts";
import { agentStatusText } from "./agent-status-text.ts";

const now = Date.UTC(2026, 10, 21);
const agent = { nextAt: now, failures: 0, refused: false };
const serving: CredentialStatus = {
  kind: "serving-certificate",
  path: "/pki/kubelet-server-current.pem",
  good: false,
  problem: "there is none yet",
};

describe("what is to be done about a credential", () => {
  test("is to approve the request of a serving certificate, by the command for it", () => {
    const text = agentStatusText([{ ...serving, agent: { ...agent, request: "node-csr-x" } }], now);
    expect(text).toContain("to do     on the hub: pratique approve csr/node-csr-x\n");
  });

  test("is to run the agent where nobody has asked for one yet", () => {
    expect(agentStatusText([serving], now)).toContain("to do     run pratique agent, which asks for it\n");
  });

  test("is to run the agent where one has ended, which asks to come back", () => {
    const ended = { kind: "client-certificate", path: "/pki/current.pem", good: false, expiresAt: now - 1 } as const;
    expect(agentStatusText([ended], now)).toContain("to do     run pratique agent, which asks to come back; else join");
    const unread = { ...ended, expiresAt: now + 1, problem: "its key is of another certificate" };
    expect(agentStatusText([unread], now)).toContain("to do     join again with pratique join --force\n");
  });

  test("of a certificate that the hub refuses is told for the certificate and for the node, which joining anew does not help", () => {
    const refused = { since: now - 60_000, message: "401 Unauthorized" };
    const revoked = { kind: "client-certificate", path: "/pki/current.pem", good: false, expiresAt: now + 1 } as const;
    for (const status of [
      { ...revoked, refused },
      { ...revoked, hub: { kind: "refused", message: "401 Unauthorized" } as const },
    ]) {
      const text = agentStatusText([status], now);
      expect(text).toContain("to do     see why on the hub (pratique credentials, pratique revocations list); ");
      expect(text).toContain("where only this certificate was revoked, join again with pratique join --force; ");
      expect(text).toContain("where the node was (user system:node:NAME), that revocation must be deleted there first");
    }
  });

  test("is left out of one that waits to come back, whose end is told", () => {
    const expired: CredentialStatus = {
      kind: "client-certificate",
      path: "/pki/kubelet-client-current.pem",
      good: false,
      expiresAt: now - 60_000,
      agent: { ...agent, returning: "a person" },
    };
    const text = agentStatusText([expired], now);
    expect(text).toContain("valid     no more for 60s, since 2026-11-20T23:59:00Z\n");
    expect(text).not.toContain("to do");
  });
});
