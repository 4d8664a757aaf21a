import { describe, expect, test } from "vitest";
import { tokenFileKubeconfig } from "../client/build-kubeconfig.ts";
import { createCa } from "../pki/ca.ts";
import { generatePrivateKey } from "../pki/keys.ts";
import { fakeClock, settled, type FakeClock } from "../../test/kits/fake-clock.ts";
import { unsignedToken } from "../../test/kits/service-account-token.ts";
import type { AgentEvent } from "./credential-event.ts";
import type { JoinError } from "./join-error.ts";
import { keepFresh } from "./run-managers.ts";
import { tokenManager, type TokenManagerOptions } from "./token-manager.ts";
import type { PrivateFiles } from "../host/private-files.ts";
import type { Renewal } from "./request/renew-token.ts";
import { tokenClaims, type TokenClaims } from "./proof/token-claims.ts";

const start = Date.UTC(2026, 10, 21);
const minute = 60_000;
const dir = "/var/lib/pratique/access";
const caPem = createCa({
  commonName: "hub",
  key: generatePrivateKey(),
  now: start,
  years: 1,
  random: (size) => new Uint8Array(size).fill(7),
}).pem;

interface World {
  readonly clock: FakeClock;
  readonly disk: Map<string, string>;
  readonly events: AgentEvent[];
  /** How often the hub was asked. */
  readonly asked: () => number;
  readonly token: () => string;
  readonly stop: () => void;
  /** Starts an agent on the disk as it is. */
  run(over?: Partial<TokenManagerOptions>): Promise<"ended" | JoinError>;
}

const folder = {
  ca: `${dir}/ca.crt`,
  token: `${dir}/token`,
  kubeconfig: `${dir}/kubeconfig`,
  state: `${dir}/agent.json`,
};

function newToken(at: number, id: string): Extract<Renewal, { kind: "renewed" }> {
  const token = unsignedToken({ issuedAt: Math.floor(at / 1000) * 1000, id });
  return { kind: "renewed", token, claims: tokenClaims(token) as TokenClaims };
}

const failure = (over: Partial<Extract<Renewal, { kind: "failed" }>> = {}): Renewal => ({
  kind: "failed",
  code: "unreachable",
  message: "the hub cannot be reached",
  retryAfterMs: undefined,
  ...over,
});

/** A machine with a token for an hour; `answer` is the hub, asked the n-th time. */
function world(answer: (count: number, now: number) => Renewal, over: Partial<PrivateFiles> = {}): World {
  const clock = fakeClock(start);
  const server = "https://hub.example:6443";
  const disk = new Map([
    [folder.token, unsignedToken({ issuedAt: start, id: "first" })],
    [folder.kubeconfig, tokenFileKubeconfig({ server, ca: { pem: caPem }, tokenFile: folder.token })],
  ]);
  const events: AgentEvent[] = [];
  const report = (event: AgentEvent): void => void events.push(event);
  const stop = new AbortController();
  let asked = 0;
  const files: PrivateFiles = {
    privateFolder: async () => undefined,
    replaceFile: async (path, content) => void disk.set(path, String(content)),
    textIfThere: async (path) => disk.get(path),
    namesIn: async () => [],
    targetOf: async () => "",
    replaceLink: async () => undefined,
    removeFile: async () => undefined,
    removeUnfinished: async () => undefined,
    ...over,
  };
  return {
    clock,
    disk,
    events,
    asked: () => asked,
    token: () => disk.get(folder.token) ?? "",
    stop: () => stop.abort(),
    run: (options = {}) => {
      const member = tokenManager({
        dir,
        once: false,
        askAgain: false,
        hostname: "vm-1",
        clock,
        random: (size) => new Uint8Array(size),
        userAgent: "test",
        report,
        files,
        calls: {
          renew: async () => answer((asked += 1), clock.now()),
          askAgain: async () => {
            disk.set(folder.token, unsignedToken({ issuedAt: clock.now(), id: "granted anew" }));
          },
        },
        ...options,
      });
      const { once = false } = options;
      return keepFresh({ find: async () => [member], once, clock, signal: stop.signal, report }).then(
        () => "ended" as const,
        (error: unknown) => error as JoinError,
      );
    },
  };
}

const kinds = ({ events }: World): readonly string[] => events.map(({ reason }) => reason);

