import { describe, expect, it, test } from "vitest";
import { rfc3339 } from "../../apimachinery/clock.ts";
import type { IssuedCredential, CredentialIssue } from "../../apis/issued-credential.ts";
import { newRecord, withIssue, findCredentialStatus, type CredentialStatusView } from "./credential-record.ts";

/** A record of certificates by their keys, one issued after the other. */
function recordOf(keys: readonly string[]): IssuedCredential {
  return keys.reduce(
    (record, key, at) => {
      const [notBefore, notAfter] = [rfc3339(at * 1000), rfc3339(1_000_000)];
      return withIssue(record, { credentialID: `c${at}`, key, notBefore, notAfter });
    },
    newRecord({ username: "system:node:a", purpose: "Client" }),
  );
}

const idsOf = ({ status }: IssuedCredential): string =>
  (status?.issued ?? []).map(({ credentialID }) => credentialID).join(" ");

describe("a full record", () => {
  it("forgets the oldest where each has a key of its own", () => {
    const record = recordOf(["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"]);
    expect(idsOf(record)).toBe("c2 c3 c4 c5 c6 c7 c8 c9");
    expect(record.status?.count).toBe(10);
  });

  it("forgets answers to a request that was repeated before any other", () => {
    const record = recordOf(["first", ...Array.from({ length: 20 }, () => "again"), "last"]);
    expect(idsOf(record)).toBe("c0 c1 c16 c17 c18 c19 c20 c21");
    const forgotten = { credentialID: "c7", key: "again", notBefore: rfc3339(7000), notAfter: rfc3339(1_000_000) };
    expect(withIssue(record, forgotten)).toBe(record);
  });
});

const issue = (id: string, key = `key of ${id}`): CredentialIssue => ({ credentialID: id, key });

function credentialStatus(issued: readonly CredentialIssue[], view: Partial<CredentialStatusView>): string {
  const record: IssuedCredential = {
    apiVersion: "access.pratique.dev/v1alpha1",
    kind: "IssuedCredential",
    metadata: {},
    spec: { identity: { username: "system:node:a", purpose: "Client" } },
    status: { issued },
  };
  const none = { ids: [], key: "a new key", isUsed: () => false, isRevoked: () => false };
  return findCredentialStatus({ record, ...none, ...view }).credentialStatus;
}

const three = [issue("one"), issue("two"), issue("three")];
const used =
  (...ids: readonly string[]) =>
  ({ credentialID = "" }: CredentialIssue): boolean =>
    ids.includes(credentialID);

describe("the credential with which somebody asks for the next one", () => {
  test.each([
    ["unknown", { ids: [] }],
    ["unknown", { ids: ["four"] }],
    ["unknown", { ids: [""] }],
    ["newest", { ids: ["three"], isUsed: used("one", "two", "three") }],
    ["superseded", { ids: ["two"], isUsed: used("one", "two") }],
    ["superseded", { ids: ["one"], isUsed: used("one") }],
    ["cloned", { ids: ["two"], isUsed: used("three") }],
    ["cloned", { ids: ["one"], isUsed: used("two") }],
    ["repeated", { ids: ["two"], key: "key of three", isUsed: used("three") }],
    ["repeated", { ids: ["one"], key: "key of three", isUsed: used("two", "three") }],
    ["cloned", { ids: ["two"], key: "key of two", isUsed: used("three") }],
    ["newest", { ids: ["two"], isUsed: used("three"), isRevoked: used("three") }],
    ["cloned", { ids: ["one"], isUsed: used("two", "three"), isRevoked: used("three") }],
  ] as const)("is %s, for %o", (expected, view) => {
    expect(credentialStatus(three, view)).toBe(expected);
  });

  test("is unknown where there is no record, and where records hold no ids", () => {
    expect(credentialStatus([], { ids: ["one"] })).toBe("unknown");
    expect(credentialStatus([{}, {}], { ids: [""] })).toBe("unknown");
    expect(
      findCredentialStatus({ record: undefined, ids: ["one"], key: "", isUsed: () => true, isRevoked: () => false }),
    ).toEqual({ credentialStatus: "unknown", asking: undefined, later: [] });
  });
});
