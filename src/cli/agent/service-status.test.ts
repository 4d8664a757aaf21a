import { expect, test, describe } from "vitest";
import { credentialsStatus, serviceManager, type ServiceManager } from "./service-status.ts";
import { fakeClock, settled } from "../../../test/kits/fake-clock.ts";
import { fakeIo } from "../../../test/kits/fake-io.ts";
import type { LogEntry } from "../../apimachinery/log-entry.ts";
import type { ChildEnd } from "./child-program.ts";

const token = { kind: "token", path: "/t" } as const;
const serving = { kind: "serving-certificate", path: "/s" } as const;

test("what is known of all credentials says whether they are good, and when one is next", () => {
  const all = credentialsStatus();
  expect(all.isGood(0)).toBe(false);
  all.note({ ...token, reason: "RenewalScheduled", at: 1000, expiresAt: 5000, message: "" });
  expect(all.isGood(4999)).toBe(true);
  expect(all.isGood(5000)).toBe(false);
  expect(all.sentence(0)).toBe("1 of 1 credentials good, next at 1970-01-01T00:00:01Z");
  all.note({ ...serving, reason: "CertificateRequested", message: "" });
  expect(all.isGood(0)).toBe(false);
  expect(all.sentence(2000)).toBe("1 of 2 credentials good");
  all.note({ ...serving, reason: "CredentialRenewed", message: "", expiresAt: 9000 });
  expect(all.isGood(0)).toBe(true);
  all.note({ ...token, reason: "RenewalFailed", message: "away", at: 3000, expiresAt: 5000 });
  expect(all.isGood(0)).toBe(true);
  all.note({ ...token, reason: "CredentialLost", message: "revoked" });
  expect(all.isGood(0)).toBe(false);
});

test("one that was lost is good again when its files are", () => {
  const all = credentialsStatus();
  all.note({ ...token, reason: "RenewalScheduled", at: 1000, expiresAt: 5000, message: "" });
  all.note({ ...token, reason: "CredentialLost", message: "unreadable" });
  all.note({ ...token, reason: "RenewalRecovered", message: "" });
  expect(all.isGood(0)).toBe(true);
});

test("one that the hub refuses is bad until it takes it again, or another one is there, whatever else is told of it", () => {
  const all = credentialsStatus();
  const refused = { ...token, reason: "CredentialRejected", message: "revoked" } as const;
  const planned = { ...token, reason: "RenewalScheduled", at: 1000, expiresAt: 5000, message: "" } as const;
  // As after a restart.
  all.note(refused);
  all.note(planned);
  expect([all.isGood(0), all.sentence(2000)]).toEqual([false, "0 of 1 credentials good, 1 refused by the hub"]);
  all.note({ ...token, reason: "CredentialAccepted", message: "" });
  expect(all.isGood(0)).toBe(true);
  all.note(refused);
  all.note({ ...token, reason: "CredentialRenewed", message: "", expiresAt: 9000 });
  expect([all.isGood(0), all.sentence(2000)]).toEqual([true, "1 of 1 credentials good"]);
});

test("a CA that cannot be asked for makes no credential bad", () => {
  const all = credentialsStatus();
  all.note({ ...token, reason: "RenewalScheduled", at: 1000, expiresAt: 5000, message: "" });
  all.note({ kind: "ca", path: "/c", reason: "RenewalFailed", message: "away", at: 3000 });
  expect(all.isGood(0)).toBe(true);
});

test("all credentials are confirmed once the hub has accepted each with which the machine comes in, while all are good", () => {
  const all = credentialsStatus();
  const other = { kind: "client-certificate", path: "/c" } as const;
  all.note({ ...token, reason: "RenewalScheduled", at: 1000, expiresAt: 5000, message: "" });
  all.note({ ...other, reason: "RenewalScheduled", at: 1000, expiresAt: 5000, message: "" });
  all.note({ ...serving, reason: "RenewalScheduled", at: 1000, expiresAt: 5000, message: "" });
  expect(all.isConfirmed(0)).toBe(false);
  all.confirm(token);
  expect(all.isConfirmed(0)).toBe(false);
  all.confirm(other);
  expect([all.isConfirmed(0), all.isConfirmed(5000)]).toEqual([true, false]);
  all.note({ ...token, reason: "CredentialRejected", message: "revoked" });
  expect(all.isConfirmed(0)).toBe(false);
});

test("a serving certificate that is known before all others confirms nothing", () => {
  const all = credentialsStatus();
  all.note({ ...serving, reason: "RenewalScheduled", at: 1000, expiresAt: 5000, message: "" });
  expect([all.isGood(0), all.isConfirmed(0)]).toEqual([true, false]);
});

interface World {
  readonly manager: ServiceManager;
  readonly reported: (readonly string[])[];
  readonly log: LogEntry[];
  readonly advance: (ms: number) => Promise<void>;
  readonly stop: () => void;
}

function world(env: Readonly<Record<string, string>>, kind: ChildEnd["kind"] = "ended"): World {
  const reported: (readonly string[])[] = [];
  const log: LogEntry[] = [];
  const clock = fakeClock();
  const stop = new AbortController();
  const io = fakeIo({
    env,
    clock,
    runChild: async ([program = "", ...words]) => {
      expect(program).toBe("systemd-notify");
      reported.push(words);
      return { kind, code: 0, output: "" };
    },
  });
  const manager = serviceManager(io, (entry) => void log.push(entry), stop.signal);
  return { manager, reported, log, advance: clock.advance, stop: () => stop.abort() };
}

describe("a service manager", () => {
  test("that did not start this process is told nothing", async () => {
    const { manager, reported } = world({});
    manager.notify({ READY: "1" });
    await manager.idle();
    expect(reported).toEqual([]);
  });

  test("is told in order; what comes meanwhile is joined, and the last of a name counts", async () => {
    const { manager, reported } = world({ NOTIFY_SOCKET: "/run/x" });
    manager.notify({ READY: "1", STATUS: "one" });
    manager.notify({ STATUS: "two" });
    manager.notify({ STATUS: "three", STOPPING: "1" });
    await manager.idle();
    expect(reported).toEqual([
      ["READY=1", "STATUS=one"],
      ["STATUS=three", "STOPPING=1"],
    ]);
  });

  test("hears three times in each watchdog period that this process lives, until it ends", async () => {
    const { reported, advance, stop } = world({ NOTIFY_SOCKET: "/run/x", WATCHDOG_USEC: "30000000" });
    await advance(20_000);
    expect(reported).toEqual([["WATCHDOG=1"], ["WATCHDOG=1"], ["WATCHDOG=1"]]);
    stop();
    await advance(60_000);
    await settled();
    expect(reported).toHaveLength(3);
  });

  test("that cannot be told is complained of once", async () => {
    const { manager, reported, log } = world({ NOTIFY_SOCKET: "/run/x" }, "missing");
    manager.notify({ READY: "1" });
    await manager.idle();
    manager.notify({ STATUS: "x" });
    await manager.idle();
    expect([reported.length, log]).toEqual([
      1,
      [expect.objectContaining({ level: "warn", reason: "NotifyFailed", systemdNotify: "missing" })],
    ]);
  });
});
