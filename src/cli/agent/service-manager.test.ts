import { describe, expect, test } from "vitest";
import { fakeClock, settled } from "../../../test/kits/fake-clock.ts";
import { fakeIo } from "../../../test/kits/fake-io.ts";
import type { LogEntry } from "../../apimachinery/log-entry.ts";
import type { ChildEnd } from "./child-program.ts";
import { serviceManager, type ServiceManager } from "./service-manager.ts";

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
