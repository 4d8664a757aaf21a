import { expect, test } from "vitest";
import { controllerBench } from "../../../test/kits/controller-bench.ts";
import { settled } from "../../../test/kits/fake-clock.ts";
import { rfc3339 } from "../../apimachinery/clock.ts";
import type { ApiObject } from "../../apimachinery/object.ts";
import { events } from "../kinds.ts";
import { eventExpiry } from "./event-expiry.ts";

const minute = 60_000;

test("Events go an hour after they were last counted, also those that claim a time ahead", async () => {
  const bench = controllerBench();
  const { clock, client, informers } = bench;
  const event = (name: string, lastTimestamp: string): ApiObject => ({
    apiVersion: "v1",
    kind: "Event",
    metadata: { namespace: "default", name, creationTimestamp: rfc3339(clock.now()) },
    involvedObject: { kind: "Node", name: "n1" },
    lastTimestamp,
  });
  await client.create(events, event("old", rfc3339(clock.now())));
  await client.create(events, event("ahead", "2999-01-01T00:00:00Z"));
  await client.create(events, event("counted", rfc3339(clock.now())));
  await bench.start(eventExpiry({ informers, clock }));
  await clock.advance(40 * minute);
  const key = { namespace: "default", name: "counted" };
  await client.patch(events, key, { lastTimestamp: rfc3339(clock.now()) });
  await settled();
  const names = (): readonly (string | undefined)[] => bench.api.all(events).map(({ metadata }) => metadata.name);
  expect(names()).toEqual(["ahead", "counted", "old"]);
  await clock.advance(20 * minute);
  expect(names()).toEqual(["counted"]);
  await clock.advance(40 * minute);
  expect(names()).toEqual([]);
  await bench.stop();
});
