import { afterEach, describe, expect, it } from "vitest";
import { apiClient, type ApiClient } from "../kits/api-client.ts";
import { startTestHub, type TestHub } from "../kits/hub.ts";

const maps = "/api/v1/namespaces/default/configmaps";

let hub: TestHub | undefined;

afterEach(async () => {
  await hub?.close();
  hub = undefined;
});

async function create(api: ApiClient, name: string): Promise<string> {
  const reply = await api(maps, { method: "POST", body: { metadata: { name } } });
  return reply.object().metadata.resourceVersion ?? "";
}

describe("a hub that is stopped", () => {
  it("ends open watches in the normal way, over both protocols, and does not wait for idle clients", async () => {
    const own = await startTestHub();
    const clients = [apiClient(own), apiClient(own, "admin", "http2")];
    const streams = [];
    for (const client of clients) {
      await client("/version");
      streams.push(await client.stream(`${maps}?watch=true&fieldSelector=metadata.name%3Dnone`));
    }
    const closed = own.close();
    expect(await Promise.all(streams.map((stream) => stream.rest()))).toEqual([[], []]);
    await closed;
    for (const client of clients) client.close();
  });

  it("goes on where it was: objects, versions, certificates, and watches from before", async () => {
    const first = await startTestHub();
    const api = apiClient(first);
    const from = await create(api, "before");
    const later = await create(api, "later");
    const before = (await api(`${maps}/before`)).object();
    api.close();
    await first.close("keep");

    hub = await startTestHub({ dir: first.dir });
    expect(hub.hub.caPin).toBe(first.hub.caPin);
    const again = apiClient(hub);
    expect((await again(`${maps}/before`)).object()).toEqual(before);
    const stream = await again.stream(`${maps}?watch=true&resourceVersion=${from}`);
    const missed = await stream.next();
    expect([missed.type, missed.object.metadata.name, missed.object.metadata.resourceVersion]).toEqual([
      "ADDED",
      "later",
      later,
    ]);
    const next = await create(again, "after");
    expect(Number(next)).toBeGreaterThan(Number(later));
    expect((await stream.next()).object.metadata).toMatchObject({ name: "after", resourceVersion: next });
    stream.close();
    again.close();
  });

  it("makes no version twice, even when the newest object was deleted before", async () => {
    const first = await startTestHub();
    const api = apiClient(first);
    await create(api, "gone");
    await api(`${maps}/gone`, { method: "DELETE" });
    const { resourceVersion } = (await api(maps)).json()["metadata"] as { readonly resourceVersion: string };
    api.close();
    await first.close("keep");

    hub = await startTestHub({ dir: first.dir });
    const again = apiClient(hub);
    expect(Number(await create(again, "new"))).toBeGreaterThan(Number(resourceVersion));
    again.close();
  });
});
