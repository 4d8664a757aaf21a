import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { apiClient, type ApiClient } from "../kits/api-client.ts";
import { definition, establish } from "../kits/definitions.ts";
import { startTestHub, type TestHub } from "../kits/hub.ts";

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

const post = (path: string, body: object): ReturnType<ApiClient> => api(path, { method: "POST", body });
const widgets = "/apis/example.com/v1/namespaces/default/widgets";
const widget = (name: string, spec: object = {}): object => ({
  apiVersion: "example.com/v1",
  kind: "Widget",
  metadata: { name },
  spec,
});

describe("a custom resource", () => {
  beforeAll(() => establish(api, definition()));

  it("is created, read, listed and watched", async () => {
    const stream = await api.stream(`${widgets}?watch=true`);
    const created = await post(widgets, widget("a", { size: 3 }));
    expect([created.status, created.object()]).toMatchObject([
      201,
      { apiVersion: "example.com/v1", kind: "Widget", metadata: { name: "a", generation: 1 }, spec: { size: 3 } },
    ]);
    expect(await stream.next()).toMatchObject({ type: "ADDED", object: { metadata: { name: "a" } } });
    stream.close();
    expect((await api(`${widgets}/a`)).object()).toEqual(created.object());
    expect((await api(widgets)).json()).toMatchObject({ kind: "WidgetList", items: [created.object()] });
  });
});
