import { describe, expect, test } from "vitest";
import type { ApiObject } from "../apimachinery/object.ts";
import { StatusError } from "../apimachinery/status.ts";
import { controllerBench, type ControllerBench } from "../../test/kits/controller-bench.ts";
import { settled } from "../../test/kits/fake-clock.ts";
import { configMaps, namespaces, secrets, serviceAccounts } from "./kinds.ts";
import { namespaceController, withConditions } from "./objects/namespace.ts";
import { rootCaPublisher, serviceAccountDefault } from "./objects/namespace-objects.ts";

const verbs = ["get", "list", "watch", "create", "delete", "deletecollection"];
const namespaceObject = (name: string): ApiObject => ({ apiVersion: "v1", kind: "Namespace", metadata: { name } });
const configMap = (name: string, finalizers: readonly string[] = []): ApiObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { namespace: "a", name, finalizers },
});

async function scene(): Promise<ControllerBench> {
  const bench = controllerBench();
  const { clock, informers } = bench;
  await bench.start(
    namespaceController({
      informers,
      clock,
      resources: () => [
        { ...namespaces, verbs },
        { ...configMaps, verbs },
        { ...secrets, verbs: verbs.filter((verb) => verb !== "deletecollection") },
        { ...serviceAccounts, verbs },
      ],
    }),
    rootCaPublisher({ informers, caPem: "CA" }),
    serviceAccountDefault({ informers }),
  );
  return bench;
}

function conditionsOf(bench: ControllerBench): Record<string, string> {
  const status = bench.api.all(namespaces)[0]?.["status"] as {
    conditions?: { type: string; status: string; message: string }[];
  };
  const list = status.conditions ?? [];
  return Object.fromEntries(list.filter((one) => one.status === "True").map((one) => [one.type, one.message]));
}

describe("in each namespace", () => {
  test("the root CA and the ServiceAccount default appear, and come back when they are changed or removed", async () => {
    const { client, api, stop } = await scene();
    await client.create(namespaces, namespaceObject("a"));
    await settled();
    const key = { namespace: "a", name: "kube-root-ca.crt" };
    expect((await client.get(configMaps, key))["data"]).toEqual({ "ca.crt": "CA" });
    expect(api.all(serviceAccounts).map((one) => one.metadata.name)).toEqual(["default"]);
    await client.patch(configMaps, key, { data: { "ca.crt": "EVIL", more: "x" } });
    await client.delete(serviceAccounts, { namespace: "a", name: "default" });
    await settled();
    expect((await client.get(configMaps, key))["data"]).toEqual({ "ca.crt": "CA" });
    expect(api.all(serviceAccounts)).toHaveLength(1);
    await client.delete(configMaps, key);
    await settled();
    expect((await client.get(configMaps, key))["data"]).toEqual({ "ca.crt": "CA" });
    const writes = api.writes.length;
    await settled();
    expect(api.writes).toHaveLength(writes);
    await stop();
  });

  test("the ServiceAccount default is created again after an admission webhook has refused it with 409", async () => {
    const { clock, client, api, stop } = await scene();
    api.failNext("create", serviceAccounts, new StatusError("", "refused by a webhook", { code: 409 }));
    await client.create(namespaces, namespaceObject("a"));
    await settled();
    expect(api.all(serviceAccounts)).toEqual([]);
    await clock.advance(1000);
    await settled();
    expect(api.all(serviceAccounts)).toHaveLength(1);
    await stop();
  });
});

describe("namespace", () => {
  test("is emptied and gone, with what other controllers keep in it, and nothing of other namespaces", async () => {
    const { client, api, log, stop } = await scene();
    await client.create(namespaces, namespaceObject("a"));
    await client.create(namespaces, namespaceObject("b"));
    await client.create(configMaps, configMap("x"));
    await client.create(secrets, { ...configMap("s"), kind: "Secret" });
    await settled();
    await client.delete(namespaces, { name: "a" });
    await settled();
    expect(api.all(namespaces).map((one) => one.metadata.name)).toEqual(["b"]);
    expect(api.all(secrets)).toEqual([]);
    expect(api.all(configMaps).map((one) => one.metadata.namespace)).toEqual(["b"]);
    expect(log.filter((entry) => entry.level === "warn")).toEqual([]);
    await stop();
  });

  test("says what it waits for, and goes when that is gone", async () => {
    const bench = await scene();
    const { client, api, clock, stop } = bench;
    await client.create(namespaces, namespaceObject("a"));
    await client.create(configMaps, configMap("x", ["example.com/hold"]));
    await settled();
    await client.delete(namespaces, { name: "a" });
    await settled();
    expect(conditionsOf(bench)).toEqual({
      NamespaceContentRemaining: "Some resources are remaining: configmaps. has 1 resource instances",
      NamespaceFinalizersRemaining:
        "Some content in the namespace has finalizers remaining: example.com/hold in 1 resource instances",
    });
    const writes = api.writes.length;
    await clock.advance(300);
    expect(api.writes).toHaveLength(writes);
    await client.patch(configMaps, { namespace: "a", name: "x" }, { metadata: { finalizers: null } });
    await clock.advance(60_000);
    expect(api.all(namespaces)).toEqual([]);
    await stop();
  });

  test("stays while a kind cannot be looked at, and says so", async () => {
    const bench = await scene();
    const { client, api, clock, stop } = bench;
    await client.create(namespaces, namespaceObject("a"));
    await settled();
    for (let round = 0; round < 2; round += 1)
      api.failNext("list", secrets, new StatusError("InternalError", "no luck"));
    await client.delete(namespaces, { name: "a" });
    await settled();
    expect(conditionsOf(bench)).toEqual({
      NamespaceDeletionContentFailure: "Failed to delete all resource types, 1 remaining: secrets: no luck",
    });
    await clock.advance(1000);
    expect(api.all(namespaces)).toEqual([]);
    await stop();
  });

  test("leaves finalizers of others in its spec", async () => {
    const { client, api, stop } = await scene();
    await client.create(namespaces, {
      ...namespaceObject("a"),
      spec: { finalizers: ["kubernetes", "example.com/own"] },
    });
    await client.delete(namespaces, { name: "a" });
    await settled();
    expect(api.all(namespaces)[0]?.["spec"]).toEqual({ finalizers: ["example.com/own"] });
    await stop();
  });
});

describe("withConditions", () => {
  const remaining = [{ group: "", plural: "pods", count: 2, finalizers: new Map([["f", 2]]) }];

  test("keeps conditions of others, and the time of a status that did not change", () => {
    const own = { type: "Own", status: "True" };
    const first = withConditions(
      { ...namespaceObject("a"), status: { conditions: [own] } },
      { remaining, failures: [] },
      "T1",
    );
    const fewer = [{ ...remaining[0], group: "", plural: "pods", count: 1, finalizers: new Map<string, number>() }];
    const second = first && withConditions(first, { remaining: fewer, failures: [] }, "T2");
    const { conditions } = (second?.["status"] ?? {}) as { conditions: Record<string, string>[] };
    expect(conditions[0]).toEqual(own);
    const times = Object.fromEntries(conditions.map((one) => [one["type"], one["lastTransitionTime"]]));
    expect(times).toMatchObject({ NamespaceContentRemaining: "T1", NamespaceFinalizersRemaining: "T2" });
  });

  test("is nothing to write when all is said", () => {
    const first = withConditions(namespaceObject("a"), { remaining, failures: [] }, "T1");
    expect(first && withConditions(first, { remaining, failures: [] }, "T2")).toBeUndefined();
  });
});
