import { afterEach, describe, expect, it } from "vitest";
import { apiClient } from "../kits/api-client.ts";
import { definition, establish, version } from "../kits/definitions.ts";
import { startTestHub, type TestHub } from "../kits/hub.ts";

let hub: TestHub | undefined;

afterEach(async () => {
  await hub?.close();
  hub = undefined;
});

const v1 = "/apis/example.com/v1/namespaces/default/widgets";
const v2 = "/apis/example.com/v2/namespaces/default/widgets";

describe("a hub with custom kinds that starts again", () => {
  it("serves them as before", async () => {
    const first = await startTestHub();
    const api = apiClient(first);
    await establish(api, definition({ versions: [version(), version({ name: "v2", storage: false })] }));
    const body = { apiVersion: "example.com/v1", kind: "Widget", metadata: { name: "a" }, spec: { size: 1 } };
    const made = (await api(v1, { method: "POST", body })).object();
    const discovery = await api("/apis/example.com/v1");
    api.close();
    await first.close("keep");

    hub = await startTestHub({ dir: first.dir });
    const again = apiClient(hub);
    expect((await again(`${v1}/a`)).object()).toEqual(made);
    expect((await again(`${v2}/a`)).object()).toEqual({ ...made, apiVersion: "example.com/v2" });
    expect((await again("/apis/example.com/v1")).text).toBe(discovery.text);
    const { resourceVersion = "" } = made.metadata;
    const stream = await again.stream(`${v1}?watch=true&resourceVersion=${resourceVersion}`);
    const changed = await again(`${v1}/a`, {
      method: "PATCH",
      type: "application/merge-patch+json",
      body: '{"spec":{"size":2}}',
    });
    expect(await stream.next()).toMatchObject({ type: "MODIFIED", object: changed.object() });
    stream.close();
    again.close();
  });

  it("goes on with the clean-up of a definition that was going", async () => {
    const first = await startTestHub();
    const api = apiClient(first);
    await establish(api, definition());
    const metadata = { name: "held", finalizers: ["example.com/hold"] };
    await api(v1, { method: "POST", body: { apiVersion: "example.com/v1", kind: "Widget", metadata } });
    const path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com";
    await api(path, { method: "DELETE" });
    api.close();
    await first.close("keep");

    hub = await startTestHub({ dir: first.dir });
    const again = apiClient(hub);
    await again(`${v1}/held`, {
      method: "PATCH",
      type: "application/merge-patch+json",
      body: '{"metadata":{"finalizers":null}}',
    });
    await expect.poll(async () => (await again(path)).status, { interval: 20 }).toBe(404);
    expect((await again(v1)).status).toBe(404);
    again.close();
  });
});
