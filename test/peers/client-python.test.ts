import { resolve } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { apiClient } from "../kits/api-client.ts";
import { startTestHub, type TestHub } from "../kits/hub.ts";
import { peerSuite, requirePeer } from "../kits/peers.ts";
import { eventually, ofThisTest, spawnProcess } from "../kits/peers-process.ts";
import { thingDefinition } from "../kits/thing-definition.ts";

const program = resolve(import.meta.dirname, "python/calls.py");

peerSuite("python3-kubernetes", "calls of the official client for Python", () => {
  let hub: TestHub;

  beforeAll(async () => {
    hub = await startTestHub();
    const admin = apiClient(hub);
    const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    await admin(definitions, { method: "POST", body: thingDefinition });
    await eventually("things to be served", async () =>
      (await admin("/apis/example.com/v1/things")).status === 200 ? true : undefined,
    );
    admin.close();
  });

  afterAll(() => hub?.close());

  test("are answered as it expects", async () => {
    const args = [program, hub.kubeconfig];
    const { printed } = await ofThisTest(spawnProcess(requirePeer("python3-kubernetes"), args, { home: hub.dir })).done;
    const told = printed.split("\n").filter((line) => line !== "");
    const strange = told.filter((line) => !line.startsWith("["));
    expect(strange).toEqual([]);
    expect(Object.fromEntries(told.map((line) => JSON.parse(line) as [string, unknown]))).toEqual({
      "list none": [],
      "create without kind": "ConfigMap",
      "create again": [409, "AlreadyExists"],
      "create a bad name": [422, "Invalid"],
      read: { a: "1" },
      list: ["py"],
      "patch strategically": { a: "1", b: "2" },
      "patch by operations": { b: "2" },
      replace: { c: "3" },
      "replace an old one": [409, "Conflict"],
      delete: "Success",
      "delete again": [404, "NotFound"],
      "delete all": "ConfigMapList",
      "dry run": "py-dry",
      "read what was dry": [404, "NotFound"],
      "review a token": null,
      "review an access": true,
      nodes: [],
      namespaces: true,
      roles: "ClusterRole",
      version: "1",
      "create a custom object": "Thing",
      "list custom objects": ["py"],
      "create a wrong custom object": [422, "Invalid"],
      "read a custom object": { size: 1 },
      "replace a custom object": { size: 3 },
      "delete a custom object": "Success",
      "read a custom object again": [404, "NotFound"],
    });
  });
});
