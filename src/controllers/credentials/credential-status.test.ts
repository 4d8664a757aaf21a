import { describe, expect, test } from "vitest";
import type { CredentialIssue, IssuedCredential } from "../../apis/issued-credential.ts";
import { findCredentialStatus, type CredentialStatusView } from "./credential-status.ts";

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
