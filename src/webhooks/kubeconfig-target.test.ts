import { describe, expect, it } from "vitest";
import { ConnectionError } from "../client/client.ts";
import { TargetError, retriedReview } from "./kubeconfig-target.ts";

async function sent(
  failure: Error,
  failures: number,
): Promise<{ readonly tries: number; readonly waitedMs: number; readonly answer: unknown }> {
  let tries = 0;
  let waitedMs = 0;
  const clock = { now: () => 0, sleep: async (ms: number) => void (waitedMs += ms) };
  const post = async (): Promise<unknown> => {
    tries += 1;
    if (tries <= failures) throw failure;
    return "answer";
  };
  const answer = await retriedReview(post, clock)({}).catch((error: unknown) => error);
  return { tries, waitedMs, answer };
}

const status = (code: number): Error => new TargetError("status", `status ${code}`, { status: code });

describe("a review that fails", () => {
  it.each([
    ["is broken off", new ConnectionError("ECONNRESET", "reset")],
    ["is put off", status(429)],
    ["meets a fault", status(500)],
    ["is late elsewhere", status(504)],
  ])("because it %s is sent again, with growing pauses", async (_what, failure) => {
    const { tries, waitedMs, answer } = await sent(failure, 2);
    expect([tries, answer]).toEqual([3, "answer"]);
    expect(waitedMs).toBeGreaterThanOrEqual(500 + 750);
    expect(waitedMs).toBeLessThanOrEqual((500 + 750) * 1.2);
  });

  const later = (ms: number, code = 503): Error =>
    new TargetError("status", `status ${code}`, { status: code, retryAfterMs: ms });

  it("and says when to come back is sent again, not before", async () => {
    expect(await sent(later(3_000), 2)).toEqual({ tries: 3, waitedMs: 6_000, answer: "answer" });
    expect(await sent(later(0), 1)).toMatchObject({ tries: 2, answer: "answer" });
  });

  it("and says to come back when nobody waits any more is not", async () => {
    expect(await sent(later(30_000, 429), 2)).toMatchObject({ tries: 1, waitedMs: 0 });
  });

  it("each time ends after five", async () => {
    const failure = status(500);
    expect(await sent(failure, 9)).toMatchObject({ tries: 5, answer: failure });
  });

  it("slowly is not sent again once half a minute has passed", async () => {
    let [tries, now] = [0, 0];
    const clock = { now: () => now, sleep: async () => undefined };
    const post = async (): Promise<never> => {
      tries += 1;
      now += 20_000;
      throw status(500);
    };
    await expect(retriedReview(post, clock)({})).rejects.toThrow("status 500");
    expect(tries).toBe(2);
  });

  it.each([
    ["takes too long", new ConnectionError("TIMEOUT", "late")],
    ["finds nobody", new ConnectionError("ECONNREFUSED", "refused")],
    ["is refused", status(403)],
    ["is answered with nonsense", new TargetError("body", "no JSON", { status: 200 })],
  ])("because it %s is not sent again", async (_what, failure) => {
    expect(await sent(failure, 9)).toEqual({ tries: 1, waitedMs: 0, answer: failure });
  });
});
