import { describe, expect, test } from "vitest";
import { rfc3339 } from "../../apimachinery/clock.ts";
import type { ApiObject } from "../../apimachinery/object.ts";
import { staleReason } from "./csr-cleaner.ts";

const now = Date.UTC(2026, 10, 21);
const minute = 60_000;
const hour = 60 * minute;

function csr(age: number, conditions: readonly (readonly [string, number | undefined])[], certificate = ""): ApiObject {
  return {
    apiVersion: "certificates.k8s.io/v1",
    kind: "CertificateSigningRequest",
    metadata: { name: "c", creationTimestamp: rfc3339(now - age) },
    status: {
      certificate: Buffer.from(certificate).toString("base64"),
      conditions: conditions.map(([type, ago]) => ({
        type,
        status: "True",
        ...(ago === undefined ? {} : { lastUpdateTime: rfc3339(now - ago) }),
      })),
    },
  };
}

describe("staleReason", () => {
  test.each<[string, ApiObject, number | undefined, boolean]>([
    ["approved and issued over an hour ago", csr(hour, [["Approved", hour + minute]], "x"), undefined, true],
    ["approved and issued exactly an hour ago", csr(hour, [["Approved", hour]], "x"), undefined, false],
    ["approved long ago but not issued", csr(90 * hour, [["Approved", 80 * hour]]), undefined, false],
    ["issued without a time of approval", csr(90 * hour, [["Approved", undefined]], "x"), undefined, false],
    ["denied over an hour ago", csr(hour, [["Denied", hour + minute]]), undefined, true],
    ["denied just now", csr(90 * hour, [["Denied", minute]]), undefined, false],
    [
      "failed over an hour ago",
      csr(2 * hour, [
        ["Approved", 2 * hour],
        ["Failed", hour + minute],
      ]),
      undefined,
      true,
    ],
    ["pending for over a day", csr(24 * hour + minute, []), undefined, true],
    ["pending for a day", csr(24 * hour, []), undefined, false],
    ["left to an approver a day ago", csr(25 * hour, [["NotApprovedAutomatically", 25 * hour]]), undefined, true],
    ["with its name in use since a day", csr(25 * hour, [["NameInUse", 25 * hour]]), undefined, true],
    ["of another's condition, for a week", csr(168 * hour, [["Odd", 168 * hour]]), undefined, false],
    ["issued, and its certificate expired", csr(11 * minute, [["Approved", minute]], "x"), now - 1000, true],
    ["issued minutes ago, whatever its certificate", csr(9 * minute, [["Approved", minute]], "x"), now - 1000, false],
    ["issued, and its certificate valid", csr(minute, [["Approved", minute]], "x"), now + 1000, false],
  ])("judges one %s", (_, object, end, stale) => {
    expect(staleReason(object, () => end, now) !== undefined).toBe(stale);
  });
});
