import { describe, expect, test } from "vitest";
import type { IssuedCredential } from "../../apis/issued-credential.ts";
import type { RecoveryPolicy } from "../../apis/recovery-policy.ts";
import { recoveriesOf, returningStep, type ReturningView } from "./csr-recovering.ts";

const now = Date.UTC(2026, 10, 21);
const apiVersion = "access.pratique.dev/v1alpha1";

const record: IssuedCredential = {
  apiVersion,
  kind: "IssuedCredential",
  metadata: { creationTimestamp: "2025-01-01T00:00:00Z" },
  spec: { identity: { username: "system:node:edge-1", purpose: "Client" } },
  status: { count: 7, lastSeen: "2026-11-01T00:00:00Z" },
};

function policy(name: string, spec: RecoveryPolicy["spec"]): RecoveryPolicy {
  return { apiVersion, kind: "RecoveryPolicy", metadata: { name }, spec };
}

function step(view: Partial<ReturningView> = {}): string {
  const found = returningStep({
    node: "system:node:edge-1",
    credentialStatus: "newest",
    record,
    asking: { notAfter: "2026-11-20T00:00:00Z" },
    policies: [policy("edge", { nodeNames: ["edge-*"] })],
    address: "10.0.0.1",
    recoveries: [],
    now,
    ...view,
  });
  return found.kind === "approve" ? `approve by ${found.policy}` : found.reason;
}

describe("a machine that comes back", () => {
  test.each<[string, Partial<ReturningView>]>([
    ["approve by edge", {}],
    ["approve by edge", { credentialStatus: "superseded" }],
    ["approve by edge", { credentialStatus: "repeated" }],
    ["Cloned", { credentialStatus: "cloned" }],
    ["NoRecord", { credentialStatus: "unknown" }],
    ["NoRecord", { record: undefined }],
    ["NoRecord", { asking: undefined }],
    ["NoPolicy", { policies: [] }],
    ["NoPolicy", { node: "system:node:edge-" }],
    ["NoPolicy", { node: "system:node:other" }],
    ["OutsidePolicy", { asking: {} }],
    ["OutsidePolicy", { asking: { notAfter: "2026-01-01T00:00:00Z" } }],
    ["OutsidePolicy", { recoveries: [now, now, now] }],
    ["approve by any", { policies: [policy("any", { nodeNames: ["*"] })] }],
    [
      "approve by wide",
      {
        policies: [
          policy("wide", { nodeNames: ["edge-1"] }),
          policy("narrow", { nodeNames: ["edge-1"], networks: ["::/0"] }),
        ],
      },
    ],
  ])("is answered: %s", (expected, view) => {
    expect(step(view)).toBe(expected);
  });

  test("is told with its history, and with each policy that does not let it in", () => {
    const policies = [
      policy("b", { nodeNames: ["edge-1"], networks: ["192.0.2.0/24"] }),
      policy("a", { nodeNames: ["*-1"], windowSeconds: 60 }),
    ];
    const found = returningStep({
      node: "system:node:edge-1",
      credentialStatus: "newest",
      record,
      asking: { notAfter: "2026-11-20T00:00:00Z" },
      policies,
      address: "10.0.0.1",
      recoveries: [],
      now,
    });
    expect(found.message).toBe(
      "system:node:edge-1 comes back; RecoveryPolicy a does not approve it automatically: it ended at 2026-11-20T00:00:00Z, which is more than 60s ago; RecoveryPolicy b does not approve it automatically: it comes from 10.0.0.1, which is in none of the allowed networks; known since 2025-01-01T00:00:00Z, 7 issued, last seen 2026-11-01T00:00:00Z",
    );
  });

  test("is counted once for each request, wherever that was noted", () => {
    const times = [
      { request: "csr/a", time: "2026-11-20T00:00:00Z" },
      { request: "csr/b", time: "nonsense" },
    ];
    const known: IssuedCredential = { ...record, status: { recoveries: times } };
    const others = new Map([
      ["csr/a", 1],
      ["csr/c", 2],
    ]);
    expect(recoveriesOf(known, others)).toEqual([Date.UTC(2026, 10, 20), 2]);
    expect(recoveriesOf(undefined, new Map())).toEqual([]);
  });
});
