import { createHash } from "node:crypto";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { csrKey, csrObject, type AskedCsr } from "../../test/kits/csr-object.ts";
import type { NodeNameClaims, WantedNodeName } from "../controllers/certificates/node-name-claims.ts";
import { keyFingerprint, spkiOf } from "../pki/keys.ts";
import { certificateSigningRequests } from "../apis/certificate-signing-request.ts";
import { issuedCredentials, type CredentialIssue } from "../apis/issued-credential.ts";
import { storagePrefix } from "../apis/resource.ts";
import type { Credential, FoundRevocation } from "../apis/revocation-index.ts";
import { openMemory } from "../storage/memory.ts";
import type { Store } from "../storage/store.ts";
import { openWatchCache, type WatchCache } from "../storage/watch-cache.ts";
import type { Authorities } from "../ca/ca-folder.ts";
import { nodeNames } from "./node-names.ts";

const now = Date.UTC(2026, 10, 21);
const trustedName = Buffer.from("the CA");
const issuer = createHash("sha256").update(trustedName).digest("hex");
/** That of the requests which the kit makes. */
const ownKey = keyFingerprint(spkiOf(csrKey));

let store: Store;
let cache: WatchCache;
let claims: NodeNameClaims;
let revoked: Map<string, string>;

beforeEach(async () => {
  store = await openMemory();
  cache = await openWatchCache({ store, prefix: "/registry/" });
  revoked = new Map();
  const find = ({ ids }: Credential): FoundRevocation | undefined => {
    const name = revoked.get(ids[0] ?? "");
    return name === undefined ? undefined : { name, what: "" };
  };
  const trusted = [{ rawSubject: trustedName }] as unknown as Authorities["trusted"];
  claims = nodeNames({ cache, clock: { now: () => now }, revocations: { find }, authorities: () => ({ trusted }) });
});

afterEach(async () => {
  await cache.close();
  await store.close();
});

async function put(key: string, object: object): Promise<void> {
  const bytes = Buffer.from(JSON.stringify(object));
  const present = cache.get(key);
  if (present === undefined) await store.create(key, bytes);
  else await store.update(key, bytes, { ifRevision: present.revision });
  await cache.waitFor(await store.currentRevision());
}

function record(username: string, ...issued: readonly CredentialIssue[]): Promise<void> {
  const metadata = { name: `client.node.${username.slice("system:node:".length)}` };
  return put(`${storagePrefix(issuedCredentials)}${metadata.name}`, {
    metadata,
    spec: { identity: { username, purpose: "Client" } },
    status: { issued },
  });
}

function request(name: string, ...conditions: readonly string[]): Promise<void> {
  const asked: AskedCsr = { name, conditions: conditions.map((type) => ({ type, status: "True" })) };
  return put(`${storagePrefix(certificateSigningRequests)}${name}`, csrObject(asked));
}

const wanted = (key: string, username = "system:node:m1", from = "asks"): WantedNodeName => ({
  username,
  key,
  request: from,
});

const good: CredentialIssue = {
  credentialID: "X509SHA256=aa",
  key: "SHA256:holder",
  issuer,
  notBefore: "2026-11-20T00:00:00Z",
  notAfter: "2027-11-20T00:00:00Z",
  request: "csr/first",
};

