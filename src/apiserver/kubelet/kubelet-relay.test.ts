import { duplexPair, type Duplex, PassThrough } from "node:stream";
import { describe, expect, it } from "vitest";
import { fakeClock, settled, type FakeClock } from "../../../test/kits/fake-clock.ts";
import { tunnel, beginningOf, idleGuard } from "./kubelet-relay.ts";

interface Stage {
  /** What the client and the kubelet hold. */
  readonly client: Duplex;
  readonly kubelet: Duplex;
  readonly ends: AbortController;
  readonly clock: FakeClock;
  readonly isDone: () => boolean;
}

function stage(heads: { readonly client?: string; readonly kubelet?: string } = {}): Stage {
  const [clientSide, client] = duplexPair();
  const [kubeletSide, kubelet] = duplexPair();
  const [clock, ends] = [fakeClock(), new AbortController()];
  let done = false;
  void tunnel({
    client: clientSide,
    clientHead: Buffer.from(heads.client ?? ""),
    kubelet: kubeletSide,
    kubeletHead: Buffer.from(heads.kubelet ?? ""),
    clock,
    idleMs: 1000,
    signal: ends.signal,
  }).then(() => {
    done = true;
  });
  for (const side of [client, kubelet]) side.on("error", () => undefined);
  return { client, kubelet, ends, clock, isDone: () => done };
}

/** All that has come; Node 26 reads a chunk at a time. */
function textOf(stream: Duplex): string {
  const read = (): Buffer | null => stream.read() as Buffer | null;
  let text = "";
  for (let chunk = read(); chunk !== null; chunk = read()) text += chunk.toString();
  return text;
}

describe("a tunnel", () => {
  it("carries what was sent early, and then both ways", async () => {
    const { client, kubelet } = stage({ client: "early", kubelet: "hello" });
    client.write("-late");
    await settled();
    expect([textOf(client), textOf(kubelet)]).toEqual(["hello", "early-late"]);
  });

  it("is closed when no byte came for the time it may be idle, and not before", async () => {
    const { client, kubelet, clock, isDone } = stage();
    kubelet.resume();
    client.resume();
    await clock.advance(900);
    client.write("x");
    await clock.advance(900);
    expect(isDone()).toBe(false);
    await clock.advance(100);
    expect(isDone()).toBe(true);
    expect(clock.sleeping()).toBe(0);
  });

  it("is closed at once when its credential is over", async () => {
    const { ends, isDone, clock } = stage();
    ends.abort();
    await settled();
    expect([isDone(), clock.sleeping()]).toEqual([true, 0]);
  });

  it("reads no more of a side than the other takes", async () => {
    const { client, kubelet } = stage();
    let written = 0;
    const chunk = Buffer.alloc(64 * 1024);
    const pump = (): void => {
      let hasRoom = true;
      while (written < 100 && hasRoom) {
        hasRoom = client.write(chunk);
        written += 1;
      }
    };
    client.on("drain", pump);
    pump();
    await settled();
    expect(written).toBeLessThan(20);
    const all = new Promise((resolve) => void client.once("finish", resolve));
    client.on("drain", () => {
      if (written === 100) client.end();
    });
    kubelet.resume();
    await all;
    expect(written).toBe(100);
  });

  it("lets a client take what was sent before the kubelet closed, for half a minute", async () => {
    const { client, kubelet, clock, isDone } = stage();
    kubelet.write(Buffer.alloc(200_000));
    await settled();
    kubelet.end();
    kubelet.resume();
    await clock.advance(900);
    let got = 0;
    client.on("data", (chunk: Buffer) => {
      got += chunk.length;
    });
    await settled();
    await settled();
    expect(got).toBe(200_000);
    client.end();
    await settled();
    expect(isDone()).toBe(true);
  });
});

it("of a refusal that does not end, what has come in time is told", async () => {
  const [clock, body] = [fakeClock(), new PassThrough()];
  const text = beginningOf(body, { clock, ms: 10_000 });
  body.write("no such ");
  await clock.advance(9_999);
  body.write("pod");
  await clock.advance(1);
  expect([await text, body.destroyed, clock.sleeping()]).toEqual(["no such pod", true, 0]);
});

it("of a long refusal, the first two kilobytes are told and no more is read", async () => {
  const [clock, body] = [fakeClock(), new PassThrough()];
  const text = beginningOf(body, { clock, ms: 10_000 });
  body.write("x".repeat(5000));
  expect([(await text).length, body.destroyed, clock.sleeping()]).toEqual([2048, true, 0]);
});

it("a body is cut off after the time in which nothing came, and not before", async () => {
  const [clock, body] = [fakeClock(), new PassThrough()];
  const guard = idleGuard({ clock, idleMs: 1000, cut: () => void body.destroy() });
  await clock.advance(900);
  guard.touch();
  await clock.advance(900);
  expect(body.destroyed).toBe(false);
  await clock.advance(100);
  expect([body.destroyed, clock.sleeping()]).toEqual([true, 0]);
});

it("a body that has ended is watched no longer", async () => {
  const [clock, body] = [fakeClock(), new PassThrough()];
  idleGuard({ clock, idleMs: 1000, cut: () => void body.destroy() }).end();
  await settled();
  expect([body.destroyed, clock.sleeping()]).toEqual([false, 0]);
});
