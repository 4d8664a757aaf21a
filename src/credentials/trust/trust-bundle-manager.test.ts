import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { fakeClock, type FakeClock } from "../../../test/kits/fake-clock.ts";
import { refuse, startFakeHub, testCa, type FakeHub } from "../../../test/kits/fake-hub.ts";
import type { Manager } from "../run-managers.ts";
import { trustBundleManager, type TrustBundleManagerOptions, type Trust } from "./trust-bundle-manager.ts";

const minute = 60_000;
const { signal } = new AbortController();

let hub: FakeHub;
let clock: FakeClock;

beforeEach(async () => {
  hub = await startFakeHub();
  clock = fakeClock();
});

afterEach(() => hub.close());

function member(options: Partial<TrustBundleManagerOptions> = {}, trust: Partial<Trust> = {}): Manager {
  const whole = { server: hub.url, caPem: hub.ca.pem, credentials: { token: "secret" }, ...trust };
  return trustBundleManager({
    files: {
      ca: "/ca.crt",
      kubeconfig: "/kubeconfig",
      read: async () => whole,
      text: async () => whole.caPem,
      write: async () => undefined,
    },
    clock,
    fraction: () => 0.5,
    userAgent: "test",
    report: () => undefined,
    ...options,
  });
}

describe("the trust of a machine", () => {
  test("is asked for once an hour, however often somebody looks", async () => {
    const one = member();
    const until = clock.now() + 60 * minute;
    for (let passed = 0; passed < 60; passed += 1) {
      expect(await one.act(signal)).toEqual({ kind: "wait", until });
      await clock.advance(minute);
    }
    expect(hub.seen).toHaveLength(1);
    await one.act(signal);
    expect(hub.seen).toHaveLength(2);
  });

  test("is asked for anew when the clock was set back", async () => {
    let now = 1_000_000_000_000;
    const one = member({ clock: { ...clock, now: () => now } });
    await one.act(signal);
    now -= 86_400_000;
    await one.act(signal);
    expect(hub.seen).toHaveLength(2);
  });

  test("tells by which certificate the hub was known, and that it was not where another CA stands behind it", async () => {
    const shown: (Uint8Array | undefined)[] = [];
    await member({ shown: (leaf) => void shown.push(leaf) }).act(signal);
    await member({ shown: (leaf) => void shown.push(leaf) }, { caPem: testCa().pem }).act(signal);
    expect(shown).toEqual([expect.any(Uint8Array), undefined]);
  });

  test.each([
    ["is shown once to a hub that knows the path", [200], ["ca-check"]],
    ["is shown at the path of the last release to a hub of that release", [403, 200], ["ca-check", "ca-rehearsal"]],
    ["is shown at it where each user may ask for each path too", [404, 200], ["ca-check", "ca-rehearsal"]],
    ["is not shown again to a hub that has another answer", [400], ["ca-check"]],
  ] as const)("of two CAs %s", async (_title, statuses, paths) => {
    const before = hub;
    hub = await startFakeHub({ dns: ["next-ca.pratique.invalid"] });
    await before.close();
    const caPem = `${hub.ca.pem}${testCa("next").pem}`;
    hub.publish({ caPem });
    const left: number[] = [...statuses];
    hub.intercept = ({ url }, response) => {
      if (url?.startsWith("/.well-known/") !== true) return false;
      refuse(response, left.shift() ?? 500, "Test", "test");
      return true;
    };
    await member({}, { caPem }).act(signal);
    const asked = hub.seen.filter(({ path }) => path.startsWith("/.well-known/"));
    expect(asked.map(({ path }) => path)).toEqual(paths.map((name) => `/.well-known/pratique/${name}`));
    expect(new Set(asked.map(({ authorization }) => authorization))).toEqual(new Set(["Bearer secret"]));
  });

  test("tells that nothing was shown where the files of the machine cannot be read", async () => {
    const shown: unknown[] = [];
    const files = { ca: "/ca", kubeconfig: "/k", text: async () => undefined, write: async () => undefined };
    const read = (): Promise<Trust> => Promise.reject(new TypeError("gone"));
    const one = member({ files: { ...files, read }, shown: (leaf) => void shown.push(leaf) });
    await expect(one.act(signal)).rejects.toThrow("gone");
    expect(shown).toEqual([undefined]);
  });
});
