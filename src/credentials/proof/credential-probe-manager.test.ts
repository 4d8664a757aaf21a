import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { fakeClock, type FakeClock } from "../../../test/kits/fake-clock.ts";
import { refuse, startFakeHub, testCa, type FakeHub } from "../../../test/kits/fake-hub.ts";
import { rfc3339 } from "../../apimachinery/clock.ts";
import type { AgentEvent } from "../credential-event.ts";
import { credentialDigest } from "./credential-probe.ts";
import {
  credentialProbeManager,
  type RefusalFile,
  type CredentialProbeManagerOptions,
  type Presented,
} from "./credential-probe-manager.ts";
import { JoinError } from "../join-error.ts";
import type { Manager } from "../run-managers.ts";

const minute = 60_000;
const { signal } = new AbortController();
const path = "/access/token";

let hub: FakeHub;
let clock: FakeClock;
let events: AgentEvent[];
let file: string | undefined;
let writes: number;
let refused: (string | undefined)[];
let presented: Presented;
let answer: "accepted" | "401" | "403" | "revoked" | "busy" | "gone" | "page";

beforeEach(async () => {
  hub = await startFakeHub();
  clock = fakeClock();
  [events, file, writes, refused, answer] = [[], undefined, 0, [], "accepted"];
  const notAfter = clock.now() + 1000 * minute;
  presented = { server: hub.url, caPem: hub.ca.pem, credentials: { token: "secret" }, notAfter };
  hub.intercept = (request, response) => {
    switch (answer) {
      case "accepted":
        response.end("{}");
        break;
      case "401":
        refuse(response, 401, "Unauthorized", "Unauthorized");
        break;
      case "403":
        refuse(response, 403, "Forbidden", 'forbidden: User "n1" cannot get path "/version"');
        break;
      case "revoked":
        refuse(response, 403, "Forbidden", 'User "n1" cannot get path "/version": the credential is revoked: stolen');
        break;
      case "busy":
        refuse(response, 429, "TooManyRequests", "slow down");
        break;
      case "gone":
        request.socket.destroy();
        break;
      case "page":
        response.writeHead(401, { "content-type": "text/html" }).end("<h1>sign in</h1>");
        break;
    }
    return true;
  };
});

afterEach(() => hub.close());

function store(refusals: RefusalFile): CredentialProbeManagerOptions["store"] {
  return { name: { kind: "token", path }, read: async () => presented, refusals };
}

function member(options: Partial<CredentialProbeManagerOptions> = {}): Manager {
  return credentialProbeManager({
    store: store({
      text: async () => file,
      write: async (content) => {
        writes += 1;
        file = content;
      },
      remove: async () => void (file = undefined),
    }),
    once: false,
    clock,
    fraction: () => 0.5,
    userAgent: "test",
    report: (event) => void events.push(event),
    refused: (digest) => void refused.push(digest),
    ...options,
  });
}

/** Lets it act each time it wants to, until so much time has passed. */
async function passing(one: Manager, ms: number): Promise<void> {
  const end = clock.now() + ms;
  while (clock.now() < end) {
    const turn = await one.act(signal);
    if (turn.kind !== "wait") throw new TypeError(turn.kind);
    await clock.advance(Math.min(Math.max(turn.until, clock.now() + 1000), end) - clock.now());
  }
}

const kinds = (): readonly string[] => events.map(({ reason }) => reason);

