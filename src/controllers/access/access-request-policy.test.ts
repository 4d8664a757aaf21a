import { describe, expect, it } from "vitest";
import { accessObject, accessProfile, newAccessKey } from "../../../test/kits/access-object.ts";
import type { AccessProfile } from "../../apis/access-profile.ts";
import type { AccessDecision, AccessRequest, AccessRequestStatus } from "../../apis/access-request.ts";
import { accessStep, profileFor, type AccessStep, type AccessView } from "./access-request-policy.ts";

const created = "2026-01-01T00:00:00Z";
const start = Date.parse(created);
const key = newAccessKey();
const second = 1000;
const day = 86_400 * second;

function pods(spec: Partial<AccessProfile["spec"]> = {}, generation = 2): AccessProfile {
  const profile = accessProfile("pods", spec);
  return { ...profile, metadata: { ...profile.metadata, uid: "p-1", generation } };
}

function request(status: AccessRequestStatus = {}): AccessRequest {
  return accessObject({ created, key, status });
}

function step(one: AccessRequest, view: Partial<AccessView> = {}): AccessStep {
  const known: AccessView = {
    request: one,
    profile: pods(),
    earlier: [],
    lifeOf: () => undefined,
    caPins: ["sha256:00"],
    now: start + second,
  };
  return accessStep({ ...known, ...view });
}

function approved(of: object = {}, verdict: AccessDecision["verdict"] = "Approved"): AccessRequestStatus {
  const profile = { name: "pods", uid: "p-1", generation: 2, ...of };
  return { accepted: true, decisions: [{ user: "ada", time: created, verdict, profile }] };
}

const conditionsIn = (one: AccessStep): readonly string[] =>
  "status" in one ? (one.status.conditions ?? []).map(({ type, status, reason }) => `${type}=${status} ${reason}`) : [];

describe("a request that no approver has decided", () => {
  it("waits as long as its profile says", () => {
    expect(step(request())).toEqual({ kind: "wait", afterMs: day - second, why: "no approver has decided" });
    expect(step(request(), { profile: pods({ pendingSeconds: 60 }) })).toMatchObject({ afterMs: 59 * second });
  });

  it("is told that its profile does not exist, until it does, and waits meanwhile", () => {
    const first = step(request(), { profile: undefined });
    expect([first.kind, conditionsIn(first)]).toEqual(["write", ["ProfileExists=False NoProfile"]]);
    const reported = request("status" in first ? first.status : {});
    expect(step(reported, { profile: undefined })).toMatchObject({ kind: "wait", afterMs: day - second });
    const found = step(reported);
    expect([found.kind, conditionsIn(found)]).toEqual(["write", ["ProfileExists=True ProfileFound"]]);
    expect(step(request("status" in found ? found.status : {}))).toMatchObject({ kind: "wait" });
  });

  it("is over after that, is shown for as long again, and goes", () => {
    const over = step(request(), { now: start + day });
    expect([over.kind, conditionsIn(over)]).toEqual(["close", ["Expired=True Unanswered"]]);
    const expired = request("status" in over ? over.status : {});
    expect(step(expired, { now: start + day })).toMatchObject({ kind: "wait", afterMs: day });
    expect(step(expired, { now: start + 2 * day })).toEqual({ kind: "remove" });
  });

  it("is looked at once: whether it proves its key, and how many there were before", () => {
    const unseen: AccessRequest = { ...request(), status: {} };
    expect(step(unseen, { earlier: [request(), request(), request()] })).toMatchObject({
      kind: "write",
      status: { fingerprint: request().status?.fingerprint, evidence: { possession: "Unproven", earlierRequests: 3 } },
    });
  });

  it.each([
    ["Approve", { accepted: true }],
    ["Refuse", { denied: true }],
  ] as const)("is decided by the first rule that holds: %s", (effect, verdict) => {
    const rules = [
      { expression: "false", effect: effect === "Approve" ? ("Refuse" as const) : ("Approve" as const) },
      { expression: "evidence.possession == 'Proven'", effect, message: "by rule" },
      { expression: "true", effect: "Refuse" as const },
    ];
    expect(step(request(), { profile: pods({ rules }) })).toMatchObject({
      kind: "write",
      status: { ...verdict, reason: "by rule" },
    });
  });

  it("is left to people where its rules cost more than all together may", () => {
    const list = `[${Array.from({ length: 100 }, (_, at) => at).join(",")}]`;
    const costly = { expression: `${list}.exists(x, ${list}.exists(y, x + y == -1))`, effect: "Refuse" as const };
    const rules = (
      count: number,
    ): readonly { readonly expression: string; readonly effect: "Approve" | "Refuse" }[] => [
      ...Array.from({ length: count }, () => costly),
      { expression: "true", effect: "Approve" as const },
    ];
    expect(step(request(), { profile: pods({ rules: rules(1) }) })).toMatchObject({ status: { accepted: true } });
    expect(step(request(), { profile: pods({ rules: rules(31) }) })).toMatchObject({
      kind: "wait",
      why: "no approver has decided",
    });
  });

  it("is left to people where a rule cannot be evaluated, whatever later ones say", () => {
    const rules = [
      { expression: "object.spec.missing.field == 'a'", effect: "Refuse" as const },
      { expression: "true", effect: "Approve" as const },
    ];
    expect(step(request(), { profile: pods({ rules }) })).toMatchObject({
      kind: "wait",
      why: "no approver has decided",
    });
  });
});

