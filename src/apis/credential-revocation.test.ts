import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ApiObject } from "../apimachinery/object.ts";
import { credentialRevocations, revokedText } from "./credential-revocation.ts";
import { revocationIndex, type Credential } from "./revocation-index.ts";

const fingerprint = "0f".repeat(32);

function revocation(spec: object, name = "r"): ApiObject {
  return { apiVersion: "access.pratique.dev/v1alpha1", kind: "CredentialRevocation", metadata: { name }, spec };
}

function problems(spec: object): readonly string[] {
  return (credentialRevocations.validate?.(revocation(spec)) ?? []).map(({ path }) => path);
}

describe("a revocation", () => {
  test("names further certificates to revoke when it is created alone; an update may only remove them", () => {
    const withPending = (pending?: string): ApiObject => {
      const one = revocation({ fingerprint });
      const annotations = pending === undefined ? {} : { "access.pratique.dev/clone-lock-pending": pending };
      return { ...one, metadata: { ...one.metadata, annotations } };
    };
    const updated = (next: ApiObject, stored: ApiObject): number | undefined =>
      credentialRevocations.validateUpdate?.(next, stored).length;
    expect(updated(withPending("a"), withPending())).toBe(1);
    expect(updated(withPending("a,b"), withPending("a"))).toBe(1);
    expect(updated(withPending("a"), withPending("a"))).toBe(0);
    expect(updated(withPending(), withPending("a"))).toBe(0);
  });

  test.each([
    { user: "system:node:a" },
    { fingerprint },
    { certificate: { serialNumber: "0a" } },
    { certificate: { serialNumber: "ff".repeat(20), issuer: fingerprint } },
    { credentialID: "JTI=a" },
    { credentialID: `X509SHA256=${fingerprint}` },
    { bootstrapTokenID: "abc123" },
    { secret: { namespace: "default", name: "a.b" } },
  ])("names exactly one target: %j", (spec) => {
    expect(problems(spec)).toEqual([]);
    expect(problems({ ...spec, reason: "lost" })).toEqual([]);
    expect(problems({ ...spec, user: "x", fingerprint })).toHaveLength(1);
    expect(revokedText(revocation(spec))).not.toContain("<");
  });

  test.each([
    [{}, "spec"],
    [{ reason: "none" }, "spec"],
    [{ user: "" }, "spec.user"],
    [{ user: "system:anonymous" }, "spec.user"],
    [{ user: "u".repeat(1025) }, "spec.user"],
    [{ fingerprint: fingerprint.toUpperCase() }, "spec.fingerprint"],
    [{ fingerprint: fingerprint.slice(2) }, "spec.fingerprint"],
    [{ certificate: { serialNumber: "0A" } }, "spec.certificate.serialNumber"],
    [{ certificate: { serialNumber: "a" } }, "spec.certificate.serialNumber"],
    [{ certificate: { serialNumber: "000a" } }, "spec.certificate.serialNumber"],
    [{ certificate: { serialNumber: "0a", issuer: "x" } }, "spec.certificate.issuer"],
    [{ credentialID: "2f0e" }, "spec.credentialID"],
    [{ credentialID: "JTI=" }, "spec.credentialID"],
    [{ credentialID: "X509SHA256=0f" }, "spec.credentialID"],
    [{ bootstrapTokenID: "abcdef.0123456789abcdef" }, "spec.bootstrapTokenID"],
    [{ secret: { namespace: "Default", name: "a" } }, "spec.secret.namespace"],
    [{ user: "a", reason: "r".repeat(1025) }, "spec.reason"],
  ])("is refused: %j", (spec, field) => {
    expect(problems(spec)).toContain(field);
  });

  test("keeps its target and may change its end and reason", () => {
    const { validateUpdate } = credentialRevocations;
    const stored = revocation({ user: "a", reason: "x" });
    expect(validateUpdate?.(revocation({ user: "a", expiresAt: "2099-01-01T00:00:00Z" }), stored)).toEqual([]);
    expect(validateUpdate?.(revocation({ user: "b", reason: "x" }), stored)).toHaveLength(1);
    expect(validateUpdate?.(revocation({ fingerprint }), stored)).toHaveLength(1);
  });
});

const certificate: Credential = {
  username: "ann",
  ids: [`X509SHA256=${fingerprint}`],
  serialNumber: "0a",
  issuer: "11".repeat(32),
};

describe("the index of revocations", () => {
  const found = (spec: object, credential: Credential, now = 0): boolean => {
    const index = revocationIndex();
    index.put(revocation(spec));
    return index.find(credential, now) !== undefined;
  };

  test("finds a certificate by user, fingerprint, serial number with or without issuer", () => {
    expect(found({ user: "ann" }, certificate)).toBe(true);
    expect(found({ fingerprint }, certificate)).toBe(true);
    expect(found({ credentialID: `X509SHA256=${fingerprint}` }, certificate)).toBe(true);
    expect(found({ certificate: { serialNumber: "0a" } }, certificate)).toBe(true);
    expect(found({ certificate: { serialNumber: "0a", issuer: "11".repeat(32) } }, certificate)).toBe(true);
    expect(found({ certificate: { serialNumber: "0a", issuer: "22".repeat(32) } }, certificate)).toBe(false);
    expect(found({ certificate: { serialNumber: "0b" } }, certificate)).toBe(false);
    // A serial number says nothing of who has none.
    expect(found({ certificate: { serialNumber: "0a" } }, { username: "ann", ids: [] })).toBe(false);
  });

  test("finds tokens by id, bootstrap id and Secret", () => {
    const token: Credential = { username: "system:serviceaccount:a:b", ids: ["JTI=x"], secret: "a/s" };
    expect(found({ credentialID: "JTI=x" }, token)).toBe(true);
    expect(found({ secret: { namespace: "a", name: "s" } }, token)).toBe(true);
    expect(found({ secret: { namespace: "a", name: "t" } }, token)).toBe(false);
    expect(found({ bootstrapTokenID: "abcdef" }, { username: "system:bootstrap:abcdef", ids: [] })).toBe(true);
  });

  test("holds until its end, and for ever where the end cannot be read", () => {
    const expiresAt = "2026-11-21T00:00:00Z";
    const end = Date.parse(expiresAt);
    expect(found({ user: "ann", expiresAt }, certificate, end - 1)).toBe(true);
    expect(found({ user: "ann", expiresAt }, certificate, end)).toBe(false);
    expect(found({ user: "ann", expiresAt: "soon" }, certificate, end)).toBe(true);
  });

  test("counts each target where no server has checked that there is one only", () => {
    const spec = { user: "ben", fingerprint };
    expect(found(spec, { username: "ben", ids: [] })).toBe(true);
    expect(found(spec, certificate)).toBe(true);
  });

  test("forgets what is removed or replaced, and nothing else", () => {
    fc.assert(
      fc.property(
        fc.array(fc.record({ name: fc.nat(5), user: fc.nat(3), gone: fc.boolean() }), { maxLength: 40 }),
        (steps) => {
          const index = revocationIndex();
          const model = new Map<number, number>();
          for (const { name, user, gone } of steps) {
            if (gone) {
              index.remove(`r${name}`);
              model.delete(name);
            } else {
              index.put(revocation({ user: `u${user}` }, `r${name}`));
              model.set(name, user);
            }
          }
          expect(index.size()).toBe(model.size);
          for (const user of [0, 1, 2, 3]) {
            const isFound = index.find({ username: `u${user}`, ids: [] }, 0) !== undefined;
            expect(isFound).toBe([...model.values()].includes(user));
          }
        },
      ),
      { numRuns: 100 },
    );
  });
});
