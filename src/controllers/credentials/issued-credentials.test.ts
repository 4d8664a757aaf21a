import { generateKeyPairSync, randomBytes } from "node:crypto";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { rfc3339 } from "../../apimachinery/clock.ts";
import type { ApiObject } from "../../apimachinery/object.ts";
import { createCa } from "../../pki/ca.ts";
import { issueCertificate } from "../../pki/certificate.ts";
import { buildName } from "../../pki/names.ts";
import { spkiOf } from "../../pki/keys.ts";
import { sshPublicKeyOf } from "../../pki/ssh-public-key.ts";
import { dnsSubdomainProblems } from "../../apimachinery/names.ts";
import { accessRequests } from "../../apis/access-request.ts";
import { credentialRevocations } from "../../apis/credential-revocation.ts";
import { credentialState } from "../../apis/credential-state.ts";
import { issuedCredentials, type CredentialIssue, type IssuedCredential } from "../../apis/issued-credential.ts";
import { controllerBench, type ControllerBench } from "../../../test/kits/controller-bench.ts";
import { newAccessKey } from "../../../test/kits/access-object.ts";
import { csrObject } from "../../../test/kits/csr-object.ts";
import { settled } from "../../../test/kits/fake-clock.ts";
import { newRecord, recordName, withIssue } from "./credential-record.ts";
import { issuedCredentialController, credentialRecorders } from "./issued-credentials.ts";
import { certificateSigningRequests as csrs, events } from "../kinds.ts";
import { revocationCleaner } from "./revocation-cleaner.ts";

const hour = 3_600_000;
const key = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;

interface Scene extends ControllerBench {
  readonly seen: Map<string, number>;
  readonly tokens: Map<string, CredentialIssue>;
  /** Stores a request that was answered with a certificate that holds for `hours` from now. */
  readonly issue: (name: string, hours: number, usage?: string) => Promise<void>;
  readonly record: (name: string) => IssuedCredential;
}

async function scene(): Promise<Scene> {
  const bench = controllerBench();
  const { clock, informers, api } = bench;
  const ca = createCa({ commonName: "ca", key, now: clock.now(), years: 3, random: randomBytes });
  const seen = new Map<string, number>();
  const tokens = new Map<string, CredentialIssue>();
  const use = {
    lastSeen: (username: string) => seen.get(username),
    firstUsed: () => undefined,
    lastToken: (username: string) => tokens.get(username),
  };
  await bench.start(
    ...credentialRecorders({ informers, clock, use }),
    issuedCredentialController({ informers, clock, use }),
    revocationCleaner({ informers, clock, certificatesEnd: ca.notAfter }),
  );
  return {
    ...bench,
    seen,
    tokens,
    issue: async (name, hours, usage = "client auth") => {
      const { pem } = issueCertificate({
        issuer: ca,
        rawSubject: buildName({ commonName: "system:node:one", organizations: ["system:nodes"] }),
        spki: spkiOf(key),
        usages: [usage],
        notBefore: clock.now(),
        notAfter: clock.now() + hours * hour,
        serial: randomBytes(16),
      });
      const conditions = [{ type: "Approved", status: "True", reason: "KubectlApprove", message: "" }];
      const object = csrObject({ name });
      await api.given(csrs, {
        ...object,
        metadata: { ...object.metadata, annotations: { "pratique.dev/decided-by": "ann" } },
        status: { conditions, certificate: Buffer.from(pem).toString("base64") },
      });
      await settled();
    },
    record: (name) => {
      const found = api.all(issuedCredentials).find((one) => one.metadata.name === name);
      if (found === undefined) throw new TypeError(`there is no record ${name}`);
      return found as IssuedCredential;
    },
  };
}

