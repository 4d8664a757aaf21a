import { describe, expect, it } from "vitest";
import { rfc3339 } from "../../apimachinery/clock.ts";
import type { IssuedCredential } from "../../apis/issued-credential.ts";
import { newRecord, withIssue } from "./credential-record.ts";

/** A record of certificates by their keys, one issued after the other. */
function recordOf(keys: readonly string[]): IssuedCredential {
  return keys.reduce(
    (record, key, at) => {
      const [notBefore, notAfter] = [rfc3339(at * 1000), rfc3339(1_000_000)];
      return withIssue(record, { credentialID: `c${at}`, key, notBefore, notAfter });
    },
    newRecord({ username: "system:node:a", purpose: "Client" }),
  );
}

const idsOf = ({ status }: IssuedCredential): string =>
  (status?.issued ?? []).map(({ credentialID }) => credentialID).join(" ");

describe("a full record", () => {
  it("forgets the oldest where each has a key of its own", () => {
    const record = recordOf(["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"]);
    expect(idsOf(record)).toBe("c2 c3 c4 c5 c6 c7 c8 c9");
    expect(record.status?.count).toBe(10);
  });

  it("forgets answers to a request that was repeated before any other", () => {
    const record = recordOf(["first", ...Array.from({ length: 20 }, () => "again"), "last"]);
    expect(idsOf(record)).toBe("c0 c1 c16 c17 c18 c19 c20 c21");
    const forgotten = { credentialID: "c7", key: "again", notBefore: rfc3339(7000), notAfter: rfc3339(1_000_000) };
    expect(withIssue(record, forgotten)).toBe(record);
  });
});