describe("an agent", () => {
  test.each([
    [
      true,
      [
        "RenewalScheduled",
        "RenewalFailed",
        "RenewalFailed",
        "RenewalFailed",
        "AccessRequestedAgain",
        "RenewalScheduled",
      ],
    ],
    [false, ["RenewalScheduled"]],
  ])(
    "asks anew long before the end once it is known that the hub refuses the token, if it may: %s",
    async (askAgain, reported) => {
      const here = world(() => failure({ code: "unauthorized", message: "401" }));
      const first = here.token();
      const running = here.run({ askAgain, isRefused: (token) => token === first });
      await here.clock.advance(10 * minute);
      expect(kinds(here)).toEqual(reported);
      here.stop();
      expect(await running).toBe("ended");
    },
  );

  test("renews when 70 to 90 % of the token's life is over, again and again, and says when", async () => {
    const here = world((count, now) => newToken(now, `t${count}`));
    const running = here.run();
    await here.clock.advance(41 * minute);
    expect(here.asked()).toBe(0);
    await here.clock.advance(2 * minute);
    expect(here.token()).toBe(newToken(start + 42 * minute, "t1").token);
    await here.clock.advance(42 * minute);
    expect(here.asked()).toBe(2);
    expect(kinds(here)).toEqual([
      "RenewalScheduled",
      "CredentialRenewed",
      "RenewalScheduled",
      "CredentialRenewed",
      "RenewalScheduled",
    ]);
    expect(here.events[0]).toEqual({
      kind: "token",
      path: folder.token,
      reason: "RenewalScheduled",
      message: "scheduled the renewal of the token",
      at: start + 42 * minute,
      expiresAt: start + 60 * minute,
      details: { account: "vms/vm-1" },
    });
    here.stop();
    expect(await running).toBe("ended");
  });

  test("tries again with growing pauses while the hub is away, beyond the end of the token, and goes on when it is back", async () => {
    const back = start + 70 * minute;
    const here = world((count, now) => (now >= back ? newToken(now, `t${count}`) : failure()));
    const running = here.run();
    await here.clock.advance(42 * minute + 200);
    expect([here.asked(), kinds(here).at(-1)]).toEqual([1, "RenewalFailed"]);
    await here.clock.advance(400);
    expect(here.asked()).toBe(2);
    await here.clock.advance(33 * minute);
    expect(tokenClaims(here.token())?.issuedAt).toBeGreaterThanOrEqual(back);
    expect(here.asked()).toBeLessThan(60);
    expect(kinds(here).slice(-2)).toEqual(["CredentialRenewed", "RenewalScheduled"]);
    here.stop();
    expect(await running).toBe("ended");
  });

  test("leaves a hub alone for as long as it asks", async () => {
    const here = world((count, now) =>
      count > 1 ? newToken(now, "t") : failure({ code: "refused", retryAfterMs: 120_000 }),
    );
    const running = here.run();
    await here.clock.advance(43 * minute + 59_000);
    expect(here.asked()).toBe(1);
    await here.clock.advance(1100);
    expect(here.asked()).toBe(2);
    here.stop();
    await running;
  });

  test("ends when the token is refused three times, says what to do, and --status will know", async () => {
    const here = world(() => failure({ code: "unauthorized", message: "401" }));
    const running = here.run();
    await here.clock.advance(43 * minute);
    const error = (await running) as JoinError;
    expect(error.code).toBe("unauthorized");
    expect(error.message).toContain(
      `request access again: pratique request https://hub.example:6443 --dir ${dir} --name NAME, with a name that was not used before`,
    );
    expect(here.asked()).toBe(3);
    expect(JSON.parse(here.disk.get(folder.state) ?? "")).toMatchObject({ refused: true });
  });

  test("believes the first refusal of a token that has expired, asks anew by itself, and keeps what it is given", async () => {
    const here = world(() => failure({ code: "unauthorized", message: "401" }));
    await here.clock.advance(61 * minute);
    const running = here.run();
    await here.clock.advance(minute);
    expect(tokenClaims(here.token())?.issuedAt).toBe(start + 61 * minute);
    expect(kinds(here)).toEqual(["RenewalScheduled", "RenewalFailed", "AccessRequestedAgain", "RenewalScheduled"]);
    here.stop();
    expect(await running).toBe("ended");
  });

  test("takes up a token that somebody else wrote into the folder", async () => {
    const here = world((_count, now) => newToken(now, "t"));
    const running = here.run();
    await here.clock.advance(30 * minute);
    here.disk.set(folder.token, unsignedToken({ issuedAt: start + 30 * minute, id: "by hand" }));
    await here.clock.advance(30 * minute);
    expect(here.asked()).toBe(0);
    expect(here.events.at(-1)).toMatchObject({ reason: "RenewalScheduled", at: start + 72 * minute });
    here.stop();
    await running;
  });

  test("keeps the old token and tries again where the new one cannot be written", async () => {
    let full = true;
    const disk: { set?: Map<string, string> } = {};
    const here = world((count, now) => newToken(now, `t${count}`), {
      replaceFile: async (path, content) => {
        if (full) throw Object.assign(new Error("ENOSPC"), { code: "ENOSPC" });
        disk.set?.set(path, String(content));
      },
    });
    disk.set = here.disk;
    const first = here.token();
    const running = here.run();
    await here.clock.advance(42 * minute + 100);
    expect(here.token()).toBe(first);
    expect(here.events.at(-1)).toMatchObject({
      reason: "RenewalFailed",
      message: `there is no room left on the disk for ${folder.token}: free some, then run the same command again`,
    });
    full = false;
    await here.clock.advance(minute);
    expect(here.token()).not.toBe(first);
    here.stop();
    await running;
  });

  test.each([
    ["nothing is there", (disk: Map<string, string>) => disk.clear()],
    ["there is no token", (disk: Map<string, string>) => disk.delete(folder.token)],
    ["the token is none", (disk: Map<string, string>) => disk.set(folder.token, "abcdef.0123456789abcdef")],
    ["the kubeconfig is none", (disk: Map<string, string>) => disk.set(folder.kubeconfig, "a: [")],
  ])("says so where %s", async (_title, spoil) => {
    const here = world(() => failure());
    spoil(here.disk);
    expect(await here.run()).toMatchObject({ code: "no-access" });
    expect(here.asked()).toBe(0);
  });
});

