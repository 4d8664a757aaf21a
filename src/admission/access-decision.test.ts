import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { AccessDecision, AccessRequestStatus } from "../apis/access-request.ts";
import { oversteps, stampedStatus, verdictsIn, type StatusWrite } from "./access-decision.ts";

const now = "2026-01-02T03:04:05Z";
const profile = { name: "pods", uid: "u-1", generation: 1 };
const fingerprint = "SHA256:a";
const write = (
  stored: AccessRequestStatus,
  incoming: AccessRequestStatus,
  more: Partial<StatusWrite> = {},
): StatusWrite => ({
  stored: { fingerprint, ...stored },
  incoming,
  user: "ada",
  now,
  mayIssue: false,
  approvers: 1,
  profile,
  ...more,
});
const approval = (user: string, of: Partial<typeof profile> = {}): AccessDecision => ({
  user,
  time: now,
  verdict: "Approved",
  profile: { ...profile, ...of },
});
const statusOf = (one: StatusWrite): AccessRequestStatus => {
  const stamped = stampedStatus(one);
  if (stamped.kind === "refused") throw new TypeError(stamped.why);
  return stamped.status;
};

describe("a decision", () => {
  it("is stamped with who, when, the key, and the profile as it is", () => {
    expect(statusOf(write({}, { accepted: true, reason: "known", wordsCompared: true }))).toEqual({
      accepted: true,
      fingerprint,
      decisions: [
        { user: "ada", time: now, verdict: "Approved", reason: "known", words: "Compared", fingerprint, profile },
      ],
    });
  });

  it("names the user who impersonates as well", () => {
    const [decision] = statusOf(write({}, { accepted: true }, { impersonator: "ben" })).decisions ?? [];
    expect(decision).toMatchObject({ user: "ada", impersonator: "ben" });
  });

  it("of which nobody has compared the words says so, and a denial says nothing of words", () => {
    expect(statusOf(write({}, { accepted: true })).decisions?.[0]?.words).toBe("NotCompared");
    expect(statusOf(write({}, { denied: true, wordsCompared: true })).decisions?.[0]).not.toHaveProperty("words");
  });

  it("keeps no more than 1024 characters of a reason", () => {
    expect(statusOf(write({}, { denied: true, reason: "x".repeat(5000) })).decisions?.[0]?.reason).toHaveLength(1024);
  });

  it.each<readonly [string, StatusWrite, string]>([
    ["two at once", write({}, { accepted: true, denied: true }), "Approved and Denied at once"],
    ["nobody", write({}, { accepted: true }, { user: "system:anonymous" }), "needs an authenticated user"],
    ["the requester", write({ evidence: { requester: "ada" } }, { accepted: true }), "on its own request"],
    ["the requester, denying", write({ evidence: { requester: "ada" } }, { denied: true }), "on its own request"],
    ["no profile", write({}, { accepted: true }, { approvers: undefined }), "for no profile"],
    ["revoked before", write({ accepted: true, revoked: true }, { accepted: true, denied: true }), "it was revoked"],
    ["revoking what was not approved", write({}, { revoked: true }), "deny it instead"],
    ["denying what was approved", write({ accepted: true }, { accepted: true, denied: true }), "revoke it instead"],
    ["approving what was denied", write({ denied: true }, { denied: true, accepted: true }), "it was denied"],
    [
      "the same person twice",
      write({ decisions: [approval("ada")] }, { accepted: true }, { approvers: 2 }),
      "ada approved it already; 2 different approvers must",
    ],
    [
      "the same person, impersonating first one and then another",
      write(
        { decisions: [{ ...approval("ben"), impersonator: "ada" }] },
        { accepted: true },
        { approvers: 2, user: "carl", impersonator: "ada" },
      ),
      "ada approved it already; 2 different approvers must",
    ],
    [
      "the same person, after impersonating another",
      write({ decisions: [{ ...approval("ben"), impersonator: "ada" }] }, { accepted: true }, { approvers: 2 }),
      "ada approved it already; 2 different approvers must",
    ],
    [
      "a person who was impersonated before",
      write({ decisions: [{ ...approval("ada"), impersonator: "ben" }] }, { accepted: true }, { approvers: 2 }),
      "ada approved it already; 2 different approvers must",
    ],
  ])("is refused for: %s", (_what, one, why) => {
    expect(stampedStatus(one)).toEqual({ kind: "refused", why: expect.stringContaining(why) });
  });
});

