import { describe, expect, test } from "vitest";
import { keyOf } from "../client/paths.ts";
import type { ApiObject, ObjectKey } from "../apimachinery/object.ts";
import { conflict } from "../apimachinery/status.ts";
import { controllerBench, type ControllerBench } from "../../test/kits/controller-bench.ts";
import { settled } from "../../test/kits/fake-clock.ts";
import { done, type Controller, type Outcome, referenceTo, type Report } from "./controller.ts";
import { configMaps, events, namespaces, secrets } from "./kinds.ts";

const configMap = (name: string): ApiObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { namespace: "n", name },
});

function controller(reconcile: (key: ObjectKey) => Promise<Outcome>, extra: Partial<Controller> = {}): Controller {
  return {
    name: "test",
    serviceAccount: "tester",
    watches: [{ resource: configMaps }],
    concurrency: 2,
    reconcile,
    ...extra,
  };
}

/** Resolves with the next change of a ConfigMap, once every watch that began before has been told of it. */
async function nextChange({ client }: ControllerBench): Promise<void> {
  const { metadata } = await client.list(configMaps);
  const ending = new AbortController();
  const from = { resourceVersion: metadata.resourceVersion, signal: ending.signal };
  const changes = client.watch(configMaps, from)[Symbol.asyncIterator]();
  await changes.next();
  ending.abort();
}

