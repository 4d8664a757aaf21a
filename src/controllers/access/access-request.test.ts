import { expect, test } from "vitest";
import { accessObject, accessProfile } from "../../../test/kits/access-object.ts";
import { controllerBench, type ControllerBench } from "../../../test/kits/controller-bench.ts";
import { settled } from "../../../test/kits/fake-clock.ts";
import { accessProfiles } from "../../resources/access-profile.ts";
import { accessRequests, type AccessRequest } from "../../resources/access-request.ts";
import { clusterRoles, namespaces, serviceAccounts } from "../kinds.ts";
import { accountFor } from "./access-grant.ts";
import { accessRequest } from "./access-request.ts";

/** An approved request, of a profile that can be granted. */
async function scene(): Promise<ControllerBench> {
  const bench = controllerBench();
  const { client } = bench;
  await client.create(namespaces, { apiVersion: "v1", kind: "Namespace", metadata: { name: "vms" } });
  await client.create(clusterRoles, {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRole",
    metadata: { name: "viewer" },
  });
  await client.create(accessProfiles, accessProfile("pods"));
  await client.create(accessRequests, accessObject({ status: { accepted: true } }));
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
