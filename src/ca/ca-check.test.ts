import { randomBytes } from "node:crypto";
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { fakeClock, type FakeClock } from "../../test/kits/fake-clock.ts";
import type { UserInfo } from "../apimachinery/user.ts";
import { changeAuthorities, openAuthorities, readAuthorities, type Authorities } from "./ca-folder.ts";
import { readCaCheck, recordCaCheck } from "./ca-check.ts";

const serverName = "next-ca.pratique.invalid";
const user: UserInfo = { username: "system:node:n1", groups: [] };

let dir: string;
let clock: FakeClock;
let authorities: Authorities;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "pratique-ca-check-"));
  clock = fakeClock();
  const at = { now: clock.now(), random: (size: number): Uint8Array => randomBytes(size) };
  await openAuthorities({ dir, certFile: undefined, keyFile: undefined, ...at });
  const { after } = await changeAuthorities(dir, "prepare", at);
  authorities = await readAuthorities(dir, after, undefined);
});

afterEach(() => rm(dir, { recursive: true, force: true }));

const nextPin = (): string => authorities.trusted[1]?.pin ?? "";
const names = async (): Promise<readonly string[]> =>
  (await readdir(dir)).filter((name) => /^ca-(check|rehearsed)\.json$/.test(name));

/** What is recorded after these users have asked at `path`. */
async function recorded(path: string, ...users: readonly UserInfo[]): Promise<readonly (number | undefined)[]> {
  const stop = new AbortController();
  const { answer, stopped } = await recordCaCheck({
    dir,
    authorities: () => authorities,
    clock,
    signal: stop.signal,
    log: (entry) => expect(entry).toBeUndefined(),
  });
  const statuses = users.map((each) => answer(path, { user: each, serverName })?.status);
  stop.abort();
  await clock.advance(5_000);
  await stopped;
  return statuses;
}

describe("the record of the machines that trust the newest CA", () => {
  test.each(["/.well-known/pratique/ca-check", "/.well-known/pratique/ca-rehearsal"])(
    "names each that asks at %s, the second of which agents of the last release use",
    async (path) => {
      expect(await recorded(path, user)).toEqual([200]);
      expect(await readCaCheck(dir)).toEqual({
        pin: nextPin(),
        shown: new Map([[user.username, clock.now() - 5_000]]),
      });
      expect(await names()).toEqual(["ca-check.json"]);
    },
  );

  test("names nothing at another path", async () => {
    expect(await recorded("/.well-known/pratique/ca-check/", user)).toEqual([undefined]);
    expect((await readCaCheck(dir)).shown.size).toBe(0);
  });

  describe("that the last release has written", () => {
    beforeEach(() =>
      writeFile(join(dir, "ca-rehearsed.json"), JSON.stringify({ pin: nextPin(), shown: { "system:node:n0": 7 } })),
    );

    test("is read", async () => {
      expect(await readCaCheck(dir)).toEqual({ pin: nextPin(), shown: new Map([["system:node:n0", 7]]) });
    });

    test("is taken over into the file of this one, and removed", async () => {
      await recorded("/.well-known/pratique/ca-check", user);
      expect([...(await readCaCheck(dir)).shown.keys()]).toEqual(["system:node:n0", user.username]);
      expect(await names()).toEqual(["ca-check.json"]);
    });

    test("does not count where this one has written a file too", async () => {
      await writeFile(join(dir, "ca-check.json"), JSON.stringify({ pin: nextPin(), shown: {} }));
      expect((await readCaCheck(dir)).shown.size).toBe(0);
    });

    test("stays where nothing new is recorded", async () => {
      await recorded("/version", user);
      expect(await names()).toEqual(["ca-rehearsed.json"]);
    });
  });
});
