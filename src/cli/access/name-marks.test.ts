import { describe, expect, test } from "vitest";
import { accessObject, newAccessKey } from "../../../test/kits/access-object.ts";
import { csrObject, type AskedCsr } from "../../../test/kits/csr-object.ts";
import { generatePrivateKey } from "../../pki/keys.ts";
import { accessMarks, csrMarks, type NameMark } from "./name-marks.ts";

const now = Date.UTC(2026, 10, 21, 12);
const [mine, other, third] = [generatePrivateKey(), generatePrivateKey(), generatePrivateKey()];

function marksOf(...requests: readonly AskedCsr[]): Readonly<Record<string, readonly NameMark[]>> {
  return Object.fromEntries(csrMarks(requests.map(csrObject), now));
}

const approved = [{ type: "Approved", status: "True" }];
const denied = (time: string): readonly object[] => [{ type: "Denied", status: "True", lastTransitionTime: time }];
const contested = (request: string): NameMark => ({
  reason: "NameContested",
  message: `the name "system:node:m1" is asked for with another key at the same time: ${request}`,
});

describe("certificate requests", () => {
  test("of two keys for one name are both marked, and one key that asks twice is not", () => {
    expect(marksOf({ name: "a", key: mine }, { name: "b", key: other })).toEqual({
      a: [contested("csr/b")],
      b: [contested("csr/a")],
    });
    expect(marksOf({ name: "a", key: mine }, { name: "b", key: mine })).toEqual({});
    expect(marksOf({ name: "a", key: mine }, { name: "b", key: other, commonName: "system:node:m2" })).toEqual({});
  });

  test("a node that renews asks for nothing that is another's", () => {
    expect(marksOf({ name: "a", key: mine, username: "system:node:m1" }, { name: "b", key: other })).toEqual({});
  });

  test("for a name that another key was given are marked, and the key that has it is not", () => {
    const marks = marksOf(
      { name: "in", key: mine, conditions: approved },
      { name: "a", key: other },
      { name: "b", key: mine },
    );
    expect(marks).toEqual({
      a: [
        { reason: "NameInUse", message: 'the name "system:node:m1" is in use by another key: csr/in' },
        contested("csr/b"),
      ],
      b: [contested("csr/a")],
    });
  });

  test("what the hub says of the name is told in its words, in place of what the list shows", () => {
    const condition = { type: "NameInUse", status: "True", message: "in use, says the hub" };
    const marks = marksOf(
      { name: "in", key: mine, conditions: approved },
      { name: "a", key: other, conditions: [condition] },
    );
    expect(marks).toEqual({ a: [{ reason: "NameInUse", message: "in use, says the hub" }] });
    expect(marksOf({ name: "a", conditions: [{ ...condition, status: "False" }] })).toEqual({});
  });

  test.each([
    ["2026-11-21T11:59:00Z", true],
    ["2026-11-20T12:00:01Z", true],
    ["2026-11-20T12:00:00Z", false],
    ["whenever", false],
  ])("for a name that was denied at %s: %s", (time, isMarked) => {
    const marks = marksOf({ name: "no", key: mine, conditions: denied(time) }, { name: "a", key: other });
    const message = 'a request for the name "system:node:m1" was denied in the last 24 hours: csr/no';
    expect(marks).toEqual(isMarked ? { a: [{ reason: "NameRecentlyDenied", message }] } : {});
  });

  test("a mark names five others at the most", () => {
    const many = Array.from({ length: 7 }, (_, number) => ({ name: `r${number}`, key: generatePrivateKey() }));
    const message = marksOf({ name: "a", key: third }, ...many)["a"]?.[0]?.message;
    expect(message).toMatch(/: csr\/r0, csr\/r1, csr\/r2, csr\/r3, csr\/r4 and 2 more$/);
  });

  test("of other signers, and those that cannot be read, are passed over", () => {
    const serving = { signerName: "kubernetes.io/kubelet-serving" };
    expect(marksOf({ name: "a", key: mine, ...serving }, { name: "b", key: other, ...serving })).toEqual({});
    expect(marksOf({ name: "a", request: "nonsense" }, { name: "b", key: other })).toEqual({});
  });
});

describe("access requests", () => {
  test("are compared by the host name that the machine gives", () => {
    const decisions = [{ user: "ann", verdict: "Denied" as const, time: "2026-11-21T11:00:00Z" }];
    const marks = accessMarks(
      [
        accessObject({ name: "a", hostname: "web-1" }),
        accessObject({ name: "b", hostname: "web-1" }),
        accessObject({ name: "in", hostname: "web-2", status: { accepted: true, ready: true } }),
        accessObject({ name: "c", hostname: "web-2" }),
        accessObject({ name: "no", hostname: "web-3", status: { denied: true, decisions } }),
        accessObject({ name: "d", hostname: "web-3" }),
        accessObject({ name: "e" }),
        accessObject({ name: "f" }),
      ],
      now,
    );
    expect(Object.fromEntries(marks)).toEqual({
      a: [{ reason: "NameContested", message: expect.stringContaining(": accessrequest/b") as string }],
      b: [{ reason: "NameContested", message: expect.stringContaining(": accessrequest/a") as string }],
      c: [{ reason: "NameInUse", message: 'the host name "web-2" is in use by another key: accessrequest/in' }],
      d: [
        {
          reason: "NameRecentlyDenied",
          message: 'a request for the host name "web-3" was denied in the last 24 hours: accessrequest/no',
        },
      ],
    });
  });

  test("of the key that was let in before are not marked as another's", () => {
    const key = newAccessKey();
    const granted = accessObject({ name: "in", hostname: "web-1", key, status: { accepted: true, ready: true } });
    expect(accessMarks([granted, accessObject({ name: "a", hostname: "web-1", key })], now).size).toBe(0);
  });
});
