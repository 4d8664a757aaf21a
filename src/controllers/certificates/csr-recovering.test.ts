import { expect, test } from "vitest";
import { controllerBench, type ControllerBench } from "../../../test/kits/controller-bench.ts";
import { csrObject } from "../../../test/kits/csr-object.ts";
import { nodeUserPrefix } from "../../core/user.ts";
import { returningGroup, returningUser } from "../../core/returning.ts";
import { conflict, StatusError } from "../../core/status.ts";
import { parseCsr } from "../../pki/csr.ts";
import { credentialRevocations } from "../../resources/credential-revocation.ts";
import type { IssuedCredential } from "../../resources/issued-credential.ts";
import { certificateSigningRequests as csrs, events } from "../kinds.ts";
import type { CredentialStanding } from "../credentials/credential-standing.ts";
import { csrRecovering } from "./csr-recovering.ts";
import { csrView } from "./csr-view.ts";

const node = `${nodeUserPrefix}m1`;

const record: IssuedCredential = {
  apiVersion: "access.pratique.dev/v1alpha1",
  kind: "IssuedCredential",
  metadata: { name: "client.node.m1", uid: "u-1" },
  spec: { identity: { username: node, purpose: "Client" } },
};

const issue = (serial: string): { readonly credentialID: string; readonly key: string } => ({
  credentialID: `X509SHA256=${serial.repeat(64)}`,
  key: `SHA256:${serial}`,
});

interface Scene extends ControllerBench {
  readonly run: () => Promise<unknown>;
  readonly reasons: () => readonly unknown[];
}

/** A request of a machine that comes back and whose credential stands so; as on a hub, the first step of a lock revokes who asks. */
async function scene(standing: CredentialStanding): Promise<Scene> {
  const bench = controllerBench();
  const { api, client, clock, informers } = bench;
  const { username } = returningUser(node, {});
  const object = csrObject({ username });
  await client.create(csrs, { ...object, spec: { ...(object["spec"] as object), groups: [returningGroup] } });
  const revoked = (): number => api.all(credentialRevocations).length;
  const controller = csrRecovering({
    informers,
    clock,
    parse: parseCsr,
    isRevoked: () => revoked() > 0,
    standingOf: () => ({
      standing: revoked() > 1 ? "newest" : standing,
      record,
      asking: issue("a"),
      later: [issue("b")],
    }),
  });
  const reasons = (): readonly unknown[] =>
    api.all(csrs).flatMap((one) => csrView(one).conditions.map(({ reason }) => reason));
  return { ...bench, run: () => bench.start(controller), reasons };
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
    { reason: "CredentialCloned", count: 1, involvedObject: { kind: "IssuedCredential", name: "client.node.m1" } },
  ]);
  expect(counted).toEqual(["CredentialCloned"]);
  await stop();
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