describe("with --once", () => {
  test("it renews from 70 % on, and does nothing before", async () => {
    const here = world((_count, now) => newToken(now, "t"));
    expect(await here.run({ once: true })).toBe("ended");
    expect(here.asked()).toBe(0);
    await here.clock.advance(42 * minute);
    expect(await here.run({ once: true })).toBe("ended");
    expect(here.asked()).toBe(1);
  });

  test.each([
    ["unreachable", failure()],
    ["refused", failure({ code: "refused" })],
    ["unauthorized", failure({ code: "unauthorized" })],
  ])("a failure ends it: %s", async (code, renewal) => {
    const here = world(() => renewal);
    await here.clock.advance(45 * minute);
    expect(await here.run({ once: true })).toMatchObject({ code });
    expect(here.asked()).toBe(1);
  });
});

describe("an agent that is killed", () => {
  test.each([1, 2, 3, 4, 5, 6])(
    "at its write number %i leaves a good token, and the next agent goes on",
    async (fatal) => {
      let writes = 0;
      let killed = false;
      const disk: { set?: Map<string, string> } = {};
      const here = world((count, now) => newToken(now, `t${count}`), {
        replaceFile: (path, content) => {
          writes += 1;
          // What a killed process began is never heard of again; the file is replaced as a whole or not at all.
          if (writes === fatal) {
            killed = true;
            return new Promise(() => undefined);
          }
          disk.set?.set(path, String(content));
          return Promise.resolve();
        },
      });
      disk.set = here.disk;
      void here.run();
      for (let passed = 0; passed < 150 && !killed; passed += 1) await here.clock.advance(minute);
      expect(killed).toBe(true);
      expect(tokenClaims(here.token())?.expiresAt).toBeGreaterThan(here.clock.now());
      const before = here.asked();
      const running = here.run();
      await settled();
      for (let passed = 0; passed < 60; passed += 1) {
        await here.clock.advance(minute);
        expect(tokenClaims(here.token())?.expiresAt).toBeGreaterThan(here.clock.now());
      }
      expect(here.asked()).toBeGreaterThan(before);
      here.stop();
      expect(await running).toBe("ended");
    },
  );
});
