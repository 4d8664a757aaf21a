import { describe, expect, test } from "vitest";
import { memoryApi, type MemoryApi } from "../../test/kits/memory-api.ts";
import { fakeClock } from "../../test/kits/fake-clock.ts";
import { StatusError } from "../apimachinery/status.ts";
import type { Event } from "../apis/event.ts";
import { eventRecorder, type Recorded, type Recording } from "./event-recorder.ts";
import { events, namespaces } from "./kinds.ts";
import type { Report } from "./controller.ts";

function bench(): {
  readonly api: MemoryApi;
  readonly clock: ReturnType<typeof fakeClock>;
  readonly by: Recording;
  readonly stored: () => readonly Event[];
} {
  const clock = fakeClock();
  const api = memoryApi({ clock });
  return {
    api,
    clock,
    by: { client: api.client, controller: "test" },
    stored: () => api.all(events) as readonly Event[],
  };
}

function report(part: Partial<Report> & { readonly name?: string } = {}): Report {
  const { name = "vm-1", ...rest } = part;
  const about = { apiVersion: "access.pratique.dev/v1alpha1", kind: "AccessRequest", name, uid: `uid-${name}` };
  return { reason: "AccessRequestDenied", about, message: "denied", ...rest };
}

describe("an event recorder", () => {
  test("counts what repeats in one Event for each object and reason, with the last message", async () => {
    const { clock, by, stored } = bench();
    const record = eventRecorder(clock);
    await record(by, report());
    await clock.advance(60_000);
    await record(by, report({ message: "denied again" }));
    await record(by, report({ reason: "AccessRevoked" }));
    expect(stored().map(({ reason, message, count }) => [reason, message, count])).toEqual(
      expect.arrayContaining([
        ["AccessRequestDenied", "denied again", 2],
        ["AccessRevoked", "denied", 1],
      ]),
    );
    const [first] = stored().filter(({ count }) => count === 2);
    expect(Date.parse(first?.lastTimestamp ?? "") - Date.parse(first?.firstTimestamp ?? "")).toBe(60_000);
  });

  test("records once what is to be recorded once, also after a restart", async () => {
    const { clock, by, stored } = bench();
    const record = eventRecorder(clock);
    const kinds = async (of: typeof record): Promise<Recorded["kind"]> => (await of(by, report({ once: true }))).kind;
    expect([await kinds(record), await kinds(record), await kinds(eventRecorder(clock))]).toEqual([
      "written",
      "known",
      "known",
    ]);
    expect(stored()).toHaveLength(1);
  });

  test("records what is to be recorded once at the next attempt, where the API has refused the first one", async () => {
    const { api, clock, by, stored } = bench();
    const record = eventRecorder(clock);
    api.failNext("create", events, new StatusError("InternalError", "no"));
    expect(await record(by, report({ once: true }))).toMatchObject({ kind: "failed" });
    expect(await record(by, report({ once: true }))).toEqual({ kind: "written" });
    expect(stored()).toMatchObject([{ count: 1 }]);
  });

  test("counts on after a restart in the Event that is there", async () => {
    const { clock, by, stored } = bench();
    await eventRecorder(clock)(by, report());
    await eventRecorder(clock)(by, report({ message: "later" }));
    expect(stored().map(({ message }) => message)).toEqual(["later"]);
  });

  test("keeps what was counted while a first create found that the Event is there", async () => {
    const { api, clock, by, stored } = bench();
    await eventRecorder(clock)(by, report());
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const create: typeof api.client.create = async (...args) => {
      await held;
      return api.client.create(...args);
    };
    const record = eventRecorder(clock);
    const slow = { ...by, client: { ...api.client, create } };
    const first = record(slow, report());
    await record(slow, report());
    release();
    await first;
    await record(slow, report());
    expect(stored().map(({ count }) => count)).toEqual([3]);
  });

  test("begins another Event when the one that it counted in has ended", async () => {
    const { clock, by, stored } = bench();
    const record = eventRecorder(clock);
    await record(by, report());
    const [first] = stored();
    await by.client.delete(events, { namespace: "default", name: first?.metadata.name ?? "" });
    await clock.advance(3_600_000);
    expect((await record(by, report({ message: "denied again" }))).kind).toBe("written");
    const [next] = stored();
    expect(next).toMatchObject({ message: "denied again", count: 1 });
    expect(next?.firstTimestamp).toBe(next?.lastTimestamp);
    expect((await record(by, report())).kind).toBe("written");
    expect(stored()).toMatchObject([{ message: "denied", count: 2 }]);
  });

  test("holds back more than 25 of one object, and lets one through every five minutes", async () => {
    const { clock, by } = bench();
    const record = eventRecorder(clock);
    const kinds: string[] = [];
    for (let index = 0; index < 30; index += 1) kinds.push((await record(by, report())).kind);
    expect(kinds.filter((kind) => kind === "written")).toHaveLength(25);
    expect((await record(by, report({ name: "vm-2" }))).kind).toBe("written");
    await clock.advance(300_000);
    expect((await record(by, report())).kind).toBe("written");
    expect((await record(by, report())).kind).toBe("limited");
  });

  test("of one reason, writes no more than 520 at once and then little more than its share in a second, however many objects", async () => {
    const { clock, by, stored } = bench();
    const record = eventRecorder(clock);
    for (let index = 0; index < 1000; index += 1) await record(by, report({ name: `vm-${index}` }));
    expect(stored()).toHaveLength(520);
    await clock.advance(10_000);
    for (let index = 1000; index < 1200; index += 1) await record(by, report({ name: `vm-${index}` }));
    expect(stored()).toHaveLength(520 + 100 + 1);
  });

  test("a flood of marks about any number of objects holds back no decision and no issuance", async () => {
    const { clock, by, stored } = bench();
    const record = eventRecorder(clock);
    for (let index = 0; index < 3000; index += 1) {
      await record({ ...by, controller: "csrapproving" }, report({ name: `csr-${index}`, reason: "NodeNameInUse" }));
    }
    const signing = { ...by, controller: "csrsigning" };
    for (let index = 0; index < 500; index += 1) {
      await record(signing, report({ name: `csr-${index}`, reason: "CertificateIssued" }));
    }
    expect(stored().filter(({ reason }) => reason === "CertificateIssued")).toHaveLength(500);
    expect(stored().filter(({ reason }) => reason === "NodeNameInUse")).toHaveLength(520);
  });

  test("a flood of one reason leaves each other reason and source a share of its own", async () => {
    const { clock, by } = bench();
    const record = eventRecorder(clock);
    const kinds = async (controller: string, reason: Report["reason"]): Promise<readonly string[]> => {
      const all: string[] = [];
      for (let index = 0; index < 600; index += 1) {
        all.push((await record({ ...by, controller }, report({ name: `${controller}-${index}`, reason }))).kind);
      }
      return all.filter((kind) => kind === "written");
    };
    expect(await kinds("csrsigning", "CertificateIssued")).toHaveLength(520);
    expect(await kinds("csrdecisions", "CertificateDenied")).toHaveLength(20);
    expect(await kinds("csrapproving", "NodeNameInUse")).toHaveLength(520);
    expect(await kinds("csrapproving", "RequesterRevoked")).toHaveLength(20);
    expect(await kinds("servingapproving", "RequesterRevoked")).toHaveLength(20);
  });

  test("marks of one source about an object leave other sources, and decisions, their own 25 of it", async () => {
    const { clock, by } = bench();
    const record = eventRecorder(clock);
    const mark = report({ reason: "NodeNameInUse" });
    for (let index = 0; index < 30; index += 1) await record(by, mark);
    expect((await record(by, mark)).kind).toBe("limited");
    expect((await record(by, report({ reason: "CertificateApproved" }))).kind).toBe("written");
    expect((await record({ ...by, controller: "other" }, mark)).kind).toBe("written");
  });

  test("escapes and cuts texts of strangers", async () => {
    const { clock, by, stored } = bench();
    const message = `by \u001b[2Jada\u202e\n${"é".repeat(2000)}`;
    await eventRecorder(clock)(by, report({ message }));
    const [event] = stored();
    expect(event?.message).toMatch(/^by \\u\{1b\}\[2Jada\\u\{202e\}\\u\{a\}é+…$/);
    expect(Buffer.byteLength(event?.message ?? "")).toBeLessThanOrEqual(1024);
  });

  test("takes a namespace that is being deleted for no failure", async () => {
    const { by, stored } = bench();
    await by.client.create(namespaces, { apiVersion: "v1", kind: "Namespace", metadata: { name: "going" } });
    await by.client.delete(namespaces, { name: "going" });
    const about = { apiVersion: "v1", kind: "Secret", namespace: "going", name: "s", uid: "u" };
    expect(await eventRecorder(fakeClock())(by, report({ about }))).toEqual({ kind: "limited" });
    expect(stored()).toEqual([]);
  });

  test("never rejects: what the API refuses is returned", async () => {
    const clock = fakeClock();
    const api = memoryApi({ clock });
    const error = new TypeError("no");
    api.failNext("create", events, error);
    expect(await eventRecorder(clock)({ client: api.client, controller: "test" }, report())).toEqual({
      kind: "failed",
      error,
    });
  });
});
