import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { earlyRotation, issuerInBundle, type HasteView, type EarlyRotation } from "./early-rotation.ts";
import { clientCertificate, testCa } from "../../../test/kits/fake-hub.ts";
import { generatePrivateKey, spkiOf } from "../../pki/keys.ts";
import { buildName } from "../../pki/names.ts";
import { decodePem } from "../../pki/pem.ts";

const hour = 3_600_000;
const day = 24 * hour;
const now = Date.UTC(2026, 10, 21);
const [old, next] = [
  { pin: "old", notBefore: now - 1000 * day },
  { pin: "next", notBefore: now - day },
];

function decided(view: Partial<HasteView> = {}): ReturnType<typeof earlyRotation> {
  return earlyRotation({
    own: old,
    signer: next,
    deadline: now + 300 * day,
    last: undefined,
    now,
    random: 0,
    ...view,
  });
}

describe("a rotation before its time", () => {
  test("is decided where a newer CA signs, at a moment of the next four hours", () => {
    expect(decided()).toEqual({ signer: "next", at: now, tries: 1, deadline: now });
    expect(decided({ random: 0.5 })).toMatchObject({ deadline: now + 2 * hour });
    expect(decided({ random: 0.999_999 })?.deadline).toBeLessThan(now + 4 * hour);
  });

  test("is never later than the rotation would be anyway, nor decided once that is due", () => {
    expect(decided({ deadline: now + hour, random: 0.5 })).toMatchObject({ deadline: now + hour / 2 });
    expect(decided({ deadline: now })).toBeUndefined();
  });

  test("is not decided for a CA that is the same or older", () => {
    expect(decided({ signer: old })).toBeUndefined();
    expect(decided({ own: next, signer: old })).toBeUndefined();
    expect(decided({ own: { pin: "twin", notBefore: next.notBefore } })).toBeDefined();
  });

  test("that changed nothing is decided again after a day, then after two, four and eight", () => {
    const days: number[] = [];
    let last: EarlyRotation | undefined;
    for (let passed = 0; passed < 20 * day; passed += hour) {
      const plan = decided({ now: now + passed, last });
      if (plan === undefined) continue;
      days.push(passed / day);
      last = plan;
    }
    expect(days).toEqual([0, 1, 3, 7, 15]);
  });

  test("is decided at most once a day whatever is shown, and however the clock is set", () => {
    const steps = fc.array(
      fc.record({
        passed: fc.integer({ min: -2 * hour, max: 3 * hour }),
        pin: fc.integer({ min: 0, max: 3 }).map(String),
        notBefore: fc.integer({ min: 0, max: 2 * now }),
        random: fc.double({ min: 0, max: 0.999, noNaN: true }),
      }),
      { maxLength: 60 },
    );
    fc.assert(
      fc.property(steps, (all) => {
        let at = now;
        let last: EarlyRotation | undefined;
        for (const { passed, pin, notBefore, random } of all) {
          at += passed;
          const plan = decided({ signer: { pin, notBefore }, now: at, random, last });
          if (plan === undefined) continue;
          expect(plan.deadline).toBeGreaterThanOrEqual(at);
          expect(plan.deadline).toBeLessThan(at + 4 * hour);
          expect(Math.abs(at - (last?.at ?? at + day))).toBeGreaterThanOrEqual(day);
          last = plan;
        }
      }),
      { numRuns: 200 },
    );
  });
});

const rawSubject = buildName({ commonName: "n1", organizations: [] });
const leafOf = (ca: ReturnType<typeof testCa>): Uint8Array =>
  decodePem(clientCertificate(ca, { rawSubject, spki: spkiOf(generatePrivateKey()) }))[0]?.bytes ?? new Uint8Array();

test("the issuer is the CA whose key has signed, also where another has its name", () => {
  const [one, namesake, other] = [testCa("a"), testCa("a"), testCa("b")];
  const bundle = `${namesake.pem}${one.pem}${other.pem}`;
  expect(issuerInBundle(leafOf(one), bundle)).toEqual({ pin: one.pin, notBefore: expect.any(Number) as number });
  expect(issuerInBundle(leafOf(other), bundle)?.pin).toBe(other.pin);
});

test("there is none where no CA of the bundle has signed, or nothing can be read", () => {
  const [one, namesake] = [testCa("a"), testCa("a")];
  expect(issuerInBundle(leafOf(one), namesake.pem)).toBeUndefined();
  expect(issuerInBundle(leafOf(one), "")).toBeUndefined();
  expect(issuerInBundle(new Uint8Array([48, 3, 2, 1]), one.pem)).toBeUndefined();
  const broken = leafOf(one);
  broken[broken.length - 1] = (broken.at(-1) ?? 0) ^ 1;
  expect(issuerInBundle(broken, one.pem)).toBeUndefined();
});
