import { expect, test } from "vitest";
import { controllerBench, type ControllerBench } from "../../../test/kits/controller-bench.ts";
import { csrObject, type AskedCsr } from "../../../test/kits/csr-object.ts";
import { settled } from "../../../test/kits/fake-clock.ts";
import type { Condition } from "../../apimachinery/object.ts";
import type { UserInfo } from "../../apimachinery/user.ts";
import { StatusError } from "../../apimachinery/status.ts";
import { parseCsr } from "../../pki/csr.ts";
import { certificateSigningRequests as csrs, events, subjectAccessReviews } from "../kinds.ts";
import { csrApproving, type CsrApprovingOptions, type NameCheck } from "./csr-approving.ts";
import type { NodeNameClaims, NodeNameHolder } from "./node-name-claims.ts";

interface Scene extends ControllerBench {
  /** Who holds the only name that there is. */
  holder: NodeNameHolder | undefined;
  /** Keys that hold it besides. */
  earlier: readonly NodeNameHolder[];
  readonly reserved: Set<string>;
  readonly conditions: () => readonly Condition[];
}

async function scene(
  check: Partial<NameCheck> = {},
  allowed = true,
  part: Partial<CsrApprovingOptions> = {},
): Promise<Scene> {
  const bench = controllerBench({
    reviews: { subjectaccessreviews: (review) => ({ ...review, status: { allowed } }) },
  });
  const reserved = new Set<string>();
  const reserve: NodeNameClaims["reserve"] = ({ request }) => {
    if (at.holder === undefined) reserved.add(request);
    return at.holder;
  };
  const claims: NodeNameClaims = {
    holderOf: () => at.holder,
    holdersOf: () => (at.holder === undefined ? [] : [at.holder, ...at.earlier]),
    reserve,
    reserveReturning: reserve,
    release: (request) => void reserved.delete(request),
  };
  const conditions = (): readonly Condition[] =>
    (bench.api.all(csrs)[0]?.["status"] as { readonly conditions?: readonly Condition[] } | undefined)?.conditions ??
    [];
  const at: Scene = { ...bench, holder: undefined, earlier: [], reserved, conditions };
  const names = { claims, ...check };
  await bench.start(csrApproving({ informers: bench.informers, clock: bench.clock, parse: parseCsr, names, ...part }));
  return at;
}

async function ask(at: Scene, asked: AskedCsr = {}): Promise<void> {
  await at.api.given(csrs, csrObject(asked));
  await settled();
}

const holder: NodeNameHolder = { key: "SHA256:other", notAfter: "2027-01-01T00:00:00Z", request: "csr/first" };
const message =
  "the node name m1 is in use by another key, SHA256:other (valid until 2027-01-01T00:00:00Z, csr/first); this request is not approved automatically, an approver must decide";

test("a request for a name in use is marked once, told of in one Event, and not approved", async () => {
  const at = await scene();
  at.holder = holder;
  await ask(at);
  await at.clock.advance(300_000);
  await settled();
  expect(at.conditions()).toMatchObject([{ type: "NameInUse", status: "True", reason: "NodeNameInUse", message }]);
  expect(at.api.all(events)).toMatchObject([{ reason: "NodeNameInUse", type: "Warning", message, count: 1 }]);
  expect(at.api.writes.filter(({ plural }) => plural === csrs.plural)).toHaveLength(2);
  await at.stop();
});

test("renewals of the holder rewrite no mark while the certificate that it names is good", async () => {
  const at = await scene();
  at.holder = holder;
  await ask(at);
  const writes = (): number => at.api.writes.filter(({ plural }) => plural !== subjectAccessReviews.plural).length;
  const before = writes();
  for (let renewal = 1; renewal <= 5; renewal += 1) {
    at.earlier = [...at.earlier, at.holder];
    at.holder = { key: `SHA256:renewed-${renewal}`, notAfter: `2027-02-0${renewal}T00:00:00Z`, request: "csr/later" };
    await at.clock.advance(30_000);
    await settled();
  }
  expect(at.conditions()).toMatchObject([{ message }]);
  expect(writes()).toBe(before);
  at.earlier = [];
  await at.clock.advance(30_000);
  await settled();
  expect(at.conditions()).toMatchObject([{ message: expect.stringContaining("SHA256:renewed-5") as unknown }]);
  expect(at.api.all(events)).toMatchObject([{ reason: "NodeNameInUse", count: 2 }]);
  await at.stop();
});

test("it is approved within half a minute once the name is free, and the mark says so", async () => {
  const at = await scene();
  at.holder = holder;
  await ask(at);
  at.holder = undefined;
  await at.clock.advance(30_000);
  await settled();
  expect(at.conditions()).toMatchObject([
    { type: "NameInUse", status: "False", reason: "NodeNameFree" },
    { type: "Approved", reason: "AutoApproved" },
  ]);
  await at.stop();
});

