import { describe, expect, test } from "vitest";
import { fakeApi } from "../../test/kits/fake-api.ts";
import { fakeClock } from "../../test/kits/fake-clock.ts";
import type { Event } from "../resources/event.ts";
import { eventRecorder, type Recorded, type Recording } from "./event-recorder.ts";
import { events } from "./kinds.ts";
import type { Told } from "./told.ts";

function bench(): {
  readonly clock: ReturnType<typeof fakeClock>;
  readonly by: Recording;
  readonly stored: () => readonly Event[];
} {
  const clock = fakeClock();
  const api = fakeApi({ clock });
  return {
    clock,
    by: { client: api.client, controller: "test" },
    stored: () => api.all(events) as readonly Event[],
  };
}

function told(part: Partial<Told> & { readonly name?: string } = {}): Told {
  const { name = "vm-1", ...rest } = part;
  const about = { apiVersion: "access.pratique.dev/v1alpha1", kind: "AccessRequest", name, uid: `uid-${name}` };
  return { reason: "AccessRequestDenied", about, message: "denied", ...rest };
}

describe("an event recorder", () => {
  test("counts what repeats in one Event for each object and reason, with the last message", async () => {
    const { clock, by, stored } = bench();
    const record = eventRecorder(clock);
    await record(by, told());
    await clock.advance(60_000);
    await record(by, told({ message: "denied again" }));
    await record(by, told({ reason: "AccessRevoked" }));
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
    const kinds = async (of: typeof record): Promise<Recorded["kind"]> => (await of(by, told({ once: true }))).kind;
    expect([await kinds(record), await kinds(record), await kinds(eventRecorder(clock))]).toEqual([
      "written",
      "known",
      "known",
    ]);
    expect(stored()).toHaveLength(1);
  });

  test("counts on after a restart in the Event that is there", async () => {
    const { clock, by, stored } = bench();
    await eventRecorder(clock)(by, told());
    await eventRecorder(clock)(by, told({ message: "later" }));
    expect(stored().map(({ message }) => message)).toEqual(["later"]);
  });

  test("holds back more than 25 of one object, and lets one through every five minutes", async () => {
    const { clock, by } = bench();
    const record = eventRecorder(clock);
    const kinds: string[] = [];
    for (let index = 0; index < 30; index += 1) kinds.push((await record(by, told())).kind);
    expect(kinds.filter((kind) => kind === "written")).toHaveLength(25);
    expect((await record(by, told({ name: "vm-2" }))).kind).toBe("written");
    await clock.advance(300_000);
    expect((await record(by, told())).kind).toBe("written");
    expect((await record(by, told())).kind).toBe("limited");
  });

  test("writes no more than 500 at once and 10 a second, however many objects there are", async () => {
    const { clock, by, stored } = bench();
    const record = eventRecorder(clock);
    for (let index = 0; index < 1000; index += 1) await record(by, told({ name: `vm-${index}` }));
    expect(stored()).toHaveLength(500);
    await clock.advance(1000);
    for (let index = 1000; index < 1100; index += 1) await record(by, told({ name: `vm-${index}` }));
    expect(stored()).toHaveLength(510);
  });

  test("escapes and cuts texts of strangers", async () => {
    const { clock, by, stored } = bench();
    const message = `by \u001b[2Jada\u202e\n${"é".repeat(2000)}`;
    await eventRecorder(clock)(by, told({ message }));
    const [event] = stored();
    expect(event?.message).toMatch(/^by \\u\{1b\}\[2Jada\\u\{202e\}\\u\{a\}é+…$/);
    expect(Buffer.byteLength(event?.message ?? "")).toBeLessThanOrEqual(1024);
  });

  test("never rejects: what the API refuses is returned", async () => {
    const clock = fakeClock();
    const api = fakeApi({ clock });
    const error = new TypeError("no");
    api.failNext("create", events, error);
    expect(await eventRecorder(clock)({ client: api.client, controller: "test" }, told())).toEqual({
      kind: "failed",
      error,
    });
  });
});
