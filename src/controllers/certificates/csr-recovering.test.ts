import { expect, test } from "vitest";
import { controllerBench, type ControllerBench } from "../../../test/kits/controller-bench.ts";
import { csrObject } from "../../../test/kits/csr-object.ts";
import type { ResourceRef } from "../../client/client.ts";
import type { ApiObject } from "../../apimachinery/object.ts";
import { stringAt } from "../../apis/json-fields.ts";
import { nodeUserPrefix } from "../../apimachinery/user.ts";
import { returningGroup, returningUser } from "../../apimachinery/expired-credential.ts";
import { conflict, StatusError } from "../../apimachinery/status.ts";
import { parseCsr } from "../../pki/csr.ts";
import { credentialRevocations } from "../../apis/credential-revocation.ts";
import { issuedCredentials, type IssuedCredential } from "../../apis/issued-credential.ts";
import { recordName, type CredentialStatus } from "../credentials/credential-record.ts";
import { certificateSigningRequests as csrs, events } from "../kinds.ts";
import { cloneLock } from "../credentials/clone-lock.ts";
import { csrRecovering } from "./csr-recovering.ts";
import { csrView } from "./csr-view.ts";

const node = `${nodeUserPrefix}m1`;

const record: IssuedCredential = {
  apiVersion: "access.pratique.dev/v1alpha1",
  kind: "IssuedCredential",
  metadata: { name: recordName({ username: node, purpose: "Client" }), uid: "u-1" },
  spec: { identity: { username: node, purpose: "Client" } },
  status: { issued: [issue("a"), issue("b")] },
};

function issue(serial: string): { readonly credentialID: string; readonly key: string } {
  return { credentialID: `X509SHA256=${serial.repeat(64)}`, key: `SHA256:${serial}` };
}

interface Scene extends ControllerBench {
  readonly run: () => Promise<unknown>;
  readonly reasons: () => readonly unknown[];
}

/**
 * A request of a machine that comes back and whose credential stands so; as on a hub, the first step of a lock revokes who asks.
 * `stored`: what an earlier hub left.
 */
async function scene(credentialStatus: CredentialStatus, stored?: Stored): Promise<Scene> {
  const bench = controllerBench();
  const { api, clock, informers } = bench;
  for (const [resource, object] of stored ?? firstObjects()) await api.given(resource, object);
  const revoked = (): number => api.all(credentialRevocations).length;
  const controller = csrRecovering({
    informers,
    clock,
    parse: parseCsr,
    isRevoked: () => revoked() > 0,
    statusOf: () => ({
      credentialStatus: revoked() > 1 ? "newest" : credentialStatus,
      record,
      asking: issue("a"),
      later: [issue("b")],
    }),
  });
  const reasons = (): readonly unknown[] =>
    api.all(csrs).flatMap((one) => csrView(one).conditions.map(({ reason }) => reason));
  return { ...bench, run: () => bench.start(controller, cloneLock({ informers })), reasons };
}

type Stored = readonly (readonly [ResourceRef, ApiObject])[];

function firstObjects(): Stored {
  const { username } = returningUser(node, {});
  const object = csrObject({ username });
  return [
    [issuedCredentials, record],
    [csrs, { ...object, spec: { ...(object["spec"] as object), groups: [returningGroup] } }],
  ];
}

/** What is in the store of a hub that has ended. */
function storedIn({ api }: ControllerBench): Stored {
  return [issuedCredentials, csrs, credentialRevocations].flatMap((resource) =>
    api.all(resource).map((object) => [resource, object] as const),
  );
}

/** Fails each creation of a revocation from the second on, as on a hub that ends then. */
function failSecondRevocation({ client }: ControllerBench): void {
  const { create } = client;
  let creates = 0;
  Object.assign(client, {
    create: async (...args: Parameters<typeof create>) => {
      if (args[0].plural === credentialRevocations.plural && (creates += 1) > 1)
        throw new StatusError("InternalError", "no answer");
      return create(...args);
    },
  });
}

