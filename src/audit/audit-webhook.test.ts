import { describe, expect, test } from "vitest";
import { fakeClock, settled } from "../../test/kits/fake-clock.ts";
import { auditWebhook, type AuditWebhookOptions } from "./audit-webhook.ts";

type Answer = number | "no answer" | "never" | { readonly status: number; readonly retryAfterSeconds: number };

/** A webhook that gives these answers, the last one again and again. */
function webhookOf(answers: readonly Answer[] = [200], changes: Partial<AuditWebhookOptions> = {}) {
  const clock = fakeClock();
  const sent: (readonly string[])[] = [];
  const troubles: string[] = [];
  let count = 0;
  const webhook = auditWebhook({
    post: (body, signal) => {
      const list = JSON.parse(body.toString()) as { readonly items: readonly { readonly id: string }[] };
      expect(list).toMatchObject({ kind: "EventList", apiVersion: "audit.k8s.io/v1" });
      sent.push(list.items.map(({ id }) => id));
      const answer = answers[Math.min(count, answers.length - 1)] as Answer;
      count += 1;
      if (answer === "never") {
        return new Promise((_resolve, reject) => {
          signal.addEventListener("abort", () => reject(new RangeError("late")));
        });
      }
      if (answer === "no answer") return Promise.reject(new RangeError("refused"));
      return Promise.resolve(typeof answer === "number" ? { status: answer, retryAfterSeconds: undefined } : answer);
    },
    batchMaxSize: 3,
    batchMaxWaitMs: 1000,
    initialBackoffMs: 100,
    clock,
    chance: () => 0,
    trouble: (message) => void troubles.push(message),
    ...changes,
  });
  const write = (...ids: readonly string[]): void => ids.forEach((id) => webhook.write(`${JSON.stringify({ id })}\n`));
  return { clock, sent, troubles, webhook, write };
}

describe("the audit webhook", () => {
  test("is sent a full batch at once, and the rest when it has waited", async () => {
    const { clock, sent, write } = webhookOf();
    write("a", "b", "c", "d");
    await settled();
    expect(sent).toEqual([["a", "b", "c"]]);
    await clock.advance(999);
    expect(sent).toHaveLength(1);
    await clock.advance(1);
    expect(sent[1]).toEqual(["d"]);
  });

  test.each([[["no answer", 429, 500, 504, 200]], [["never", { status: 503, retryAfterSeconds: 1 }, 200]]] as const)(
    "is asked again after %j, later each time, and nothing is lost",
    async (answers) => {
      const { clock, sent, write, webhook } = webhookOf(answers);
      write("a", "b", "c");
      await clock.advance(60_000);
      expect(sent).toEqual(answers.map(() => ["a", "b", "c"]));
      expect(webhook.lost()).toBe(0);
    },
  );

  test("is asked five times, and what it does not take is counted; what comes after is sent", async () => {
    const { clock, sent, troubles, write, webhook } = webhookOf([500, 500, 500, 500, 500, 200]);
    write("a", "b", "c");
    await clock.advance(60_000);
    expect([sent.length, webhook.lost()]).toEqual([5, 3]);
    write("d", "e", "f");
    await clock.advance(0);
    expect(sent[5]).toEqual(["d", "e", "f"]);
    expect(troubles).toEqual([
      "audit events are lost: the webhook does not take them",
      "the audit webhook takes events again; 3 were lost",
    ]);
  });

  test("that refuses is not asked again", async () => {
    const { clock, sent, write, webhook } = webhookOf([403]);
    write("a", "b", "c");
    await clock.advance(60_000);
    expect([sent.length, webhook.lost()]).toEqual([1, 3]);
  });

  test("has at most ten thousand events waiting for it", async () => {
    const { troubles, write, webhook } = webhookOf(["never"], { batchMaxSize: 1 });
    for (let index = 0; index < 10_010; index += 1) write("x");
    expect(webhook.lost()).toBe(10);
    expect(troubles).toEqual(["audit events are lost: the webhook is too slow"]);
  });

  test("is sent what waits when the hub stops, without waiting for more", async () => {
    const { sent, write, webhook } = webhookOf();
    write("a", "b", "c", "d");
    await webhook.close();
    expect(sent).toEqual([["a", "b", "c"], ["d"]]);
  });

  test("does not hold up a stop for more than five seconds", async () => {
    const { clock, troubles, write, webhook } = webhookOf(["never"]);
    write("a", "b", "c", "d");
    const closed = webhook.close();
    await clock.advance(5000);
    await closed;
    expect(troubles).toContain("audit events are lost: the hub stops");
  });
});
