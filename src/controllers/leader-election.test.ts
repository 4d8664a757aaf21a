import { describe, expect, it } from "vitest";
import { fakeClock, settled, type FakeClock } from "../../test/kits/fake-clock.ts";
import type { Client } from "../client/client.ts";
import type { LogEntry } from "../apimachinery/log-entry.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import { StatusError } from "../apimachinery/status.ts";
import { leaderTimings, leadWhileElected, leaseStep, type LeaseView } from "./leader-election.ts";

const start = Date.UTC(2026, 10, 21);
const view = (over: Partial<LeaseView>): LeaseView => ({
  lease: undefined,
  seenAt: start,
  identity: "me",
  now: start,
  leaseMs: 15_000,
  ...over,
});
const held = { holderIdentity: "you", leaseDurationSeconds: 15, acquireTime: "x", leaseTransitions: 3 };

describe("a step of an election", () => {
  it("makes the lease where there is none", () => {
    const spec = {
      holderIdentity: "me",
      leaseDurationSeconds: 15,
      acquireTime: "2026-11-21T00:00:00.000000Z",
      renewTime: "2026-11-21T00:00:00.000000Z",
      leaseTransitions: 0,
    };
    expect(leaseStep(view({}))).toEqual({ kind: "write", spec });
  });

  it.each<[string, Partial<LeaseView>, object]>([
    ["waits for a holder who renews", { lease: { spec: held }, now: start + 14_999 }, { kind: "wait", holder: "you" }],
    [
      "takes over from one who has been silent for as long as a lease",
      { lease: { spec: held }, now: start + 15_000 },
      {
        kind: "write",
        spec: { holderIdentity: "me", leaseTransitions: 4, acquireTime: "2026-11-21T00:00:15.000000Z" },
      },
    ],
    [
      "waits longer where the holder asked for longer",
      { lease: { spec: { ...held, leaseDurationSeconds: 60 } }, now: start + 59_999 },
      { kind: "wait" },
    ],
    [
      "takes what was given back at once",
      { lease: { spec: { ...held, holderIdentity: "" } } },
      { kind: "write", spec: { holderIdentity: "me", leaseTransitions: 4 } },
    ],
    [
      "renews its own and stays the leader of the same term",
      { lease: { spec: { ...held, holderIdentity: "me" } }, now: start + 60_000 },
      { kind: "write", spec: { acquireTime: "x", leaseTransitions: 3, renewTime: "2026-11-21T00:01:00.000000Z" } },
    ],
    [
      "believes no clock but its own",
      { lease: { spec: { ...held, renewTime: "1999-01-01T00:00:00.000000Z" } } },
      { kind: "wait" },
    ],
  ])("%s", (_what, over, expected) => {
    expect(leaseStep(view(over))).toMatchObject(expected);
  });
});

interface LeaseApi {
  readonly client: Client;
  lease: ApiObject | undefined;
  down: boolean;
  hang: boolean;
}

/** One lease, as an API keeps it; `down` refuses everything. */
function leaseApi(): LeaseApi {
  let version = 0;
  const api: Omit<LeaseApi, "client"> = { lease: undefined, down: false, hang: false };
  const check = async (): Promise<void> => {
    if (api.hang) await new Promise(() => undefined);
    if (api.down) throw new StatusError("ServiceUnavailable", "down");
  };
  const put = (object: ApiObject): ApiObject => {
    version += 1;
    api.lease = { ...object, metadata: { ...object.metadata, resourceVersion: String(version) } };
    return api.lease;
  };
  const calls: Partial<Client> = {
    get: async <T extends ApiObject>() => {
      await check();
      if (api.lease === undefined) throw new StatusError("NotFound", "no lease");
      return api.lease as T;
    },
    create: async <T extends ApiObject>(_resource: unknown, object: ApiObject) => {
      await check();
      if (api.lease !== undefined) throw new StatusError("AlreadyExists", "there");
      return put(object) as T;
    },
    update: async <T extends ApiObject>(_resource: unknown, object: ApiObject) => {
      await check();
      if (object.metadata.resourceVersion !== api.lease?.metadata.resourceVersion)
        throw new StatusError("Conflict", "old");
      return put(object) as T;
    },
  };
  return Object.assign(api, { client: calls as Client });
}

