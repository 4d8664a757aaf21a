import { PassThrough } from "node:stream";
import { expect, it } from "vitest";
import { fakeClock, settled } from "../../../test/kits/fake-clock.ts";
import { beginningOf, idleGuard } from "./kubelet-body.ts";

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
  const guard = idleGuard(body, { clock, idleMs: 1000 });
  await clock.advance(900);
  guard.touch();
  await clock.advance(900);
  expect(body.destroyed).toBe(false);
  await clock.advance(100);
  expect([body.destroyed, clock.sleeping()]).toEqual([true, 0]);
});

it("a body that has ended is watched no longer", async () => {
  const [clock, body] = [fakeClock(), new PassThrough()];
  idleGuard(body, { clock, idleMs: 1000 }).end();
  await settled();
  expect([body.destroyed, clock.sleeping()]).toEqual([false, 0]);
});
