import { describe, expect, test } from "vitest";
import { fakeClock, settled } from "../../test/kits/fake-clock.ts";
import type { AgentEvent, KeptName } from "./credential-event.ts";
import { JoinError } from "./join-error.ts";
import { keepFresh, type Manager, type KeepOptions, type Turn } from "./run-managers.ts";

const minute = 60_000;
const error = (message: string): JoinError => new JoinError("unauthorized", message);

interface Acting extends Manager {
  readonly acted: () => number;
}

function member(path: string, act: (count: number) => Turn, kind: KeptName["kind"] = "token"): Acting {
  let count = 0;
  return { name: { kind, path }, act: async () => act((count += 1)), acted: () => count };
}

interface Run {
  readonly clock: ReturnType<typeof fakeClock>;
  readonly events: AgentEvent[];
  readonly stop: () => void;
  readonly ended: Promise<"ended" | JoinError>;
}

function run(find: KeepOptions["find"], once = false): Run {
  const clock = fakeClock();
  const events: AgentEvent[] = [];
  const stop = new AbortController();
  const report = (event: AgentEvent): void => void events.push(event);
  const ended = keepFresh({ find, once, clock, signal: stop.signal, report }).then(
    () => "ended" as const,
    (thrown: unknown) => thrown as JoinError,
  );
  return { clock, events, stop: () => stop.abort(), ended };
}

const later: Turn = { kind: "wait", until: Date.UTC(2030, 0) };

describe("the loop of an agent", () => {
  test("keeps any number of credentials without a warning of Node on the machine's standard error", async () => {
    const warned: string[] = [];
    const hear = (warning: Error): void => void warned.push(warning.name);
    process.on("warning", hear);
    const many = Array.from({ length: 30 }, (_, at): Manager => {
      return { name: { kind: "token", path: `of-${at}` }, act: (signal) => hanging(signal) };
    });
    const here = run(async () => many);
    await here.clock.advance(minute);
    await new Promise((next) => setImmediate(next));
    process.off("warning", hear);
    expect(warned).toEqual([]);
    here.stop();
    await here.ended;
  });

  test("looks at each credential at its own time, at least once a minute, and ends when it is told to", async () => {
    const often = member("often", (count) => (count % 2 === 0 ? later : { kind: "again" }));
    const hung: Manager = { name: { kind: "token", path: "hung" }, act: (signal) => hanging(signal) };
    const here = run(async () => [often, hung]);
    await here.clock.advance(3 * minute - 1);
    expect(often.acted()).toBe(6);
    here.stop();
    expect(await here.ended).toBe("ended");
  });

  test("keeps what is laid down later, and what it keeps when a folder cannot be read", async () => {
    const [one, other] = [member("one", () => later), member("other", () => later)];
    let found: readonly Manager[] | undefined = [one];
    const here = run(async () => {
      if (found === undefined) throw error("unreadable");
      return found;
    });
    await here.clock.advance(minute - 1);
    found = undefined;
    await here.clock.advance(minute);
    found = [one, other];
    await here.clock.advance(minute);
    expect([one.acted() >= 3, other.acted()]).toEqual([true, 1]);
    here.stop();
    await here.ended;
  });

  test("goes on with the others when one is lost, tells it once, and takes it up again when it is mended", async () => {
    let mended = false;
    const bad = member("bad", () => (mended ? later : { kind: "lost", error: error("revoked") }));
    const here = run(async () => [bad, member("good", () => later)]);
    await here.clock.advance(3 * minute);
    expect(here.events).toEqual([{ kind: "token", path: "bad", reason: "CredentialLost", message: "revoked" }]);
    mended = true;
    await here.clock.advance(3 * minute);
    expect(here.events.slice(1)).toEqual([
      { kind: "token", path: "bad", reason: "RenewalRecovered", message: "renewal of the token recovered" },
    ]);
    here.stop();
    expect(await here.ended).toBe("ended");
  });

  test("ends with the first when all are lost, whatever is known of CAs", async () => {
    const lost = (path: string): Manager => member(path, () => ({ kind: "lost", error: error(path) }));
    const here = run(async () => [lost("one"), lost("other"), member("ca", () => later, "ca")]);
    expect(await here.ended).toMatchObject({ message: "one" });
  });

  test("says nothing of a check, which tells what it finds itself, and does not stay for checks alone", async () => {
    let fails = true;
    const check = (): Manager => ({
      name: { kind: "check", path: "one" },
      act: async () => (fails ? { kind: "lost", error: error("unreadable") } : later),
    });
    const here = run(async () => [check(), member("one", () => later)]);
    await here.clock.advance(2 * minute);
    fails = false;
    await here.clock.advance(2 * minute);
    expect(here.events).toEqual([]);
    here.stop();
    expect(await here.ended).toBe("ended");
    const alone = run(async () => [member("one", () => ({ kind: "lost", error: error("one") })), check()]);
    expect(await alone.ended).toMatchObject({ message: "one" });
  });

  test("looks once at all with --once, and then tells what was lost", async () => {
    const good = member("good", (count) => (count === 1 ? { kind: "again" } : later));
    const here = run(async () => [member("bad", () => ({ kind: "lost", error: error("bad") })), good], true);
    expect(await here.ended).toMatchObject({ message: "bad" });
    expect(good.acted()).toBe(2);
  });

  test("ends with a failure of this program, and of nothing else", async () => {
    const broken: Manager = { name: { kind: "token", path: "x" }, act: () => Promise.reject(new TypeError("bug")) };
    const here = run(async () => [broken, member("good", () => later)]);
    await settled();
    expect(await here.ended).toBeInstanceOf(TypeError);
  });
});

function hanging(signal: AbortSignal): Promise<Turn> {
  return new Promise((resolve) => {
    signal.addEventListener("abort", () => resolve(later));
  });
}