describe("several approvers", () => {
  const two = { approvers: 2, user: "ben" };

  it("accept together", () => {
    expect(statusOf(write({}, { accepted: true }, { approvers: 2 })).accepted).toBeUndefined();
    expect(statusOf(write({ decisions: [approval("ada")] }, { accepted: true }, two)).accepted).toBe(true);
  });

  it.each([
    ["changed", { generation: 0 }],
    ["made anew", { uid: "u-0" }],
    ["exchanged for another", { name: "others" }],
  ])("begin again once the profile was %s", (_how, of) => {
    const stored = { decisions: [approval("ada", of)] };
    expect(statusOf(write(stored, { accepted: true }, two)).accepted).toBeUndefined();
    expect(stampedStatus(write(stored, { accepted: true }, { approvers: 2 })).kind).toBe("status");
  });

  it("do not count an approval that says nothing of a profile", () => {
    const { profile: _profile, ...old } = approval("ada");
    expect(statusOf(write({ decisions: [old] }, { accepted: true }, two)).accepted).toBeUndefined();
  });
});

describe("the fields of others", () => {
  it.each<readonly [string, AccessRequestStatus]>([
    ["ready", { ready: true }],
    ["token", { token: "x" }],
    ["key", { key: "x" }],
    ["ca", { ca: "x" }],
    ["bootstrapToken", { bootstrapToken: "x" }],
    ["seal", { seal: { scheme: "none" } }],
    ["expiresAt", { expiresAt: now }],
    ["grant", { grant: { uid: "x" } }],
    ["conditions", { conditions: [] }],
    ["fingerprint", { fingerprint: "SHA256:b" }],
    ["evidence", { evidence: { possession: "Proven" } }],
    ["decisions", { decisions: [approval("ben")] }],
  ])("%s is not written by whoever decides", (field, incoming) => {
    expect(oversteps(write({}, incoming))).toEqual([field]);
    const { status } = stampedStatus(write({}, incoming)) as { readonly status: AccessRequestStatus };
    expect(status).toEqual({ fingerprint });
  });

  it("are kept whatever a write leaves out", () => {
    const stored = {
      accepted: true,
      ready: true,
      token: "t",
      decisions: [approval("ada")],
      evidence: { requester: "r" },
    };
    for (const incoming of [{}, { accepted: false, ready: true, token: "t" }]) {
      expect(statusOf(write(stored, incoming))).toEqual({ fingerprint, ...stored });
    }
  });

  it("are written by the controller, which rewrites no evidence", () => {
    const stored = { evidence: { sourceAddress: "192.0.2.7" } };
    const incoming = {
      ready: true,
      token: "t",
      fingerprint: "SHA256:b",
      evidence: { sourceAddress: "192.0.2.8", possession: "Proven" as const },
    };
    const issued = write(stored, incoming, { mayIssue: true });
    expect(oversteps(issued)).toEqual([]);
    expect(statusOf(issued)).toEqual({
      ready: true,
      token: "t",
      fingerprint,
      evidence: { sourceAddress: "192.0.2.7", possession: "Proven" },
    });
  });
});

it("nothing that anybody writes takes a decision back, or loses one", () => {
  const flags = fc.record(
    { accepted: fc.boolean(), denied: fc.boolean(), revoked: fc.boolean(), mayIssue: fc.boolean() },
    { requiredKeys: ["mayIssue"] },
  );
  fc.assert(
    fc.property(fc.array(flags, { maxLength: 6 }), (steps) => {
      let stored: AccessRequestStatus = { fingerprint };
      for (const [index, { mayIssue, ...incoming }] of steps.entries()) {
        const one = write(stored, incoming, { mayIssue, user: `user-${index}` });
        const stamped = stampedStatus(one);
        if (stamped.kind === "refused") continue;
        const before = stored;
        stored = stamped.status;
        const lost = (["accepted", "denied", "revoked"] as const).filter(
          (field) => before[field] === true && stored[field] !== true,
        );
        expect(lost).toEqual([]);
        expect(stored.decisions?.slice(0, before.decisions?.length ?? 0) ?? []).toEqual(before.decisions ?? []);
        expect((stored.decisions?.length ?? 0) - (before.decisions?.length ?? 0)).toBe(
          Math.min(1, verdictsIn(before, incoming).length),
        );
      }
      expect(stored.denied === true && stored.accepted === true).toBe(false);
    }),
    { numRuns: 200 },
  );
});
