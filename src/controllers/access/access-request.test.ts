import { expect, test } from "vitest";
import { accessObject, accessProfile, newAccessKey } from "../../../test/kits/access-object.ts";
import { controllerBench, type ControllerBench } from "../../../test/kits/controller-bench.ts";
import { settled } from "../../../test/kits/fake-clock.ts";
import { findCondition } from "../../apimachinery/conditions.ts";
import { accessProfiles } from "../../apis/access-profile.ts";
import { accessRequests, type AccessRequest } from "../../apis/access-request.ts";
import { clusterRoles, events, namespaces, serviceAccounts } from "../kinds.ts";
import { accountFor } from "./access-grant.ts";
import { accessRequest } from "./access-request.ts";

/** An approved request, of a profile that can be granted. */
async function scene(): Promise<ControllerBench> {
  const bench = controllerBench();
  const { api, client } = bench;
  await client.create(namespaces, { apiVersion: "v1", kind: "Namespace", metadata: { name: "vms" } });
  await client.create(clusterRoles, {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRole",
    metadata: { name: "viewer" },
  });
  await client.create(accessProfiles, accessProfile("pods"));
  await api.given(accessRequests, accessObject({ status: { accepted: true } }));
  return bench;
}

const run = (bench: ControllerBench): Promise<unknown> =>
  bench.start(
    accessRequest({
      informers: bench.informers,
      clock: bench.clock,
      random: (size) => new Uint8Array(size).fill(7),
      ca: { pem: "pem", pins: [] },
    }),
  );

const stored = ({ api }: ControllerBench): AccessRequest => {
  const [request] = api.all(accessRequests);
  if (request === undefined) throw new TypeError("no request");
  return request as AccessRequest;
};

const revoke = async (bench: ControllerBench): Promise<void> => {
  const request = stored(bench);
  const status = { ...request.status, revoked: true };
  await bench.client.update(accessRequests, { ...request, status }, { subresource: "status" });
};

test("a request that is revoked while it is issued keeps no account", async () => {
  const at = await scene();
  const { create } = at.client;
  let accounts = 0;
  // The revocation comes between the account and the write that would have named it.
  Object.assign(at.client, {
    create: async (...args: Parameters<typeof create>) => {
      const made = await create(...args);
      if (args[0].plural === serviceAccounts.plural && (accounts += 1) === 1) await revoke(at);
      return made;
    },
  });
  await run(at);
  await settled();
  expect(accounts).toBeGreaterThan(0);
  expect(stored(at).status).toMatchObject({ revoked: true });
  expect(at.api.all(serviceAccounts)).toEqual([]);
  await at.stop();
});

test("one that was revoked after a hub stopped in the middle of issuing keeps none either, nor takes that of another", async () => {
  const at = await scene();
  await at.client.create(serviceAccounts, accountFor(stored(at), "vms"));
  await revoke(at);
  await run(at);
  await settled();
  expect(at.api.all(serviceAccounts)).toEqual([]);
  await at.stop();

  const other = await scene();
  const metadata = { namespace: "vms", name: "vm-1" };
  await other.client.create(serviceAccounts, { apiVersion: "v1", kind: "ServiceAccount", metadata });
  await revoke(other);
  await run(other);
  await settled();
  expect(other.api.all(serviceAccounts)).toHaveLength(1);
  await other.stop();
});

test("a request whose key is not the one that was decided on is given nothing, and says so in condition, log, Event and metric, once", async () => {
  const at = await scene();
  const { spec } = accessObject();
  // As one who may write to the store could do: the API lets no request change its key.
  const request = stored(at);
  await at.api.putInStore(accessRequests, { ...request, spec });
  await run(at);
  await at.clock.advance(60_000);
  const message = "nothing is issued: its key is not the one that was decided on";
  expect(findCondition(stored(at).status?.conditions, "Issued")).toMatchObject({
    status: "False",
    reason: "OtherKey",
    message: "its key is not the one that was decided on",
  });
  expect(at.api.all(serviceAccounts)).toEqual([]);
  expect(at.api.all(events).filter(({ type }) => type === "Warning")).toMatchObject([
    { reason: "OtherKey", message, count: 1, involvedObject: { kind: "AccessRequest", name: "vm-1" } },
  ]);
  const object = "AccessRequest/vm-1";
  expect(at.log.filter(({ level }) => level === "warn")).toMatchObject([{ reason: "OtherKey", object, message }]);
  expect(at.counted.filter((reason) => reason === "OtherKey")).toHaveLength(1);
  await at.stop();
});

test("a request that names no profile waits, and says so in condition, Event and metric, once", async () => {
  const at = await scene();
  await at.api.given(accessRequests, accessObject({ name: "vm-2", profile: "absent", status: { accepted: true } }));
  await run(at);
  await at.clock.advance(60_000);
  expect(at.api.all(events).filter(({ reason }) => reason === "NoProfile")).toMatchObject([
    { type: "Warning", count: 1, involvedObject: { name: "vm-2" } },
  ]);
  expect(at.counted.filter((reason) => reason === "NoProfile")).toHaveLength(1);
  await at.stop();
});

test("an earlier access that was removed is reported, although the request for which it was cannot be answered then", async () => {
  const at = await scene();
  const key = newAccessKey();
  const { metadata } = await at.client.get(accessProfiles, { name: "pods" });
  const profile = { name: "pods", uid: metadata.uid ?? "", generation: metadata.generation ?? 0 };
  const decisions = [{ user: "ada", time: "2026-11-21T00:00:00Z", verdict: "Approved", profile }] as const;
  const over = { type: "Expired", status: "True", reason: "TokenExpired", message: "" } as const;
  const grant = { namespace: "vms", serviceAccount: "before", uid: "u" };
  const back = { type: "Recovered", status: "True", reason: "WithinTerms", message: "" } as const;
  await at.client.delete(accessRequests, { name: "vm-1" });
  await at.api.given(
    accessRequests,
    accessObject({ name: "before", key, status: { accepted: true, grant, decisions, conditions: [over] } }),
  );
  await at.api.given(
    accessRequests,
    accessObject({ name: "after", key, status: { accepted: true, decisions, conditions: [back] } }),
  );
  at.api.failNext("create", serviceAccounts, new TypeError("broken"));
  await run(at);
  await at.clock.advance(60_000);
  expect(at.log.filter(({ reason }) => reason === "AccessSuperseded")).toMatchObject([
    { object: "AccessRequest/before", message: "access superseded: its machine has come back as after" },
  ]);
  expect(at.log).toContainEqual(expect.objectContaining({ message: "broken" }));
  await at.stop();
});
