import {
  ApiextensionsV1Api,
  ApiException,
  AuthenticationV1Api,
  AuthorizationV1Api,
  CoreV1Api,
  CustomObjectsApi,
  KubeConfig,
  KubernetesObjectApi,
  PatchStrategy,
  setHeaderOptions,
} from "@kubernetes/client-node";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestHub, type TestHub } from "../kits/hub.ts";
import { eventually } from "../kits/peers-process.ts";
import { thingDefinition } from "../kits/thing-definition.ts";

const namespace = "default";

describe("calls of the official client for JavaScript", () => {
  let hub: TestHub;
  const config = new KubeConfig();

  beforeAll(async () => {
    hub = await startTestHub();
    config.loadFromFile(hub.kubeconfig);
  });

  afterAll(() => hub?.close());

  /** The code and the reason of a call that fails. */
  async function failure(call: Promise<unknown>): Promise<readonly unknown[]> {
    try {
      return ["no failure", await call];
    } catch (error) {
      if (!(error instanceof ApiException)) throw error;
      const { reason } = JSON.parse(String(error.body)) as { readonly reason: string };
      return [error.code, reason];
    }
  }

  test("create, list, read, replace and delete, without kind and apiVersion", async () => {
    const api = config.makeApiClient(CoreV1Api);
    const none = await api.listNamespacedConfigMap({ namespace, labelSelector: "none=such" });
    expect(none.items).toEqual([]);
    const body = { metadata: { name: "js" }, data: { a: "1" } };
    expect(await api.createNamespacedConfigMap({ namespace, body })).toMatchObject({ kind: "ConfigMap", ...body });
    expect(await failure(api.createNamespacedConfigMap({ namespace, body }))).toEqual([409, "AlreadyExists"]);
    const stale = { ...body, metadata: { name: "js", resourceVersion: "1" } };
    expect(await failure(api.replaceNamespacedConfigMap({ name: "js", namespace, body: stale }))).toEqual([
      409,
      "Conflict",
    ]);
    const replaced = await api.replaceNamespacedConfigMap({
      name: "js",
      namespace,
      body: { ...body, data: { b: "2" } },
    });
    expect(replaced.data).toEqual({ b: "2" });
    const all = await api.listConfigMapForAllNamespaces({ fieldSelector: "metadata.name=js" });
    expect(all.items.map(({ metadata }) => metadata?.name)).toEqual(["js"]);
    expect(await api.deleteNamespacedConfigMap({ name: "js", namespace })).toMatchObject({ status: "Success" });
    expect(await failure(api.readNamespacedConfigMap({ name: "js", namespace }))).toEqual([404, "NotFound"]);
    expect(await failure(api.createNamespacedConfigMap({ namespace, body: { metadata: { name: "Bad" } } }))).toEqual([
      422,
      "Invalid",
    ]);
  });

  test.each([
    [PatchStrategy.JsonPatch, [{ op: "add", path: "/data/b", value: "2" }]],
    [PatchStrategy.MergePatch, { data: { b: "2" } }],
    [PatchStrategy.StrategicMergePatch, { data: { b: "2" } }],
    [
      PatchStrategy.ServerSideApply,
      { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "patched" }, data: { b: "2" } },
    ],
  ])("patch with %s", async (strategy, body) => {
    const api = config.makeApiClient(CoreV1Api);
    await api.createNamespacedConfigMap({ namespace, body: { metadata: { name: "patched" }, data: { a: "1" } } });
    const fieldManager = strategy === PatchStrategy.ServerSideApply ? { fieldManager: "js" } : {};
    const patched = await api.patchNamespacedConfigMap(
      { name: "patched", namespace, body, ...fieldManager },
      setHeaderOptions("Content-Type", strategy),
    );
    expect(patched.data).toEqual({ a: "1", b: "2" });
    await api.deleteNamespacedConfigMap({ name: "patched", namespace });
  });

  test("ask who a token is and what a user may", async () => {
    const review = await config
      .makeApiClient(AuthenticationV1Api)
      .createTokenReview({ body: { spec: { token: "nobody" } } });
    expect(review.status?.authenticated ?? false).toBe(false);
    const resourceAttributes = { namespace, verb: "get", resource: "pods" };
    const access = await config
      .makeApiClient(AuthorizationV1Api)
      .createSubjectAccessReview({ body: { spec: { user: "ada", groups: ["system:masters"], resourceAttributes } } });
    expect(access.status?.allowed).toBe(true);
  });

  test("define a kind, and write objects of it", async () => {
    const definitions = config.makeApiClient(ApiextensionsV1Api);
    const objects = KubernetesObjectApi.makeApiClient(config);
    await objects.create(thingDefinition);
    await eventually("the definition to be established", async () => {
      const { status } = await definitions.readCustomResourceDefinition({ name: "things.example.com" });
      return status?.conditions?.some(({ type, status }) => type === "Established" && status === "True") || undefined;
    });
    const api = config.makeApiClient(CustomObjectsApi);
    const kind = { group: "example.com", version: "v1", namespace, plural: "things" };
    const thing = { apiVersion: "example.com/v1", kind: "Thing", metadata: { name: "js" }, spec: { size: 1 } };
    expect(await api.createNamespacedCustomObject({ ...kind, body: thing })).toMatchObject(thing);
    const wrong = { ...thing, metadata: { name: "bad" }, spec: { size: "big" } };
    expect(await failure(api.createNamespacedCustomObject({ ...kind, body: wrong }))).toEqual([422, "Invalid"]);
    expect(
      await api.patchNamespacedCustomObject(
        { ...kind, name: "js", body: { spec: { size: 2 } } },
        setHeaderOptions("Content-Type", PatchStrategy.MergePatch),
      ),
    ).toMatchObject({ spec: { size: 2 } });
    const listed = (await api.listNamespacedCustomObject(kind)) as { readonly items: readonly object[] };
    expect(listed.items).toHaveLength(1);
    expect(await objects.read(thing)).toMatchObject({ spec: { size: 2 } });
    expect(await api.deleteNamespacedCustomObject({ ...kind, name: "js" })).toMatchObject({ status: "Success" });
    await definitions.deleteCustomResourceDefinition({ name: "things.example.com" });
  });
});
