import { describe, expect, it } from "vitest";
import { alwaysAllow, alwaysDeny, masters } from "./always.ts";
import type { Attributes, Decision, NamedAuthorizer } from "./authorizer.ts";
import { firstDecision } from "./chain.ts";

const request: Attributes = {
  user: { username: "ann", groups: ["system:authenticated"] },
  verb: "get",
  group: "",
  version: "v1",
  resource: "pods",
  subresource: "",
  namespace: "default",
  name: "x",
  path: undefined,
};

function member(name: string, decision: Decision): NamedAuthorizer {
  return { name, authorize: async () => decision };
}

function throwing(name: string, error: unknown): NamedAuthorizer {
  return {
    name,
    authorize: () => {
      throw error;
    },
  };
}

const silent = member("silent", { verdict: "noOpinion", reason: "" });
const denying = member("denying", { verdict: "deny", reason: "no" });

describe("firstDecision", () => {
  it("refuses when there is no member at all", async () => {
    expect(await firstDecision([]).decide(request)).toEqual({ verdict: "noOpinion", reason: "" });
  });

  it("ends at the first allow, and asks nobody after it", async () => {
    const chain = firstDecision([silent, alwaysAllow, throwing("never", new TypeError("asked"))]);
    expect(await chain.decide(request)).toEqual({ verdict: "allow", reason: "", by: "AlwaysAllow" });
  });

  it("ends at the first deny, even where a later member would allow", async () => {
    expect(await firstDecision([denying, alwaysAllow]).decide(request)).toEqual({
      verdict: "deny",
      reason: "no",
      by: "denying",
    });
  });

  it("joins the reasons of members without opinion by newlines, leaving out empty ones", async () => {
    const other = member("other", { verdict: "noOpinion", reason: "RBAC: why" });
    const decision = await firstDecision([alwaysDeny, silent, other]).decide(request);
    expect(decision).toEqual({ verdict: "noOpinion", reason: "Everything is forbidden.\nRBAC: why" });
  });

  it("takes a member that throws or rejects for one without opinion, and carries its error", async () => {
    const rejecting: NamedAuthorizer = { name: "r", authorize: async () => Promise.reject(new TypeError("down")) };
    const chain = firstDecision([throwing("t", new TypeError("broken")), rejecting, throwing("s", "text")]);
    expect(await chain.decide(request)).toEqual({
      verdict: "noOpinion",
      reason: "",
      error: "[broken, down, text]",
    });
  });

  it("lets a later member allow past an earlier error", async () => {
    const decision = await firstDecision([throwing("t", new TypeError("down")), alwaysAllow]).decide(request);
    expect(decision).toEqual({ verdict: "allow", reason: "", by: "AlwaysAllow" });
  });

  it("takes an unknown verdict for no opinion", async () => {
    const odd = { verdict: "yes", reason: "" } as unknown;
    const decision = await firstDecision([member("odd", odd as Decision)]).decide(request);
    expect(decision.verdict).toBe("noOpinion");
  });

  it("traces every member that was asked, with times from the given clock", async () => {
    let now = 0;
    const clock = (): number => (now += 5);
    const failing = throwing("failing", new TypeError("down"));
    const chain = firstDecision([silent, failing, denying, alwaysAllow], { now: clock });
    expect(await chain.decide(request, { trace: true })).toEqual({
      verdict: "deny",
      reason: "no",
      by: "denying",
      trace: [
        { name: "silent", verdict: "noOpinion", reason: "", ms: 5 },
        { name: "failing", verdict: "noOpinion", reason: "", error: "down", ms: 5 },
        { name: "denying", verdict: "deny", reason: "no", ms: 5 },
      ],
    });
    expect(chain.names).toEqual(["silent", "failing", "denying", "AlwaysAllow"]);
  });

  it("decides the same with and without a trace", async () => {
    const chain = firstDecision([alwaysDeny, throwing("t", new TypeError("down")), alwaysDeny]);
    const { trace, ...traced } = await chain.decide(request, { trace: true });
    expect(traced).toEqual(await chain.decide(request));
    expect(await chain.authorize(request)).toEqual(traced);
    expect(trace?.map((step) => step.name)).toEqual(["AlwaysDeny", "t", "AlwaysDeny"]);
  });
});

describe("masters", () => {
  const chain = firstDecision([masters, denying]);
  const as = async (...groups: string[]): Promise<string> =>
    (await chain.decide({ ...request, user: { username: "u", groups } })).verdict;

  it("allows the group system:masters before any other member can deny", async () => {
    expect(await as("a", "system:masters")).toBe("allow");
  });

  it.each(["system:masters ", "System:Masters", "system:master", "system:masters:x", ""])(
    "has no opinion on the group %j",
    async (group) => {
      expect(await as(group)).toBe("deny");
    },
  );

  it("does not look at the user name", async () => {
    const user = { username: "system:masters", groups: ["system:authenticated"] };
    expect((await chain.decide({ ...request, user })).verdict).toBe("deny");
  });

  it("does not allow to impersonate system:masters because that is the name in the request", async () => {
    const impersonation = { ...request, verb: "impersonate", resource: "groups", name: "system:masters" };
    expect((await chain.decide(impersonation)).verdict).toBe("deny");
  });
});