describe("the record of an identity", () => {
  test("tells who asked, who approved, and until when; once for each certificate", async () => {
    const { issue, record, client, clock, stop } = await scene();
    await issue("a", 24);
    const { spec, status } = record("client.node.one");
    expect(spec.identity).toEqual({ username: "system:node:one", purpose: "Client" });
    expect(status).toMatchObject({
      count: 1,
      issued: [
        {
          requestedBy: "system:bootstrap:abcdef",
          approvedBy: "ann",
          request: "csr/a",
          notAfter: rfc3339(clock.now() + 24 * hour),
        },
      ],
    });
    const object = await client.get<ApiObject>(csrs, { name: "a" });
    await client.update(csrs, { ...object, metadata: { ...object.metadata, labels: { a: "b" } } });
    await settled();
    expect(record("client.node.one").status?.count).toBe(1);
    await issue("b", 48);
    expect(record("client.node.one").status).toMatchObject({
      count: 2,
      issued: [{ request: "csr/a" }, { request: "csr/b" }],
    });
    await issue("c", 24, "server auth");
    expect(record("serving.node.one").status?.count).toBe(1);
    await stop();
  });

  test("tells of the tokens of a machine that came in by an access request", async () => {
    const { api, record, tokens, seen, clock, stop } = await scene();
    const user = "system:serviceaccount:vms:vm-1";
    const time = rfc3339(clock.now());
    await api.given(accessRequests, {
      apiVersion: "access.pratique.dev/v1alpha1",
      kind: "AccessRequest",
      metadata: { name: "vm-1" },
      spec: { pubKey: sshPublicKeyOf(newAccessKey(), "vm").text },
      status: {
        ready: true,
        expiresAt: rfc3339(clock.now() + hour),
        grant: { namespace: "vms", serviceAccount: "vm-1" },
        decisions: [{ user: "ada", time, verdict: "Approved" }],
        conditions: [{ type: "Issued", status: "True", reason: "Issued", message: "", lastTransitionTime: time }],
        evidence: { requester: "system:anonymous" },
      },
    });
    await settled();
    const first = { approvedBy: "ada", requestedBy: "system:anonymous", request: "accessrequest/vm-1" };
    expect(record("access.account.vms.vm-1").status).toMatchObject({ count: 1, issued: [first] });
    // The first token itself, which is known by now.
    tokens.set(user, { credentialID: "JTI=1", notBefore: time, notAfter: rfc3339(clock.now() + hour) });
    await clock.advance(60_000);
    expect(record("access.account.vms.vm-1").status).toMatchObject({
      count: 1,
      issued: [{ ...first, credentialID: "JTI=1" }],
    });
    tokens.set(user, { credentialID: "JTI=2", notBefore: time, notAfter: rfc3339(clock.now() + 2 * hour) });
    seen.set(user, clock.now());
    await clock.advance(60_000);
    expect(record("access.account.vms.vm-1").status).toMatchObject({
      count: 2,
      issued: [first, { credentialID: "JTI=2" }],
    });
    await stop();
  });

  test("is written at most every ten minutes for being seen, and warns once when a renewal did not come and once when it has expired", async () => {
    const { issue, record, seen, clock, api, stop } = await scene();
    await issue("a", 1000);
    const warnings = (): readonly ApiObject[] => api.all(events).filter(({ type }) => type === "Warning");
    const name = "client.node.one";
    seen.set("system:node:one", clock.now());
    await clock.advance(30_000);
    expect(record(name).status?.lastSeen).toBeDefined();
    const before = api.writes.length;
    for (let minute = 0; minute < 60; minute += 1) {
      seen.set("system:node:one", clock.now());
      await clock.advance(60_000);
    }
    expect(api.writes.length - before).toBeLessThanOrEqual(7);
    expect(warnings()).toEqual([]);
    await clock.advance(900 * hour);
    expect(warnings()).toMatchObject([
      { reason: "CredentialUnseen", type: "Warning", involvedObject: { kind: "IssuedCredential", name } },
    ]);
    expect(JSON.stringify(warnings())).toContain("not seen within its renewal window");
    expect(credentialState(record(name), clock.now())).toBe("missing");
    await clock.advance(100 * hour);
    expect(warnings().map(({ reason }) => reason)).toEqual(
      expect.arrayContaining(["CredentialUnseen", "CredentialExpired"]),
    );
    await clock.advance(100 * hour);
    expect(warnings().map(({ count }) => count)).toEqual([1, 1]);
    expect(credentialState(record(name), clock.now())).toBe("expired");
    await stop();
  });

  test("of access whose request was deleted warns of nothing", async () => {
    const { api, client, clock, record, stop } = await scene();
    const time = rfc3339(clock.now());
    const request = (name: string): ApiObject => ({
      apiVersion: "access.pratique.dev/v1alpha1",
      kind: "AccessRequest",
      metadata: { name },
      spec: { pubKey: sshPublicKeyOf(newAccessKey(), "vm").text },
      status: {
        ready: true,
        accepted: true,
        expiresAt: rfc3339(clock.now() + 100 * hour),
        grant: { namespace: "vms", serviceAccount: name },
        conditions: [{ type: "Issued", status: "True", reason: "Issued", message: "", lastTransitionTime: time }],
      },
    });
    for (const name of ["kept", "gone"]) await api.given(accessRequests, request(name));
    await settled();
    expect(record("access.account.vms.gone").status).toMatchObject({ count: 1 });
    await client.delete(accessRequests, { name: "gone" });
    await settled();
    await clock.advance(95 * hour);
    const warnings = api.all(events).filter(({ type }) => type === "Warning");
    expect(warnings).toMatchObject([
      { reason: "CredentialUnseen", involvedObject: { name: "access.account.vms.kept" } },
    ]);
    await stop();
  });

  test("remembers eight, counts all, and is the same whatever is told twice or too late", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(30), { maxLength: 40 }), (ends) => {
        let record = newRecord({ username: "a", purpose: "Client" });
        for (const end of ends) {
          const issue = { credentialID: `X509SHA256=${end}`, notAfter: rfc3339(end * hour) };
          record = withIssue(record, issue);
          expect(withIssue(record, issue)).toBe(record);
        }
        const { issued = [], count = 0 } = record.status ?? {};
        expect(issued.length).toBe(Math.min(8, new Set(ends).size));
        expect(count).toBeGreaterThanOrEqual(issued.length);
        const times = issued.map(({ notAfter = "" }) => Date.parse(notAfter));
        expect(times).toEqual(times.toSorted((one, other) => one - other));
        expect(times.at(-1) ?? 0).toBe(Math.max(0, ...ends) * hour);
      }),
      { numRuns: 100 },
    );
  });

  test("has a name that an object can have, whatever the user is called, and one for each identity", () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (one, other) => {
        const name = recordName({ username: one, purpose: "Client" });
        expect(dnsSubdomainProblems(name)).toEqual([]);
        fc.pre(one !== other);
        expect(recordName({ username: other, purpose: "Client" })).not.toBe(name);
        expect(recordName({ username: one, purpose: "Serving" })).not.toBe(name);
      }),
      { numRuns: 100 },
    );
    expect(recordName({ username: "system:node:N_1", purpose: "Client" })).toMatch(/^client\.user\.[0-9a-f]{32}$/);
    // No user can take the place of another's record.
    expect(recordName({ username: "node.one", purpose: "Client" })).not.toBe("client.node.one");
  });
});