describe("runControllers", () => {
  test("reconciles what exists, and each change in the microtasks after its write", async () => {
    const bench = controllerBench();
    const seen: string[] = [];
    await bench.client.create(configMaps, configMap("a"));
    await bench.start(controller(async (key) => (seen.push(key.name), done)));
    expect(seen).toEqual(["a"]);
    const told = nextChange(bench);
    await settled();
    await bench.client.create(configMaps, configMap("b"));
    await told;
    for (let microtask = 0; microtask < 20; microtask += 1) await Promise.resolve();
    expect(seen).toEqual(["a", "b"]);
    await bench.stop();
  });

  test("begins only when all informers of a controller are synced", async () => {
    const bench = controllerBench();
    await bench.client.create(configMaps, configMap("a"));
    bench.api.failNext("list", secrets, new TypeError("not yet"));
    const seen: string[] = [];
    const both = controller(async (key) => (seen.push(key.name), done), {
      watches: [{ resource: configMaps }, { resource: secrets }],
    });
    const started = bench.start(both);
    await settled();
    expect(seen).toEqual([]);
    await bench.clock.advance(1000);
    await started;
    expect(seen).toEqual(["a"]);
    await bench.stop();
  });

  test("logs what is thrown with controller, key and attempt, and tries again with growing pauses", async () => {
    const bench = controllerBench();
    await bench.client.create(configMaps, configMap("a"));
    let calls = 0;
    await bench.start(
      controller(async () => {
        calls += 1;
        if (calls === 1) throw new TypeError("broken");
        if (calls === 2) throw conflict({ group: "", plural: "configmaps" }, "a", "stale");
        return calls === 3 ? { kind: "retry", why: "wait" } : done;
      }),
    );
    await bench.clock.advance(5 + 10 + 20);
    expect(calls).toBe(4);
    expect(bench.log).toEqual([
      { level: "warn", reason: "ReconcileError", message: "broken", controller: "test", key: "n/a", attempt: 1 },
      expect.objectContaining({ level: "debug", reason: "ReconcileRequeued", attempt: 2 }),
      { level: "debug", reason: "ReconcileRequeued", message: "wait", controller: "test", key: "n/a", attempt: 3 },
    ]);
    await bench.stop();
  });

  test("requeues after the time a controller names", async () => {
    const bench = controllerBench();
    await bench.client.create(configMaps, configMap("a"));
    let calls = 0;
    await bench.start(
      controller(async () => ((calls += 1), calls === 1 ? { kind: "requeue", afterMs: 60_000, why: "later" } : done)),
    );
    await bench.clock.advance(59_999);
    expect(calls).toBe(1);
    await bench.clock.advance(1);
    expect(calls).toBe(2);
    await bench.stop();
  });

  test("wakes the keys that a watch names in place of the object's own", async () => {
    const bench = controllerBench();
    const seen: string[] = [];
    const keys = (object: ApiObject): readonly ObjectKey[] => [{ name: `of-${object.metadata.name ?? ""}` }];
    await bench.start(
      controller(async (key) => (seen.push(key.name), done), { watches: [{ resource: namespaces, keys }] }),
    );
    await bench.client.create(namespaces, { apiVersion: "v1", kind: "Namespace", metadata: { name: "x" } });
    await settled();
    expect(seen).toEqual(["of-x"]);
    await bench.stop();
  });

  test("shares one informer among controllers of one identity, and not across identities", async () => {
    const bench = controllerBench();
    const one = bench.informers.get("a", { resource: configMaps });
    expect(bench.informers.get("a", { resource: configMaps })).toBe(one);
    expect(bench.informers.get("b", { resource: configMaps })).not.toBe(one);
    expect(bench.informers.get("a", { resource: configMaps, namespace: "n" })).not.toBe(one);
    expect(bench.informers.get("a", { resource: secrets })).not.toBe(one);
    await bench.start();
    await bench.stop();
  });

  test("follows kinds that are added at a refresh", async () => {
    const bench = controllerBench();
    const seen: string[] = [];
    const kinds = [configMaps];
    const running = await bench.start(
      controller(async (key) => (seen.push(key.name), done), {
        watches: () => kinds.map((resource) => ({ resource })),
      }),
    );
    kinds.push(secrets);
    await bench.client.create(secrets, { ...configMap("s"), kind: "Secret" });
    await settled();
    expect(seen).toEqual([]);
    running.refresh();
    running.refresh();
    await settled();
    expect(seen).toEqual(["s"]);
    await bench.stop();
  });

  test("stops after what is under way, and does not log its abort", async () => {
    const bench = controllerBench();
    await bench.client.create(configMaps, configMap("a"));
    let release: () => void = () => undefined;
    await bench.start(
      controller(async () => {
        await new Promise<void>((resolve) => (release = resolve));
        throw new TypeError("aborted");
      }),
    );
    let stopped = false;
    const stopping = bench.stop().then(() => (stopped = true));
    await settled();
    expect(stopped).toBe(false);
    release();
    await stopping;
    expect(bench.log).toEqual([]);
    expect(bench.clock.sleeping()).toBe(0);
  });

  test("tells of an obstacle when it begins, when it becomes another, and when it comes back", async () => {
    const bench = controllerBench();
    await bench.client.create(configMaps, configMap("a"));
    const outcomes: readonly Outcome[] = [
      blocked("first"),
      blocked("first"),
      blocked("second"),
      { kind: "requeue", afterMs: 10, why: "free" },
      blocked("second"),
    ];
    let calls = 0;
    await bench.start(controller(async () => outcomes[calls++] ?? done));
    await bench.clock.advance(1000);
    expect(calls).toBe(6);
    expect(bench.log.map(({ level, reason, message, object }) => [level, reason, message, object])).toEqual(
      ["first", "second", "second"].map((message) => ["warn", "IssuingFailed", message, "ConfigMap/n/a"]),
    );
    expect(bench.counted).toEqual(["IssuingFailed", "IssuingFailed", "IssuingFailed"]);
    const [event] = bench.api.all(events);
    expect(event).toMatchObject({ type: "Warning", reason: "IssuingFailed", metadata: { namespace: "n" }, count: 3 });
    await bench.stop();
  });

  test("tells of what is retried and fails again and again, once, in an Event of its object", async () => {
    const bench = controllerBench();
    await bench.client.create(configMaps, configMap("fails"));
    await bench.client.create(configMaps, configMap("waits"));
    await bench.start(
      controller(async ({ name }) => {
        if (name === "fails") throw new TypeError("broken");
        return { kind: "retry", why: "not yet" };
      }),
    );
    await bench.clock.advance(100_000);
    const reported = bench.api.all(events).map((event) => [event["reason"], event["message"], event["count"]]);
    expect(reported).toEqual([
      ["ReconcileFailed", "test tried 7 times and keeps trying: broken", 1],
      ["ReconcileRetried", "test tried 7 times and keeps trying: not yet", 1],
    ]);
    await bench.stop();
  });

  test("tells of a key that other objects wake, and in log and metric of one that is no object", async () => {
    const bench = controllerBench();
    await bench.client.create(configMaps, configMap("a"));
    const watches = [{ resource: configMaps, keys: (object: ApiObject) => [keyOf(object), { name: "of-no-object" }] }];
    await bench.start({ ...controller(async () => ({ kind: "retry", why: "not yet" })), watches });
    await bench.clock.advance(100_000);
    const message = "test tried 7 times and keeps trying: not yet";
    expect(bench.api.all(events)).toMatchObject([{ message, involvedObject: { kind: "ConfigMap", name: "a" } }]);
    expect(bench.log.filter(({ reason }) => reason === "ReconcileRetried")).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ level: "warn", message, object: "ConfigMap/n/a" }),
        expect.objectContaining({ level: "warn", message, key: "of-no-object" }),
      ]),
    );
    expect(bench.counted).toEqual(["ReconcileRetried", "ReconcileRetried"]);
    await bench.stop();
  });

  test("goes on where no Event can be written, and says so once", async () => {
    const bench = controllerBench();
    await bench.client.create(configMaps, configMap("a"));
    bench.api.failNext("create", events, new TypeError("forbidden"));
    await bench.start(controller(async () => blocked("first")));
    expect(bench.log).toMatchObject([
      { reason: "IssuingFailed", message: "first" },
      { reason: "EventWriteFailed", message: "the controller cannot write Events", error: "forbidden" },
    ]);
    await bench.stop();
  });

  test("cuts long texts of strangers in the log", async () => {
    const bench = controllerBench();
    await bench.client.create(configMaps, configMap("a"));
    await bench.start(controller(async () => blocked("x".repeat(5000), { user: "u".repeat(5000) })));
    const [entry] = bench.log;
    expect([entry?.message.length, String(entry?.["user"]).length]).toEqual([513, 513]);
    await bench.stop();
  });
});

function blocked(message: string, details: Report["details"] = {}): Outcome {
  const about = { ...referenceTo(configMaps, configMap("a")), uid: "uid-1" };
  const because: Report = { reason: "IssuingFailed", about, message, details };
  return { kind: "blocked", because, again: "paused" };
}