test("a machine that comes back and is left to an approver is reported as well as marked, once", async () => {
  const { run, clock, api, log, counted, reasons, stop } = await scene("newest");
  await run();
  await clock.advance(60_000);
  expect(reasons()).toEqual(["NoPolicy"]);
  const message = expect.stringMatching(
    /^not approved automatically: .* comes back, and no RecoveryPolicy /,
  ) as unknown;
  expect(api.all(events)).toMatchObject([
    {
      type: "Warning",
      reason: "RecoveryNotApproved",
      message,
      count: 1,
      involvedObject: { kind: csrs.kind, name: "r" },
    },
  ]);
  expect(log).toMatchObject([{ level: "warn", reason: "RecoveryNotApproved", message, why: "NoPolicy" }]);
  expect(counted).toEqual(["RecoveryNotApproved"]);
  await stop();
});

test("a lock of two machines that fails in its middle is finished, and is reported once it is", async () => {
  const { run, clock, api, client, counted, reasons, stop } = await scene("cloned");
  const { create } = client;
  let creates = 0;
  Object.assign(client, {
    create: async (...args: Parameters<typeof create>) => {
      if (args[0].plural !== credentialRevocations.plural) return create(...args);
      creates += 1;
      if (creates === 2) throw new StatusError("InternalError", "no answer");
      return create(...args);
    },
  });
  await run();
  await clock.advance(60_000);
  expect(api.all(credentialRevocations)).toHaveLength(2);
  expect(reasons()).toEqual(["Cloned"]);
  expect(api.all(events)).toMatchObject([
    { reason: "CredentialCloned", count: 1, involvedObject: { kind: "IssuedCredential", name: record.metadata.name } },
  ]);
  expect(counted).toEqual(["CredentialCloned"]);
  await stop();
});

test("a lock that a hub began before it ended is completed by the next one, and reported, although its request is gone", async () => {
  const before = await scene("cloned");
  failSecondRevocation(before);
  await before.run();
  await before.stop();
  expect(before.api.all(credentialRevocations)).toHaveLength(1);
  expect(before.counted).toEqual([]);
  const next = await scene("cloned", storedIn(before));
  await next.client.delete(csrs, { name: "r" });
  await next.run();
  const fingerprints = next.api.all(credentialRevocations).map(({ spec }) => stringAt(spec, "fingerprint"));
  expect(fingerprints).toEqual(["a".repeat(64), "b".repeat(64)]);
  expect(next.counted).toEqual(["CredentialCloned"]);
  await next.stop();
});

test("a request whose requester a hub locked out before it ended is marked by the next one", async () => {
  const before = await scene("cloned");
  const update = (): Promise<never> => Promise.reject(new StatusError("InternalError", "no answer"));
  Object.assign(before.client, { update });
  await before.run();
  await before.stop();
  expect(before.reasons()).toEqual([]);
  const next = await scene("cloned", storedIn(before));
  await next.run();
  expect(next.reasons()).toEqual(["Cloned"]);
  await next.stop();
});

test("a lock that is complete revokes no credential again that an operator has accepted again, whatever restarts", async () => {
  const before = await scene("cloned");
  await before.run();
  await before.stop();
  await before.client.delete(credentialRevocations, { name: `clone-${"b".repeat(40)}` });
  const next = await scene("newest", storedIn(before));
  await next.run();
  await next.clock.advance(60_000);
  expect(next.api.all(credentialRevocations).map(({ spec }) => stringAt(spec, "fingerprint"))).toEqual([
    "a".repeat(64),
  ]);
  await next.stop();
});

test("a lock is reported although another controller writes to the request meanwhile", async () => {
  const { run, clock, api, counted, reasons, stop } = await scene("cloned");
  api.failNext("update", csrs, conflict(csrs, "r", "changed"));
  await run();
  await clock.advance(60_000);
  expect(api.all(credentialRevocations)).toHaveLength(2);
  expect(reasons()).toEqual(["Cloned"]);
  expect(counted).toEqual(["CredentialCloned"]);
  await stop();
});