test("one that nobody approves automatically is marked as well, for the person who decides", async () => {
  const at = await scene({}, false);
  at.holder = holder;
  await ask(at);
  expect(at.conditions()).toMatchObject([{ type: "NameInUse", status: "True" }]);
  at.holder = undefined;
  await at.clock.advance(30_000);
  await settled();
  expect(at.conditions()).toMatchObject([
    { type: "NameInUse", status: "False" },
    { type: "NotApprovedAutomatically", reason: "ApprovalNotAllowed" },
  ]);
  await at.stop();
});

test("the node itself is approved whoever else holds its name", async () => {
  const at = await scene();
  at.holder = holder;
  await ask(at, { username: "system:node:m1" });
  expect(at.conditions()).toMatchObject([{ type: "Approved" }]);
  expect(at.reserved).toEqual(new Set());
  await at.stop();
});

test("all are approved where the operator wants names in use approved", async () => {
  const at = await scene({ approveInUse: true });
  at.holder = holder;
  await ask(at);
  expect(at.conditions()).toMatchObject([{ type: "Approved" }]);
  await at.stop();
});

test("a reservation ends with an approval that was refused, and stays with one of which nobody knows", async () => {
  const refused = await scene();
  refused.api.failNext("update", csrs, new StatusError("Forbidden", "no"));
  await ask(refused);
  expect(refused.reserved).toEqual(new Set());
  await refused.stop();
  const unknown = await scene();
  unknown.api.failNext("update", csrs, new StatusError("Timeout", "who knows"));
  await ask(unknown);
  expect(unknown.reserved).toEqual(new Set(["r"]));
  await unknown.stop();
});

const abstentions: readonly {
  readonly reason: string;
  readonly says: string;
  readonly asked?: AskedCsr;
  readonly part?: Partial<CsrApprovingOptions>;
}[] = [
  { reason: "RequesterRevoked", says: "is revoked; deny the request", part: { isRevoked: () => true } },
  { reason: "RequesterCloned", says: "two machines hold the credential", part: { isCloned: () => true } },
  {
    reason: "ApprovalNotAllowed",
    says: "an approver decides, since automatic approval requires the right to create certificatesigningrequests/nodeclient, which its requester ",
  },
  { reason: "RequestNotRecognized", says: "which its signer requires", asked: { usages: ["server auth"] } },
];

test.each(abstentions)("a request that is left to an approver for $reason says so first", async (one) => {
  const at = await scene({}, false, one.part);
  await ask(at, one.asked);
  await at.clock.advance(300_000);
  await settled();
  const condition = { type: "NotApprovedAutomatically", status: "True", reason: one.reason };
  expect(at.conditions()).toMatchObject([condition]);
  expect(at.conditions()[0]?.message).toContain(one.says);
  expect(at.api.all(events)).toMatchObject([{ reason: one.reason, message: at.conditions()[0]?.message, count: 1 }]);
  expect(at.api.writes.filter(({ plural }) => plural === csrs.plural)).toHaveLength(2);
  await at.stop();
});

const revokedUser = ({ username }: UserInfo): boolean => username === "system:node:m1";

test.each(["system:node:m1", "system:node:M1"])(
  "a request for the revoked user %s is left to an approver, and approved automatically within half a minute after the revocation is deleted",
  async (commonName) => {
    let isRevoked = revokedUser;
    const at = await scene({}, true, { isRevoked: (user) => isRevoked(user) });
    at.holder = holder;
    await ask(at, { commonName });
    expect(at.conditions()).toMatchObject([
      {
        type: "NotApprovedAutomatically",
        reason: "UserRevoked",
        message: `not approved automatically: the user "${commonName}" for which it requests a certificate is revoked; delete that CredentialRevocation (pratique revocations list), or deny the request`,
      },
    ]);
    expect(at.counted).toEqual(["UserRevoked"]);
    at.holder = undefined;
    isRevoked = () => false;
    await at.clock.advance(30_000);
    await settled();
    expect(at.conditions()).toMatchObject([{ type: "Approved" }]);
    await at.stop();
  },
);

test("a request that only lacks the right for automatic approval is no warning, since an operator may have chosen that", async () => {
  const at = await scene({}, false);
  await ask(at);
  expect(at.log).toMatchObject([{ level: "info", reason: "ApprovalNotAllowed" }]);
  expect(at.api.all(events)).toMatchObject([{ type: "Normal", reason: "ApprovalNotAllowed" }]);
  await at.stop();
});

test("the request of another signer is marked by its own approver alone", async () => {
  const at = await scene({}, false, { isRevoked: () => true });
  await ask(at, { signerName: "kubernetes.io/kubelet-serving" });
  expect(at.conditions()).toEqual([]);
  expect(at.counted).toEqual(["RequesterRevoked"]);
  await at.stop();
});

test("one that is approved automatically after all does not say that it was left", async () => {
  let isRevoked = true;
  const at = await scene({}, true, { isRevoked: () => isRevoked });
  await ask(at);
  expect(at.conditions()).toMatchObject([{ type: "NotApprovedAutomatically" }]);
  isRevoked = false;
  await at.clock.advance(300_000);
  await settled();
  expect(at.conditions()).toMatchObject([{ type: "Approved" }]);
  await at.stop();
});
