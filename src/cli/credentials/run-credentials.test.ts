import { describe, expect, test } from "vitest";
import { memoryApi } from "../../../test/kits/memory-api.ts";
import { fakeClock } from "../../../test/kits/fake-clock.ts";
import { fakeIo, kubeconfigText, runLine } from "../../../test/kits/fake-io.ts";
import { credentialRevocations } from "../../apis/credential-revocation.ts";
import { issuedCredentials, type CredentialIssue } from "../../apis/issued-credential.ts";

const username = "system:node:web-1";
const notAfter = "2027-11-21T00:00:00Z";
const issue = (digit: string, more: CredentialIssue = {}): CredentialIssue => ({
  credentialID: `X509SHA256=${digit.repeat(64)}`,
  key: `SHA256:key-${digit}`,
  notBefore: "2026-11-20T00:00:00Z",
  notAfter,
  requestedBy: "system:bootstrap:abcdef",
  request: `csr/request-${digit}`,
  ...more,
});

interface Shown {
  readonly out: string;
  readonly json: unknown;
}

async function shown(issued: readonly CredentialIssue[], revoked: readonly string[] = []): Promise<Shown> {
  const clock = fakeClock(Date.UTC(2026, 10, 21));
  const { client } = memoryApi({ clock });
  const base = { apiVersion: "", kind: "" };
  const spec = { identity: { username, purpose: "Client" } };
  const status = { issued, count: issued.length };
  await client.create(issuedCredentials, { ...base, metadata: { name: "web-1" }, spec, status });
  for (const fingerprint of revoked) {
    await client.create(credentialRevocations, { ...base, metadata: { name: "r" }, spec: { fingerprint } });
  }
  const io = fakeIo({ clock, client, files: { "/home/ada/.kube/config": kubeconfigText() } });
  expect(await runLine("credentials", io)).toBe(0);
  const out = io.out();
  expect(await runLine("credentials -o json", io)).toBe(0);
  return { out, json: JSON.parse(io.out().slice(out.length)) as unknown };
}

describe("pratique credentials of a node", () => {
  test("marks two valid certificates of different keys, names both, and says how to revoke one", async () => {
    const { out, json } = await shown([issue("a"), issue("b")]);
    expect(out).toMatch(/^! +system:node:web-1 .* 2 \(2 KEYS VALID\)$/m);
    const note = out.split("\n").find((line) => line.startsWith("! system:node:web-1: two client certificates"));
    for (const digit of ["a", "b"]) {
      expect(note).toContain(`SHA256:key-${digit} (csr/request-${digit}, requested by system:bootstrap:abcdef`);
      expect(note).toContain(`pratique revoke --fingerprint ${digit.repeat(64)}`);
    }
    expect(json).toMatchObject([{ validKeys: ["SHA256:key-a", "SHA256:key-b"] }]);
  });

  test.each([
    ["a renewal", [issue("a"), issue("b", { requestedBy: username })], []],
    ["a return", [issue("a"), issue("b", { requestedBy: `pratique:returning:${username}` })], []],
    ["the same key", [issue("a"), issue("b", { key: "SHA256:key-a" })], []],
    ["an earlier one that has ended", [issue("a", { notAfter: "2026-11-20T12:00:00Z" }), issue("b")], []],
    ["one that is revoked", [issue("a"), issue("b")], ["a".repeat(64)]],
    ["the other one revoked", [issue("a"), issue("b")], ["b".repeat(64)]],
  ])("does not mark %s", async (_what, issued, revoked) => {
    const { out, json } = await shown(issued, revoked);
    expect(out).not.toContain("KEYS VALID");
    expect(out).not.toContain("two client certificates");
    expect(json).not.toMatchObject([{ validKeys: expect.anything() as unknown }]);
  });

  test("marks a second key although the machine with the first one renewed since", async () => {
    const { out } = await shown([issue("a"), issue("b"), issue("c", { requestedBy: username })]);
    expect(out).toContain("(2 KEYS VALID)");
  });
});
