import { describe, expect, it } from "vitest";
import type { LogEntry } from "../apimachinery/log-entry.ts";
import { fakeClock } from "../../test/kits/fake-clock.ts";
import type { Client, ResourceRef } from "../client/client.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import { StatusError } from "../apimachinery/status.ts";
import { valueAt } from "../apis/json-fields.ts";
import { registerWebhook } from "./webhook-registration.ts";

const made = (): ApiObject => ({
  apiVersion: "",
  kind: "",
  metadata: { name: "pratique-access", resourceVersion: "1" },
  webhooks: [{ name: "a", clientConfig: { url: "https://10.0.0.5" } }],
});

function cluster(): {
  readonly client: Client;
  readonly stored: Map<string, ApiObject>;
  readonly writes: () => number;
} {
  const stored = new Map<string, ApiObject>();
  let writes = 0;
  const calls: Partial<Client> = {
    get: async <T extends ApiObject>({ plural }: ResourceRef) => {
      const found = stored.get(plural);
      if (found === undefined) throw new StatusError("NotFound", `${plural} not found`);
      return found as T;
    },
    update: async <T extends ApiObject>({ plural }: ResourceRef, object: ApiObject) => {
      writes += 1;
      stored.set(plural, object);
      return object as T;
    },
  };
  return { client: calls as Client, stored, writes: () => writes };
}

const kinds = ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"];
const expected = { url: "https://10.0.0.5", caBundle: Buffer.from("CA").toString("base64") };

describe("the registration of the webhook", () => {
  it("waits for the configurations, fills the CA in, and does so again where it is gone", async () => {
    const { client, stored, writes } = cluster();
    const clock = fakeClock();
    const stop = new AbortController();
    const said: string[] = [];
    const log = ({ reason }: LogEntry): void => void said.push(reason);
    const done = registerWebhook({
      client,
      clock,
      names: ["pratique-access"],
      conversions: [],
      caPem: "CA",
      log,
      signal: stop.signal,
    });
    await clock.advance(1_000);
    expect(said).toEqual(["WebhookRegistrationFailed"]);
    for (const kind of kinds) stored.set(kind, made());
    await clock.advance(2_000);
    for (const kind of kinds) expect(valueAt(stored.get(kind), "webhooks")).toMatchObject([{ clientConfig: expected }]);
    expect([said.at(-1), writes()]).toEqual(["WebhookRegistered", 2]);
    await clock.advance(180_000);
    expect(writes()).toBe(2);
    stored.set("mutatingwebhookconfigurations", made());
    await clock.advance(60_000);
    expect(writes()).toBe(3);
    stop.abort();
    await done;
  });

  it("fills the CA into a definition that is converted here, and leaves alone what another converts", async () => {
    const plural = "customresourcedefinitions";
    const clientConfig = { url: "https://10.0.0.5/convert" };
    const conversions = [{ definition: "managedclusteraddons.addon.open-cluster-management.io", clientConfig }];
    const definition = (config: object): ApiObject => ({
      ...made(),
      spec: { group: "g", conversion: { strategy: "Webhook", webhook: { clientConfig: config } } },
    });
    const { client, stored, writes } = cluster();
    const [clock, stop] = [fakeClock(), new AbortController()];
    const theirs = definition({ url: "https://10.0.0.6/convert", caBundle: "b3RoZXI=" });
    stored.set(plural, theirs);
    const log = (): void => undefined;
    const done = registerWebhook({ client, clock, names: [], conversions, caPem: "CA", log, signal: stop.signal });
    await clock.advance(2_000);
    expect([stored.get(plural), writes()]).toEqual([theirs, 0]);
    stored.set(plural, definition(clientConfig));
    await clock.advance(2_000);
    expect(valueAt(stored.get(plural), "spec")).toEqual({
      group: "g",
      conversion: {
        strategy: "Webhook",
        webhook: { clientConfig: { ...clientConfig, caBundle: expected.caBundle } },
      },
    });
    await clock.advance(180_000);
    expect(writes()).toBe(1);
    stop.abort();
    await done;
  });

  it("says that it is registered where that was done without its being told so", async () => {
    const { client, stored } = cluster();
    const [clock, stop] = [fakeClock(), new AbortController()];
    const said: string[] = [];
    const log = ({ reason }: LogEntry): void => void said.push(reason);
    let answers = false;
    const slow: Client = {
      ...client,
      update: async <T extends ApiObject>(resource: ResourceRef, object: ApiObject) => {
        const updated = await client.update<T>(resource, object);
        if (!answers) throw new StatusError("Timeout", "the answer came too late");
        return updated;
      },
    };
    const names = ["pratique-access"];
    for (const kind of kinds) stored.set(kind, made());
    const done = registerWebhook({
      client: slow,
      clock,
      names,
      conversions: [],
      caPem: "CA",
      log,
      signal: stop.signal,
    });
    await clock.advance(1_000);
    await clock.advance(2_000);
    answers = true;
    await clock.advance(2_000);
    expect(said).toEqual(["WebhookRegistrationFailed", "WebhookRegistrationFailed", "WebhookRegistered"]);
    await clock.advance(180_000);
    expect(said).toHaveLength(3);
    stop.abort();
    await done;
  });
});