describe("an accepted request", () => {
  it("is issued", () => {
    expect(step(request(approved()))).toMatchObject({ kind: "issue", profile: { metadata: { name: "pods" } } });
  });

  it("whose decision says nothing of a profile is issued too, where no API stamps decisions", () => {
    expect(step(request({ accepted: true })).kind).toBe("issue");
  });

  it.each([
    ["changed", { generation: 1 }],
    ["made anew", { uid: "p-0" }],
    ["exchanged by another default", { name: "other" }],
  ])("is not, once its profile was %s", (_how, of) => {
    const refused = step(request(approved(of)));
    expect([refused.kind, conditionsIn(refused)]).toEqual(["write", ["Issued=False ProfileChanged"]]);
    // It is told once.
    expect(step(request("status" in refused ? refused.status : {})).kind).toBe("wait");
  });

  it("waits for a profile that was decided on and has not been seen yet", () => {
    expect(step(request(approved({ generation: 3 })))).toMatchObject({ kind: "wait", afterMs: undefined });
  });

  it("is told that there is no profile", () => {
    expect(conditionsIn(step(request(approved()), { profile: undefined }))).toEqual(["Issued=False NoProfile"]);
  });

  it("that was issued waits for the end of its token, and loses what was sealed then, once", () => {
    const sealed = { key: "k", token: "t", ca: "c", seal: {}, ready: true };
    const status = { ...approved(), ...sealed, expiresAt: "2026-01-01T01:00:00Z" };
    expect(step(request(status))).toMatchObject({ kind: "wait", afterMs: 3599 * second });
    const ended = step(request(status), { now: start + 3600 * second });
    expect([ended.kind, conditionsIn(ended)]).toEqual(["write", ["Expired=True TokenExpired"]]);
    for (const field of Object.keys(sealed)) expect(ended).not.toHaveProperty(`status.${field}`);
    expect(step(request("status" in ended ? ended.status : {})).kind).toBe("wait");
  });
});

describe("a request that is over", () => {
  const grant = { namespace: "vms", serviceAccount: "vm-1", uid: "s-1" };

  it.each([
    ["Revoked", { ...approved({}, "Revoked"), revoked: true, ready: true, token: "t", key: "k", grant }],
    ["Denied", { ...approved({}, "Denied"), accepted: false, denied: true, token: "t", grant }],
  ])("because it was %s loses everything, once", (type, status) => {
    const closed = step(request(status));
    expect([closed.kind, conditionsIn(closed)]).toEqual(["close", [`${type}=True ${type}`]]);
    for (const field of ["token", "key", "ready", "grant"]) expect(closed).not.toHaveProperty(`status.${field}`);
    expect(step(request("status" in closed ? closed.status : {})).kind).toBe("wait");
  });

  it("because it was denied goes an hour later, so that refused machines do not fill the store", () => {
    const closed = step(request({ ...approved({}, "Denied"), accepted: false, denied: true }));
    const denied = request("status" in closed ? closed.status : {});
    expect(step(denied)).toMatchObject({ kind: "wait", afterMs: 3599 * second });
    expect(step(denied, { now: start + 3600 * second })).toEqual({ kind: "remove" });
  });

  it("because it is being deleted is left alone", () => {
    const one = request(approved());
    expect(step({ ...one, metadata: { ...one.metadata, deletionTimestamp: created } }).kind).toBe("wait");
  });
});

describe("the profile of a request", () => {
  const named = accessProfile("named");
  const other = { ...accessProfile("pods"), metadata: { ...accessProfile("pods").metadata, name: "a-default" } };

  it.each<readonly [string, string | undefined, readonly AccessProfile[], string | undefined]>([
    ["the one it names", "named", [pods(), named], "named"],
    ["none where it names one that is not there", "absent", [pods()], undefined],
    ["the default where it names none", undefined, [named, pods()], "pods"],
    ["the default where it names an empty one", "", [named, pods()], "pods"],
    ["the first default by name of several", undefined, [pods(), other], "a-default"],
    ["none where there is no default", undefined, [named], undefined],
  ])("is %s", (_what, name, profiles, found) => {
    expect(profileFor(profiles, name)?.metadata.name).toBe(found);
  });
});
