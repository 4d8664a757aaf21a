import { describe, expect, test } from "vitest";
import type { DeleteOptions, ResourceRef } from "../../client/client.ts";
import type { ApiObject, ObjectMeta, OwnerReference } from "../../apimachinery/object.ts";
import { controllerBench } from "../../../test/kits/controller-bench.ts";
import type { ControllerBench } from "../../../test/kits/controller-bench.ts";
import { settled } from "../../../test/kits/fake-clock.ts";
import { garbageCollector } from "./garbage-collector.ts";
import { clusterRoles, configMaps, secrets } from "../kinds.ts";

const verbs = ["get", "list", "watch", "delete"];

interface Scene extends ControllerBench {
  readonly make: (name: string, owners?: readonly OwnerReference[], extra?: Partial<ObjectMeta>) => Promise<ApiObject>;
  readonly remove: (name: string, how?: DeleteOptions) => Promise<void>;
  readonly names: () => readonly (string | undefined)[];
}

async function scene(...more: readonly ResourceRef[]): Promise<Scene> {
  const bench = controllerBench();
  const { client, api, informers } = bench;
  await bench.start(
    garbageCollector({ informers, resources: () => [configMaps, ...more].map((one) => ({ ...one, verbs })) }),
  );
  return {
    ...bench,
    make: (name, ownerReferences = [], extra = {}) =>
      client.create(configMaps, {
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: { namespace: "n", name, ownerReferences, ...extra },
      }),
    remove: async (name, how) => {
      await client.delete(configMaps, { namespace: "n", name }, how);
      await settled();
    },
    names: () => api.all(configMaps).map((one) => one.metadata.name),
  };
}

function ref(object: ApiObject, extra: Partial<OwnerReference> = {}): OwnerReference {
  const { apiVersion, kind, metadata } = object;
  return { apiVersion, kind, name: metadata.name ?? "", uid: metadata.uid ?? "", ...extra };
}

