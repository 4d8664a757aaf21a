import { describe, expect, test } from "vitest";
import { memoryApi } from "../../test/kits/memory-api.ts";
import { fakeClock } from "../../test/kits/fake-clock.ts";
import { StatusError } from "../apimachinery/status.ts";
import { credentialRevocations, type CredentialRevocationSpec } from "../apis/credential-revocation.ts";
import { issuedCredentials } from "../apis/issued-credential.ts";
import { knownCertificates } from "./import-revocations.ts";

const fingerprint = "ab".repeat(32);
const certificate = { serialNumber: "0a", issuer: "cd".repeat(32) };
const username = "system:node:n1";
const soon = "2027-01-01T00:00:00Z";

async function isRevoked(
  stored: CredentialRevocationSpec,
  listed: CredentialRevocationSpec,
  forbidden = false,
): Promise<boolean> {
  const api = memoryApi({ clock: fakeClock() });
  const { client } = api;
  const base = { apiVersion: "", kind: "", metadata: { name: "one" } };
  const issued = [{ credentialID: `X509SHA256=${fingerprint}`, ...certificate }];
  await client.create(issuedCredentials, {
    ...base,
    spec: { identity: { username, purpose: "Client" } },
    status: { issued },
  });
  await client.create(credentialRevocations, { ...base, spec: stored });
  if (forbidden) api.failNext("list", issuedCredentials, new StatusError("Forbidden", "no"));
  return (await knownCertificates([{ name: "listed", spec: listed }], client)).isRevoked(listed);
}

describe("a certificate of a list", () => {
  test.each([
    ["by its fingerprint, named by serial number and CA", { fingerprint }, { certificate }, true],
    ["by its id, named by serial number and CA", { credentialID: `X509SHA256=${fingerprint}` }, { certificate }, true],
    ["by serial number and CA, named by its fingerprint", { certificate }, { fingerprint }, true],
    ["by serial number and any CA", { certificate: { serialNumber: "0a" } }, { certificate }, true],
    ["for a shorter time", { fingerprint, expiresAt: soon }, { certificate }, false],
    ["for as long", { fingerprint, expiresAt: soon }, { certificate, expiresAt: soon }, true],
    ["as its user alone, who may be given another", { user: username }, { certificate }, false],
    ["of another CA", { fingerprint }, { certificate: { ...certificate, issuer: "ef".repeat(32) } }, false],
    ["with any CA, which may be several", { fingerprint }, { certificate: { serialNumber: "0a" } }, false],
  ])("that is revoked %s", async (_how, stored, listed, expected) => {
    expect(await isRevoked(stored, listed)).toBe(expected);
  });

  test("is taken for another one where records may not be listed", async () => {
    expect(await isRevoked({ fingerprint }, { certificate }, true)).toBe(false);
  });
});
