import { afterAll, beforeAll, expect, it } from "vitest";
import type { ApiObject } from "../../src/apimachinery/object.ts";
import { apiClient, type ApiClient } from "../kits/api-client.ts";
import { startTestHub, type TestHub } from "../kits/hub.ts";

const all = "/apis/apiregistration.k8s.io/v1/apiservices";
const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

let hub: TestHub;
let api: ApiClient;

beforeAll(async () => {
  hub = await startTestHub();
  api = apiClient(hub);
});

afterAll(async () => {
  api.close();
  await hub.close();
});

const served = async (): Promise<readonly string[]> =>
  (await api(all)).items().map(({ metadata: { name = "" } }) => name);

function boats(versions: readonly string[]): object {
  const schema = { openAPIV3Schema: { type: "object" } };
  return {
    metadata: { name: "boats.example.com" },
    spec: {
      group: "example.com",
      names: { plural: "boats", kind: "Boat" },
      scope: "Namespaced",
      versions: versions.map((name, at) => ({ name, served: true, storage: at === 0, schema })),
    },
  };
}

it("there is one for each group version that the hub serves, but for that of APIServices", async () => {
  const { groups } = (await api("/apis")).json() as {
    groups: readonly { versions: readonly { groupVersion: string }[] }[];
  };
  const names = groups
    .flatMap(({ versions }) => versions)
    .map(({ groupVersion }) => groupVersion.split("/").toReversed().join("."));
  expect(names).toContain("v1.apiregistration.k8s.io");
  const wanted = ["v1.", ...names.filter((name) => name !== "v1.apiregistration.k8s.io")];
  expect([...(await served())].toSorted()).toEqual(wanted.toSorted());
});

it("each is what kube-aggregator makes for an API server of its own", async () => {
  expect((await api(`${all}/v1.rbac.authorization.k8s.io`)).object()).toMatchObject({
    kind: "APIService",
    apiVersion: "apiregistration.k8s.io/v1",
    metadata: { labels: { "kube-aggregator.kubernetes.io/automanaged": "onstart" } },
    spec: { group: "rbac.authorization.k8s.io", version: "v1", groupPriorityMinimum: 17_000, versionPriority: 15 },
    status: {
      conditions: [
        {
          type: "Available",
          status: "True",
          lastTransitionTime: expect.stringMatching(/^\d{4}-.*Z$/) as unknown,
          reason: "Local",
          message: "Local APIServices are always available",
        },
      ],
    },
  });
  expect((await api(`${all}/v1.`)).object()["spec"]).toEqual({
    version: "v1",
    groupPriorityMinimum: 18_000,
    versionPriority: 1,
  });
  const table = (await api(all, { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" })).json() as {
    rows: readonly { cells: readonly unknown[] }[];
    columnDefinitions: readonly { name: string }[];
  };
  expect(table.columnDefinitions.map(({ name }) => name)).toEqual(["Name", "Service", "Available", "Age"]);
  expect(table.rows[0]?.cells.slice(0, 3)).toEqual(["v1.", "Local", "True"]);
});

it("those of definitions come and go with their versions, as a watch sees", async () => {
  const watched = await api.stream(`${all}?watch=true&resourceVersion=0&allowWatchBookmarks=false`);
  const next = async (type: string): Promise<ApiObject> => {
    for (;;) {
      const event = await watched.next();
      if (event.type === type && event.object.metadata.name?.endsWith(".example.com") === true) {
        return event.object as unknown as ApiObject;
      }
    }
  };
  await api(definitions, { method: "POST", body: boats(["v1", "v1beta1"]) });
  const added = [await next("ADDED"), await next("ADDED")];
  const names = added.map(({ metadata: { name = "" } }) => name);
  expect(names.toSorted()).toEqual(["v1.example.com", "v1beta1.example.com"]);
  expect(added[0]).toMatchObject({
    metadata: { labels: { "kube-aggregator.kubernetes.io/automanaged": "true" } },
    spec: { group: "example.com", groupPriorityMinimum: 1000, versionPriority: 100 },
    status: { conditions: [{ type: "Available", status: "True", reason: "Local" }] },
  });
  const { spec } = boats(["v1"]) as { readonly spec: object };
  const type = "application/merge-patch+json";
  await api(`${definitions}/boats.example.com`, { method: "PATCH", type, body: { spec } });
  expect((await next("DELETED")).metadata.name).toBe("v1beta1.example.com");
  await api(`${definitions}/boats.example.com`, { method: "DELETE" });
  expect((await next("DELETED")).metadata.name).toBe("v1.example.com");
  watched.close();
});

it("no client writes them, and each try is refused with the reason", async () => {
  const before = (await api(`${all}/v1.`)).text;
  const remote = {
    metadata: { name: "v1.metrics.example.com" },
    spec: {
      group: "metrics.example.com",
      version: "v1",
      groupPriorityMinimum: 100,
      versionPriority: 100,
      service: { name: "metrics", namespace: "default" },
      insecureSkipTLSVerify: true,
    },
  };
  const merge = "application/merge-patch+json";
  const tries = [
    await api(all, { method: "POST", body: remote }),
    await api(`${all}/v1.`, { method: "PUT", body: JSON.parse(before) as object }),
    await api(`${all}/v1.`, { method: "PATCH", type: merge, body: { spec: { versionPriority: 9 } } }),
    await api(`${all}/v1./status`, { method: "PATCH", type: merge, body: { status: {} } }),
    await api(`${all}/v1.`, { method: "DELETE" }),
    await api(all, { method: "DELETE" }),
  ];
  for (const reply of tries) {
    expect(reply.json()).toMatchObject({
      code: 405,
      reason: "MethodNotAllowed",
      message:
        "the server does not allow this method on the requested resource: the hub aggregates no other API servers; it keeps an APIService for each group version that it serves",
    });
  }
  expect((await api(`${all}/v1.`)).text).toBe(before);
});

it("the next start of a hub changes none that is as it must be", async () => {
  const first = await startTestHub();
  const { dir } = first;
  const admin = apiClient(first);
  const before = (await admin(all)).items();
  admin.close();
  await first.close("keep");
  const again = await startTestHub({ dir });
  const client = apiClient(again);
  const after = (await client(all)).items();
  // Written once: the second start has changed none.
  expect(after.map(({ metadata }) => metadata.resourceVersion)).toEqual(
    before.map(({ metadata }) => metadata.resourceVersion),
  );
  client.close();
  await again.close();
});