describe("garbage collector", () => {
  test("deletes what hangs on a deleted object, down to the last", async () => {
    const { make, remove, names, stop } = await scene();
    const top = await make("a-top");
    const middle = await make("b-middle", [ref(top)]);
    await make("c-leaf", [ref(middle)]);
    await make("d-free");
    await settled();
    expect(names()).toHaveLength(4);
    await remove("a-top");
    expect(names()).toEqual(["d-free"]);
    await stop();
  });

  test("keeps nothing of an object but its metadata, without managedFields", async () => {
    const { client, informers, stop } = await scene();
    await client.create(configMaps, {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { namespace: "n", name: "large", managedFields: [{ manager: "m", operation: "Update" }] },
      data: { a: "b" },
    });
    await settled();
    const { serviceAccount, watches } = garbageCollector({ informers, resources: () => [{ ...configMaps, verbs }] });
    const [watch] = typeof watches === "function" ? watches() : watches;
    if (watch === undefined) throw new RangeError("the garbage collector watches nothing");
    const kept = informers.get(serviceAccount, watch).list();
    expect(kept.map(({ metadata }) => metadata.name)).toEqual(["large"]);
    expect(kept.flatMap(Object.keys).toSorted()).toEqual(["apiVersion", "kind", "metadata"]);
    expect(kept.flatMap(({ metadata }) => metadata.managedFields ?? [])).toEqual([]);
    await stop();
  });

  test("deletes an object that is born after its owner has died", async () => {
    const { make, remove, names, stop } = await scene();
    const top = await make("top");
    await remove("top");
    await make("late", [ref(top)]);
    await settled();
    expect(names()).toEqual([]);
    await stop();
  });

  test("deletes the dependents of a former object whose name another has taken", async () => {
    const { make, remove, names, stop } = await scene();
    const first = await make("top");
    await remove("top");
    await make("top");
    await make("x", [ref(first)]);
    await settled();
    expect(names()).toEqual(["top"]);
    await stop();
  });

  test("keeps an object with one living owner, and takes the dead one out", async () => {
    const { make, remove, api, stop } = await scene();
    const [one, two] = [await make("one"), await make("two")];
    await make("x", [ref(one), ref(two)]);
    await remove("one");
    expect(api.all(configMaps).at(-1)?.metadata.ownerReferences).toEqual([ref(two)]);
    await remove("two");
    expect(api.all(configMaps)).toEqual([]);
    await stop();
  });

  test("leaves alone whose owners are of a kind that is not served", async () => {
    const { make, names, stop } = await scene();
    await make("x", [{ apiVersion: "apps/v1", kind: "Deployment", name: "d", uid: "gone" }]);
    await settled();
    expect(names()).toEqual(["x"]);
    await stop();
  });

  test("does not let an object live on a living one of another namespace or name", async () => {
    const { make, client, names, stop } = await scene();
    const elsewhere = { apiVersion: "v1", kind: "ConfigMap", metadata: { namespace: "other", name: "top" } };
    const top = await client.create(configMaps, elsewhere);
    const near = await make("near");
    await make("x", [ref(top)]);
    await make("y", [ref(near, { name: "lie" })]);
    await settled();
    expect(names()).toEqual(["near", "top"]);
    await stop();
  });

  test("never collects a cluster-scoped object for an owner within a namespace", async () => {
    const { make, remove, client, api, stop } = await scene(clusterRoles);
    const top = await make("top");
    const metadata = { name: "role", ownerReferences: [ref(top)] };
    await client.create(clusterRoles, { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole", metadata });
    await remove("top");
    expect(api.all(clusterRoles)).toHaveLength(1);
    await stop();
  });

  test("deletes a namespaced object of another kind with its cluster-scoped owner", async () => {
    const { client, api, stop } = await scene(clusterRoles, secrets);
    const role = { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole", metadata: { name: "role" } };
    const top = await client.create(clusterRoles, role);
    const metadata = { namespace: "n", name: "s", ownerReferences: [ref(top)] };
    await client.create(secrets, { apiVersion: "v1", kind: "Secret", metadata });
    await client.delete(clusterRoles, { name: "role" });
    await settled();
    expect(api.all(secrets)).toEqual([]);
    await stop();
  });

  test("in the foreground deletes blocking dependents first, then the owner", async () => {
    const { make, remove, client, names, stop } = await scene();
    const top = await make("top");
    const middle = await make("middle", [ref(top, { blockOwnerDeletion: true })]);
    await make("leaf", [ref(middle, { blockOwnerDeletion: true })], { finalizers: ["example.com/hold"] });
    await make("loose", [ref(top)]);
    await remove("top", { propagationPolicy: "Foreground" });
    expect(names()).toEqual(["leaf", "middle", "top"]);
    await client.patch(configMaps, { namespace: "n", name: "leaf" }, { metadata: { finalizers: null } });
    await settled();
    expect(names()).toEqual([]);
    await stop();
  });

  test("orphans dependents and lets the owner go", async () => {
    const { make, remove, api, stop } = await scene();
    const [top, other] = [await make("top"), await make("zother")];
    await make("x", [ref(top)]);
    await make("y", [ref(top), ref(other)]);
    await remove("top", { propagationPolicy: "Orphan" });
    const found = api.all(configMaps).map((one) => [one.metadata.name, one.metadata.ownerReferences ?? []]);
    expect(found).toEqual([
      ["x", []],
      ["y", [ref(other)]],
      ["zother", []],
    ]);
    await stop();
  });

  test("does not touch an object that waits for finalizers of others", async () => {
    const { make, remove, names, api, stop } = await scene();
    await make("x", [], { finalizers: ["example.com/hold"] });
    await remove("x");
    const writes = api.writes.length;
    await settled();
    expect(names()).toEqual(["x"]);
    expect(api.writes).toHaveLength(writes);
    await stop();
  });

  test("asks the API nothing while all owners are known to live", async () => {
    const { make, client, api, stop } = await scene();
    const top = await make("top");
    await make("x", [ref(top)]);
    api.failNext("get", configMaps, new TypeError("must not be asked"));
    await client.patch(configMaps, { namespace: "n", name: "x" }, { data: { beat: "1" } });
    await settled();
    await expect(client.get(configMaps, { namespace: "n", name: "x" })).rejects.toThrow("must not be asked");
    await stop();
  });
});