interface Candidate {
  readonly events: LogEntry["reason"][];
  readonly leads: () => boolean;
  readonly stop: () => void;
  readonly done: Promise<void>;
}

function candidate(identity: string, client: Client, clock: FakeClock): Candidate {
  const stop = new AbortController();
  const events: LogEntry["reason"][] = [];
  let leads = false;
  const done = leadWhileElected({
    client,
    clock,
    random: () => 0,
    lease: { namespace: "n", name: "l" },
    identity,
    timings: leaderTimings,
    lead: async (term) => {
      leads = true;
      await new Promise<void>((resolve) => {
        if (term.aborted) resolve();
        term.addEventListener("abort", () => resolve());
      });
      leads = false;
    },
    log: ({ reason }) => void events.push(reason),
    signal: stop.signal,
  });
  return { events, leads: () => leads, stop: () => stop.abort(), done };
}

describe("an election", () => {
  it("lets one of two act, and the other at once when the first ends in order", async () => {
    const clock = fakeClock();
    const api = leaseApi();
    const first = candidate("a", api.client, clock);
    await settled();
    const second = candidate("b", api.client, clock);
    await clock.advance(60_000);
    expect([first.leads(), second.leads()]).toEqual([true, false]);
    expect([first.events, second.events]).toEqual([["LeaderElected"], ["LeaderChanged"]]);
    first.stop();
    await first.done;
    expect(api.lease?.["spec"]).toMatchObject({ holderIdentity: "" });
    await clock.advance(2_000);
    expect([first.leads(), second.leads()]).toEqual([false, true]);
    expect(api.lease?.["spec"]).toMatchObject({ holderIdentity: "b", leaseTransitions: 1 });
    second.stop();
    await second.done;
  });

  it("never lets two act: who cannot renew has stopped before the other begins", async () => {
    const clock = fakeClock();
    const api = leaseApi();
    const cut = { down: false };
    const failing: Client = {
      ...api.client,
      get: async (resource, key) => {
        if (cut.down) throw new StatusError("ServiceUnavailable", "cut off");
        return api.client.get(resource, key);
      },
    };
    const first = candidate("a", failing, clock);
    await settled();
    const second = candidate("b", api.client, clock);
    await clock.advance(4_000);
    cut.down = true;
    let both = false;
    let stoppedAt = 0;
    let begunAt = 0;
    for (let tick = 1; tick <= 30; tick += 1) {
      await clock.advance(1_000);
      both ||= first.leads() && second.leads();
      if (!first.leads() && stoppedAt === 0) stoppedAt = tick;
      if (second.leads() && begunAt === 0) begunAt = tick;
    }
    expect(both).toBe(false);
    expect(stoppedAt).toBeLessThan(begunAt);
    expect(first.events).toContain("LeadershipLost");
    first.stop();
    second.stop();
    await clock.advance(1_000);
    await Promise.all([first.done, second.done]);
  });

  it("ends a term whose renewal hangs for as long as it may take", async () => {
    const clock = fakeClock();
    const api = leaseApi();
    const one = candidate("a", api.client, clock);
    await settled();
    expect(one.leads()).toBe(true);
    api.hang = true;
    await clock.advance(12_000);
    expect([one.leads(), one.events.at(-1)]).toEqual([false, "LeadershipLost"]);
    one.stop();
  });

  it("leads again once the API is back", async () => {
    const clock = fakeClock();
    const api = leaseApi();
    const one = candidate("a", api.client, clock);
    await clock.advance(2_000);
    api.down = true;
    await clock.advance(20_000);
    expect(one.leads()).toBe(false);
    expect(one.events).toContain("LeaseUpdateFailed");
    api.down = false;
    await clock.advance(5_000);
    expect(one.leads()).toBe(true);
    one.stop();
    await one.done;
  });

  it("gives the lease back when the work itself fails, and fails with it", async () => {
    const api = leaseApi();
    const election = leadWhileElected({
      client: api.client,
      clock: fakeClock(),
      random: () => 0,
      lease: { namespace: "n", name: "l" },
      identity: "a",
      timings: leaderTimings,
      lead: () => Promise.reject(new TypeError("broken")),
      log: () => undefined,
      signal: new AbortController().signal,
    });
    await expect(election).rejects.toThrow("broken");
    expect(api.lease?.["spec"]).toMatchObject({ holderIdentity: "" });
  });
});
