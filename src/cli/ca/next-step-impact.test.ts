import { createHash, randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { changeAuthorities, openAuthorities, readAuthorities, type Authorities } from "../../ca/ca-folder.ts";
import type { AccessRequest } from "../../apis/access-request.ts";
import { accessGrants, type AccessGrants } from "../../apis/credential-state.ts";
import type { CredentialRevocationSpec } from "../../apis/credential-revocation.ts";
import type { CredentialIssue, IssuedCredential } from "../../apis/issued-credential.ts";
import { revocationIndex, type RevocationIndex } from "../../apis/revocation-index.ts";
import { impactsOf } from "./next-step-impact.ts";

const now = Date.parse("2026-01-01T00:00:00Z");
let dir: string;
let authorities: Authorities;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "pratique-fates-"));
  const random = (size: number): Uint8Array => randomBytes(size);
  await openAuthorities({ dir, certFile: undefined, keyFile: undefined, now, random });
  await changeAuthorities(dir, "prepare", { now, random });
  const { after } = await changeAuthorities(dir, "activate", { now, random });
  authorities = await readAuthorities(dir, after, undefined);
});

afterAll(() => rm(dir, { recursive: true, force: true }));

function recordOf(username: string, issued: readonly CredentialIssue[]): IssuedCredential {
  const identity = { username, purpose: "Client" } as const;
  return { apiVersion: "", kind: "", metadata: { name: username }, spec: { identity }, status: { issued } };
}

function revoked(...specs: readonly CredentialRevocationSpec[]): RevocationIndex {
  const index = revocationIndex();
  for (const [place, spec] of specs.entries()) {
    index.put({ apiVersion: "", kind: "", metadata: { name: `r${place}` }, spec });
  }
  return index;
}

const end = "2026-06-01T00:00:00Z";
const [one, two] = ["a", "b"].map((digit) => digit.repeat(64)) as [string, string];
const issue = (hex: string, more: CredentialIssue = {}): CredentialIssue => ({
  credentialID: `X509SHA256=${hex}`,
  issuer: "of the CA before",
  notAfter: end,
  ...more,
});

function left(records: readonly IssuedCredential[], index: RevocationIndex, grants?: AccessGrants): readonly string[] {
  const check = { pin: authorities.signer.pin, shown: new Map<string, number>() };
  return impactsOf(records, { authorities, check, revoked: index, grants, now })
    .filter(({ leftBehind }) => leftBehind.length > 0)
    .map(({ username }) => username);
}

describe("who would be left behind by a change of the CA", () => {
  it("is no holder of access whose request was revoked or deleted", () => {
    const granted = { namespace: "vms", serviceAccount: "vm" };
    const username = "system:serviceaccount:vms:vm";
    const record: IssuedCredential = {
      ...recordOf(username, [{ notAfter: end, request: "accessrequest/vm" }]),
      spec: { identity: { username, purpose: "Access" } },
    };
    const request = (status: AccessRequest["status"]): AccessRequest =>
      ({ apiVersion: "", kind: "", metadata: { name: "vm" }, spec: { pubKey: "" }, status }) as AccessRequest;
    const grants = (...requests: readonly AccessRequest[]): AccessGrants => accessGrants(requests);
    expect(left([record], revoked(), grants(request({ accepted: true, grant: granted })))).toEqual([username]);
    expect(left([record], revoked(), grants(request({ accepted: true, revoked: true, grant: granted })))).toEqual([]);
    expect(left([record], revoked(), grants(request({})))).toEqual([]);
    expect(left([record], revoked(), grants())).toEqual([]);
    // Where requests may not be listed, nothing is known to have ended.
    expect(left([record], revoked())).toEqual([username]);
  });

  it("is who holds a certificate of the previous CA", () => {
    expect(left([recordOf("system:node:n1", [issue(one)])], revoked())).toEqual(["system:node:n1"]);
  });

  it("is nobody who is revoked for as long as the certificate lasts", () => {
    const records = [recordOf("system:node:n1", [issue(one)])];
    expect(left(records, revoked({ user: "system:node:n1" }))).toEqual([]);
    expect(left(records, revoked({ fingerprint: one }))).toEqual([]);
    expect(left(records, revoked({ user: "system:node:n1", expiresAt: "2027-01-01T00:00:00Z" }))).toEqual([]);
  });

  it("is whose revocation ends before the certificate does", () => {
    const index = revoked({ user: "system:node:n1", expiresAt: "2026-02-01T00:00:00Z" });
    expect(left([recordOf("system:node:n1", [issue(one)])], index)).toEqual(["system:node:n1"]);
  });

  it("is who holds an earlier certificate that is not revoked", () => {
    const own = createHash("sha256").update(authorities.signer.rawSubject).digest("hex");
    const records = [recordOf("system:node:n1", [issue(one), issue(two, { issuer: own })])];
    expect(left(records, revoked({ fingerprint: two }))).toEqual(["system:node:n1"]);
    expect(left(records, revoked({ fingerprint: one }, { fingerprint: two }))).toEqual([]);
  });
});
