import { describe, expect, test } from "vitest";
import { ConnectionError } from "../client/client.ts";
import { StatusError } from "../apimachinery/status.ts";
import { fakeClock } from "../../test/kits/fake-clock.ts";
import { fakeIo, type FakeIo } from "../../test/kits/fake-io.ts";
import { waitFor, type Looked } from "./wait-for.ts";

interface Waiting {
  readonly io: FakeIo;
  readonly pass: (ms: number) => Promise<void>;
  readonly done: Promise<unknown>;
}

function waiting(looks: readonly (() => Looked<string>)[], timeoutMs = 10_000): Waiting {
  const clock = fakeClock();
  const io = fakeIo({ clock });
  let turn = 0;
  const look = async (): Promise<Looked<string>> => (looks[Math.min(turn++, looks.length - 1)] ?? looks[0])!();
  const done = waitFor({ io, timeoutMs, about: "east", look, hints: ["do that"] }).catch((error: unknown) => error);
  return { io, pass: (ms) => clock.advance(ms), done };
}

const missing = (what: string) => (): Looked<string> => ({ missing: what });

describe("waiting", () => {
  test("says once what is missing, and again when that changes", async () => {
    const { io, pass, done } = waiting([missing("a"), missing("a"), missing("b"), () => ({ found: "it" })]);
    await pass(3000);
    expect(await done).toBe("it");
    expect(io.err()).toBe("east: waiting for a\neast: waiting for b\n");
  });

  test("ends when the time is up, with what was missing last", async () => {
    const { pass, done } = waiting([missing("a\u001b[2J")]);
    await pass(20_000);
    expect(await done).toMatchObject({
      code: "timedOut",
      message: "east: the time is up, still waiting for a\u001b[2J",
      hints: ["do that"],
    });
  });

  test("looks once and sleeps never where there is no time", async () => {
    const { io, done } = waiting([missing("a")], 0);
    expect(await done).toMatchObject({ code: "timedOut", message: "east: missing a" });
    expect(io.err()).toBe("");
  });

  test("ends at the next look when it is interrupted", async () => {
    const { io, done } = waiting([missing("a")]);
    io.interrupt();
    expect(await done).toMatchObject({ code: "interrupted", message: "east: stopped while waiting for a" });
  });

  test("outlives a server that cannot be reached for a while, and no refusal", async () => {
    const cut = (): Looked<string> => {
      throw new ConnectionError("ECONNREFUSED", "gone");
    };
    const lucky = waiting([cut, () => ({ found: "it" })]);
    await lucky.pass(1000);
    expect(await lucky.done).toBe("it");
    expect(lucky.io.err()).toBe("east: waiting for the hub, which cannot be reached: gone\n");
    const refused = waiting([
      () => {
        throw new StatusError("Forbidden", "no");
      },
    ]);
    expect(await refused.done).toMatchObject({ code: 403 });
  });

  test("lets nothing that others chose reach the terminal", async () => {
    const { io, pass, done } = waiting([missing("a\u001b[2J"), () => ({ found: "it" })]);
    await pass(1000);
    await done;
    expect(io.err()).toBe("east: waiting for a\\u{1b}[2J\n");
  });
});
