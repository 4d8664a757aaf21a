import { describe, expect, test } from "vitest";
import type { CredentialIssue } from "../../apis/issued-credential.ts";
import { newRecord, withIssue } from "./credential-record.ts";
import { issueReport } from "./issued-credentials.ts";

const username = "system:node:m1";
const first: CredentialIssue = {
  credentialID: "X509SHA256=aa",
  key: "SHA256:first",
  notBefore: "2026-11-21T00:00:00Z",
  notAfter: "2026-12-21T00:00:00Z",
  requestedBy: "system:bootstrap:abcdef",
  request: "csr/first",
};
const second: CredentialIssue = {
  ...first,
  credentialID: "X509SHA256=bb",
  key: "SHA256:second",
  notBefore: "2026-11-22T00:00:00Z",
  notAfter: "2026-12-22T00:00:00Z",
  request: "csr/second",
};

function reported(next: CredentialIssue): readonly [string, string] {
  const record = withIssue(withIssue(newRecord({ username, purpose: "Client" }), first), next);
  const { reason, message } = issueReport({ kind: "CertificateSigningRequest", name: "r" }, record, next);
  return [reason, message];
}

describe("a further certificate of a node", () => {
  const renewed = ["CredentialRenewed", `client credential of ${username} renewed, valid until 2026-12-22T00:00:00Z`];

  test("for another key, which a token requested while the earlier is valid, is reported as one for a second key", () => {
    expect(reported(second)).toEqual([
      "CertificateIssued",
      `client credential of ${username} issued for a second key, SHA256:second, valid until 2026-12-22T00:00:00Z; the certificate of its earlier key, SHA256:first, is valid until 2026-12-21T00:00:00Z. If no machine is to have that one: pratique revoke csr/first`,
    ]);
  });

  test.each<[string, Partial<CredentialIssue>]>([
    ["that the node requested itself, with a new key", { requestedBy: username }],
    ["of the same key", { key: "SHA256:first" }],
  ])("%s is reported as renewed", (_title, change) => {
    expect(reported({ ...second, ...change })).toEqual(renewed);
  });

  test("after the end of the earlier one is reported as renewed", () => {
    const later = { ...second, notBefore: "2026-12-21T00:00:00Z", notAfter: "2026-12-22T00:00:00Z" };
    expect(reported(later)).toEqual(renewed);
  });
});