describe("a certificate holds the name of its node", () => {
  test("against any other key, in whatever case the name is written, and not against its own", async () => {
    await record("system:node:m1", good);
    const held = { key: "SHA256:holder", notAfter: "2027-11-20T00:00:00Z", request: "csr/first" };
    expect(claims.holderOf(wanted("SHA256:other"))).toEqual(held);
    expect(claims.holderOf(wanted("SHA256:other", "system:node:M1"))).toEqual(held);
    expect(claims.holderOf(wanted("SHA256:holder"))).toBeUndefined();
    expect(claims.holderOf(wanted("SHA256:other", "system:node:m2"))).toBeUndefined();
  });

  test.each([
    ["that ends in a second", { notAfter: "2026-11-21T00:00:01Z" }, true],
    ["that ends now", { notAfter: "2026-11-21T00:00:00Z" }, false],
    ["of a CA that is trusted no longer", { issuer: "00" }, false],
    ["whose record names no key", { key: "" }, true],
    ["whose end cannot be read", { notAfter: "?" }, true],
  ])("one %s", async (_title, change, holds) => {
    await record("system:node:m1", { ...good, ...change });
    expect(claims.holderOf(wanted("SHA256:other")) !== undefined).toBe(holds);
  });

  test("until it is revoked, while an earlier one that is good goes on holding it", async () => {
    await record("system:node:m1", { ...good, credentialID: "X509SHA256=00", key: "SHA256:earlier" }, good);
    revoked.set("X509SHA256=aa", "v-1");
    expect(claims.holderOf(wanted("SHA256:other"))?.key).toBe("SHA256:earlier");
    // Two machines that are locked out as clones have lost the name with all that was issued before.
    revoked.set("X509SHA256=aa", "clone-aa");
    expect(claims.holderOf(wanted("SHA256:other"))).toBeUndefined();
  });

  test("of those that do, the one that ends last is named", async () => {
    const last = { ...good, key: "SHA256:last", credentialID: "X509SHA256=bb", notAfter: "2028-01-01T00:00:00Z" };
    await record("system:node:m1", last, good);
    expect(claims.holderOf(wanted("SHA256:other"))?.key).toBe("SHA256:last");
    expect(claims.holdersOf(wanted("SHA256:other")).map(({ key }) => key)).toEqual(["SHA256:last", "SHA256:holder"]);
  });
});

describe("a request that is approved holds the name before there is a certificate", () => {
  test.each([
    ["approved", ["Approved"], true],
    ["undecided", [], false],
    ["denied", ["Denied"], false],
    ["failed", ["Approved", "Failed"], false],
  ])("one that is %s", async (_title, conditions, holds) => {
    await request("first", ...conditions);
    expect(claims.holderOf(wanted("SHA256:other"))).toEqual(
      holds ? { key: ownKey, notAfter: undefined, request: "csr/first" } : undefined,
    );
    expect(claims.holderOf(wanted(ownKey))).toBeUndefined();
  });

  test("and no longer than it is there", async () => {
    await request("first", "Approved");
    await store.delete(`${storagePrefix(certificateSigningRequests)}first`, {
      ifRevision: cache.get(`${storagePrefix(certificateSigningRequests)}first`)?.revision ?? 0,
    });
    await cache.waitFor(await store.currentRevision());
    expect(claims.holderOf(wanted("SHA256:other"))).toBeUndefined();
  });
});

describe("a reservation", () => {
  test("keeps the name from every other key, until its request is decided or it is given back", async () => {
    await request("first");
    expect(claims.reserve(wanted(ownKey, "system:node:m1", "first"))).toBeUndefined();
    expect(claims.reserve(wanted(ownKey, "system:node:m1", "first"))).toBeUndefined();
    const held = { key: ownKey, notAfter: undefined, request: "csr/first" };
    expect(claims.reserve(wanted("SHA256:other"))).toEqual(held);
    expect(claims.reserveReturning(wanted("SHA256:other"))).toEqual(held);
    // Approved: there is no moment at which the name is free.
    await request("first", "Approved");
    expect(claims.reserve(wanted("SHA256:other"))).toEqual(held);
    await request("first", "Denied");
    expect(claims.reserve(wanted("SHA256:other"))).toBeUndefined();
    claims.release("asks");
    expect(claims.holderOf(wanted("SHA256:third", "system:node:m1", "third"))).toBeUndefined();
  });

  test("of a machine that comes back looks at what is being answered, and not at certificates", async () => {
    await record("system:node:m1", good);
    expect(claims.reserveReturning(wanted("SHA256:other"))).toBeUndefined();
    expect(claims.reserve(wanted("SHA256:third", "system:node:m1", "third"))).toBeDefined();
  });
});