describe("whether a hub takes a credential", () => {
  test("is asked as the machine itself, after a moment and then every ten minutes, however often somebody looks", async () => {
    const one = member();
    expect(await one.act(signal)).toEqual({ kind: "wait", until: clock.now() + minute / 2 });
    expect(hub.seen).toEqual([]);
    for (let passed = 0; passed < 60; passed += 1) {
      await clock.advance(minute);
      await one.act(signal);
    }
    expect(hub.seen).toHaveLength(6);
    expect(hub.seen[0]).toMatchObject({ method: "GET", path: "/version", authorization: "Bearer secret" });
    expect([events, writes]).toEqual([[], 0]);
  });

  test.each([
    ["401", "401 Unauthorized"],
    ["revoked", "403 Forbidden: the credential is revoked: stolen"],
  ] as const)("is a no after the third refusal in a row (%s), told once", async (kind, said) => {
    answer = kind;
    const one = member();
    const begun = clock.now();
    await one.act(signal);
    await clock.advance(minute / 2);
    await one.act(signal);
    expect(events).toEqual([]);
    await passing(one, 2 * minute);
    expect(events).toEqual([
      {
        kind: "token",
        path,
        reason: "CredentialRejected",
        details: { since: rfc3339(begun + minute / 2) },
        message: expect.stringContaining(said),
      },
    ]);
    expect(hub.seen).toHaveLength(3);
    await passing(one, 60 * minute);
    expect([kinds(), refused, writes]).toEqual([["CredentialRejected"], [credentialDigest({ token: "secret" })], 3]);
    expect(file).not.toContain("secret");
    expect(JSON.parse(file ?? "")).toMatchObject({ count: 3, message: said });
  });

  test("is not doubted for refusals that pass, as while a hub starts", async () => {
    const one = member();
    for (const next of ["401", "401", "accepted", "401", "401", "accepted"] as const) {
      answer = next;
      const before = hub.seen.length;
      while (hub.seen.length === before) await passing(one, minute / 2);
    }
    expect([events, file]).toEqual([[], undefined]);
  });

  test.each(["403", "busy", "gone", "page"] as const)(
    "is not doubted for an answer that says neither: %s",
    async (kind) => {
      answer = kind;
      await passing(member(), 60 * minute);
      expect([events, writes]).toEqual([[], 0]);
    },
  );

  test("is not asked of whoever stands behind the address with another CA", async () => {
    presented = { ...presented, caPem: testCa().pem };
    await passing(member(), 60 * minute);
    expect([hub.seen, events]).toEqual([[], []]);
  });

  test("is a yes again with the first answer that it is taken", async () => {
    answer = "401";
    const one = member();
    await passing(one, 10 * minute);
    answer = "busy";
    await passing(one, 30 * minute);
    expect(kinds()).toEqual(["CredentialRejected"]);
    answer = "accepted";
    await passing(one, 30 * minute);
    expect([kinds(), file, refused.at(-1)]).toEqual([
      ["CredentialRejected", "CredentialAccepted"],
      undefined,
      undefined,
    ]);
  });

  test("is known after a restart, and asked anew for another credential", async () => {
    answer = "401";
    await passing(member(), 10 * minute);
    const since = events[0];
    const restarted = member();
    await restarted.act(signal);
    expect(events).toEqual([since, since]);
    presented = { ...presented, credentials: { token: "other" } };
    await restarted.act(signal);
    expect([kinds(), file]).toEqual([["CredentialRejected", "CredentialRejected", "CredentialAccepted"], undefined]);
    await passing(restarted, 10 * minute);
    expect(kinds().at(-1)).toBe("CredentialRejected");
  });

  test.each(["", "{", "null", "[]", '{"credential":7}', '{"credential":"x","count":"3","since":"now","message":""}'])(
    "is not read out of a file that holds %j",
    async (text) => {
      file = text;
      await member().act(signal);
      expect(events).toEqual([]);
    },
  );

  test("is not asked once the credential has ended, which its keeper tells", async () => {
    await clock.advance(1000 * minute);
    await passing(member(), 60 * minute);
    expect(hub.seen).toEqual([]);
  });

  test.each(["gone", "busy"] as const)("with --once a hub that says nothing of it ends the run: %s", async (said) => {
    answer = said;
    const turn = await member({ once: true }).act(signal);
    expect(turn).toMatchObject({ kind: "lost", error: { code: "unreachable" } });
    expect(turn).toMatchObject({ error: { message: expect.stringContaining(hub.url) } });
    expect([file, events]).toEqual([undefined, []]);
  });

  test("is asked three times in one run with --once, and a no ends it", async () => {
    answer = "401";
    const one = member({ once: true });
    for (let asked = 0; asked < 2; asked += 1) {
      const acting = one.act(signal);
      while (file?.includes(`"count": ${asked + 1}`) !== true) await new Promise((resolve) => setTimeout(resolve, 1));
      await clock.advance(5000);
      expect(await acting).toEqual({ kind: "again" });
    }
    expect(await one.act(signal)).toMatchObject({ kind: "lost", error: { code: "unauthorized" } });
    expect(kinds()).toEqual(["CredentialRejected"]);
  });

  test("costs nothing but its file where that cannot be written", async () => {
    answer = "401";
    const full = (): Promise<void> => Promise.reject(new JoinError("write-failed", "no room"));
    await passing(member({ store: store({ text: async () => undefined, write: full, remove: full }) }), 10 * minute);
    expect(kinds()).toEqual(["CredentialRejected"]);
  });
});