describe("how a credential stands", () => {
  const record = (lastSeen?: number, purpose: "Client" | "Serving" = "Client"): IssuedCredential => ({
    ...newRecord({ username: "a", purpose }),
    status: {
      issued: [{ notBefore: rfc3339(0), notAfter: rfc3339(1000 * hour) }],
      ...(lastSeen === undefined ? {} : { lastSeen: rfc3339(lastSeen * hour) }),
    },
  });

  test.each([
    [record(), 699, "active"],
    [record(), 700, "renewing"],
    [record(), 900, "missing"],
    [record(699), 900, "missing"],
    [record(700), 900, "late"],
    [record(950), 999, "late"],
    [record(undefined, "Serving"), 900, "late"],
    [record(999), 1000, "expired"],
    [newRecord({ username: "a", purpose: "Client" }), 1, "unknown"],
  ] as const)("%#: is what its times say", (one, hours, state) => {
    expect(credentialState(one, hours * hour)).toBe(state);
  });
});

describe("a revocation", () => {
  test("goes when it has ended, or when no CA could vouch for its certificate any more; of users it stays", async () => {
    const { client, api, clock, stop } = await scene();
    const specs = {
      ended: { user: "a", expiresAt: rfc3339(clock.now() + hour) },
      certificate: { fingerprint: "ab".repeat(32) },
      user: { user: "b" },
      token: { credentialID: "JTI=x" },
    };
    for (const [name, spec] of Object.entries(specs)) {
      const apiVersion = "access.pratique.dev/v1alpha1";
      await client.create(credentialRevocations, {
        apiVersion,
        kind: "CredentialRevocation",
        metadata: { name },
        spec,
      });
    }
    const left = (): readonly unknown[] => api.all(credentialRevocations).map(({ metadata }) => metadata.name);
    await clock.advance(hour - 1);
    expect(left()).toHaveLength(4);
    await clock.advance(1);
    expect(left()).toEqual(["certificate", "token", "user"]);
    await clock.advance(3 * 365 * 24 * hour);
    expect(left()).toContain("certificate");
    await clock.advance(24 * hour);
    expect(left()).toEqual(["token", "user"]);
    await stop();
  });
});
