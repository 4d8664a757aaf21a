import { describe, expect, it } from "vitest";
import type { Attributes, Decision } from "./authorizer.ts";
import { matchConditions } from "./match-conditions.ts";
import { webhookAuthorizer, type WebhookAuthorizerOptions } from "./webhook.ts";

const request: Attributes = {
  user: { username: "ann", uid: "7", groups: ["devs"], extra: { k: ["v"] } },
  verb: "get",
  group: "apps",
  version: "v1",
  resource: "deployments",
  subresource: "",
  namespace: "default",
  name: "d",
  path: undefined,
};

interface Bench {
  readonly ask: (change?: Partial<Attributes>) => Promise<Decision>;
  readonly sent: object[];
  readonly pass: (ms: number) => void;
}

function bench(reply: (review: object) => unknown, more: Partial<WebhookAuthorizerOptions> = {}): Bench {
  const sent: object[] = [];
  let now = 1_000;
  const { authorize } = webhookAuthorizer({
    version: "v1",
    post: async (review) => {
      sent.push(review);
      return reply(review);
    },
    onError: "noOpinion",
    authorizedMs: 100,
    unauthorizedMs: 10,
    now: () => now,
    ...more,
  });
  return { sent, ask: (change = {}) => authorize({ ...request, ...change }), pass: (ms) => void (now += ms) };
}

const allowed = { status: { allowed: true } };

describe("what is sent", () => {
  it("is a review of v1, without what is empty", async () => {
    const { ask, sent } = bench(() => allowed);
    await ask({ fieldSelector: [{ key: "a", operator: "In", values: ["b"] }] });
    expect(sent).toEqual([
      {
        kind: "SubjectAccessReview",
        apiVersion: "authorization.k8s.io/v1",
        metadata: {},
        spec: {
          resourceAttributes: {
            namespace: "default",
            verb: "get",
            group: "apps",
            version: "v1",
            resource: "deployments",
            name: "d",
            fieldSelector: { requirements: [{ key: "a", operator: "In", values: ["b"] }] },
          },
          user: "ann",
          uid: "7",
          groups: ["devs"],
          extra: { k: ["v"] },
        },
        status: { allowed: false },
      },
    ]);
  });

  it("has the groups under another name in v1beta1, and a path in place of a resource", async () => {
    const { ask, sent } = bench(() => allowed, { version: "v1beta1" });
    await ask({ path: "/x" });
    expect(sent[0]).toMatchObject({
      apiVersion: "authorization.k8s.io/v1beta1",
      spec: { group: ["devs"], nonResourceAttributes: { path: "/x", verb: "get" } },
    });
    expect(sent[0]).not.toHaveProperty("spec.groups");
    expect(sent[0]).not.toHaveProperty("spec.resourceAttributes");
  });
});

describe("an answer", () => {
  it.each<[object, Decision]>([
    [
      { allowed: true, reason: "r" },
      { verdict: "allow", reason: "r" },
    ],
    [
      { allowed: false, reason: "r" },
      { verdict: "noOpinion", reason: "r" },
    ],
    [
      { allowed: false, denied: true, reason: "r" },
      { verdict: "deny", reason: "r" },
    ],
    [{}, { verdict: "noOpinion", reason: "" }],
    [
      { allowed: null, denied: null, reason: null },
      { verdict: "noOpinion", reason: "" },
    ],
    [
      { allowed: true, evaluationError: "e" },
      { verdict: "allow", reason: "" },
    ],
    [
      { allowed: true, denied: true },
      {
        verdict: "deny",
        reason: "",
        error: "webhook subject access review returned both allow and deny response",
      },
    ],
  ])("of %j is understood", async (status, decision) => {
    expect(await bench(() => ({ status })).ask()).toEqual(decision);
  });

  it("may say null for what it leaves out", async () => {
    const replies = [{ status: null }, { kind: null, apiVersion: null, status: { allowed: false, reason: null } }];
    for (const reply of replies) {
      expect(await bench(() => reply).ask()).toEqual({ verdict: "noOpinion", reason: "" });
    }
  });

  it.each([
    null,
    "true",
    true,
    [],
    { kind: "Status" },
    { apiVersion: "authorization.k8s.io/v1beta1", ...allowed },
    { apiVersion: 1, ...allowed },
    { status: { allowed: "true" } },
    { status: { allowed: 1 } },
    { status: { allowed: true, denied: "no" } },
    { status: { allowed: true, reason: {} } },
    { status: [true] },
  ])("of %j allows nothing, whatever the policy on failure", async (reply) => {
    for (const onError of ["noOpinion", "deny"] as const) {
      const decision = await bench(() => reply, { onError }).ask();
      expect(decision.verdict).toBe(onError);
      expect(decision.error).toMatch(/^the authorization webhook answered with/);
    }
  });
});

describe("answers that are kept", () => {
  it("count for a while, and longer where they allow", async () => {
    const { ask, sent, pass } = bench(() => allowed);
    await ask();
    pass(99);
    await ask();
    expect(sent).toHaveLength(1);
    pass(1);
    await ask();
    expect(sent).toHaveLength(2);
    const other = bench(() => ({ status: { allowed: false } }));
    await other.ask();
    other.pass(10);
    await other.ask();
    expect(other.sent).toHaveLength(2);
  });

  it.each<Partial<Attributes>>([
    { user: { ...request.user, username: "bob" } },
    { user: { ...request.user, uid: "8" } },
    { user: { ...request.user, groups: ["devs", "ops"] } },
    { user: { ...request.user, groups: [] } },
    { user: { ...request.user, extra: { k: ["v", "w"] } } },
    { user: { ...request.user, extra: Object.fromEntries([["__proto__", ["v"]]]) } },
    { user: { username: "ann", uid: "7", groups: ["devs"] } },
    { verb: "list" },
    { group: "" },
    { version: "v2" },
    { resource: "pods" },
    { subresource: "scale" },
    { namespace: "" },
    { name: "e" },
    // What one field loses another gains.
    { namespace: "", name: "default" },
    { path: "/apis" },
    { fieldSelector: [{ key: "metadata.name", operator: "In", values: ["d"] }] },
    { labelSelector: [{ key: "metadata.name", operator: "In", values: ["d"] }] },
    { labelSelector: [{ key: "metadata.name", operator: "NotIn", values: ["d"] }] },
  ])("are not those of another question, as %j", async (change) => {
    const { ask, sent } = bench(() => (sent.length === 1 ? allowed : { status: { denied: true } }));
    expect((await ask()).verdict).toBe("allow");
    expect((await ask(change)).verdict).toBe("deny");
    expect((await ask()).verdict).toBe("allow");
    expect(sent).toHaveLength(2);
    expect(sent[1]).not.toEqual(sent[0]);
  });

  it("do not count when the clock goes back before them", async () => {
    const { ask, sent, pass } = bench(() => allowed);
    await ask();
    pass(-1);
    await ask();
    expect(sent).toHaveLength(2);
  });

  const other = { username: "ann", uid: "7", groups: ["devs"] };
  it.each<[string, Partial<Attributes>]>([
    ["user", { user: { ...request.user, username: "bob" } }],
    ["uid", { user: { ...request.user, uid: "8" } }],
    ["groups", { user: { ...request.user, groups: ["devs", "ops"] } }],
    ["extra", { user: other }],
    ["verb", { verb: "list" }],
    ["group of the API", { group: "" }],
    ["version", { version: "v2" }],
    ["resource", { resource: "pods" }],
    ["subresource", { subresource: "scale" }],
    ["namespace", { namespace: "prod" }],
    ["name", { name: "" }],
    ["path", { path: "/default" }],
    ["field selector", { fieldSelector: [{ key: "a", operator: "In", values: ["b"] }] }],
    ["label selector", { labelSelector: [{ key: "a", operator: "In", values: ["b"] }] }],
  ])("are not those of a request of another %s", async (_what, change) => {
    const { ask, sent } = bench(() => allowed);
    await ask();
    await ask(change);
    expect(sent).toHaveLength(2);
  });

  it("are not those of errors, nor of large questions or reasons", async () => {
    const failing = bench(() => {
      throw new TypeError("down");
    });
    expect(await failing.ask()).toEqual({ verdict: "noOpinion", reason: "", error: "down" });
    await failing.ask();
    expect(failing.sent).toHaveLength(2);
    const large = bench(() => allowed);
    for (let turn = 0; turn < 2; turn += 1) await large.ask({ name: "x".repeat(10_000) });
    expect(large.sent).toHaveLength(2);
    const wordy = bench(() => ({ status: { allowed: true, reason: "x".repeat(10_000) } }));
    for (let turn = 0; turn < 2; turn += 1) await wordy.ask();
    expect(wordy.sent).toHaveLength(2);
  });

  it("are at most so many, and those used least recently go", async () => {
    const { ask, sent } = bench(() => allowed, { capacity: 2 });
    for (const name of ["a", "b", "a", "c", "a", "b"]) await ask({ name });
    expect(sent).toHaveLength(4);
  });
});

describe("a service that hangs", () => {
  it("is asked the same question once at a time", async () => {
    let answer: (value: unknown) => void = () => undefined;
    const { ask, sent } = bench(() => new Promise((resolve) => (answer = resolve)));
    const asked = [ask(), ask(), ask()];
    await Promise.resolve();
    answer(allowed);
    expect((await Promise.all(asked)).map(({ verdict }) => verdict)).toEqual(["allow", "allow", "allow"]);
    expect(sent).toHaveLength(1);
  });

  it("is asked so many questions at a time, and any number again once it answers", async () => {
    const waiting: (() => void)[] = [];
    const { ask, sent } = bench(() => new Promise((resolve) => waiting.push(() => resolve(allowed))));
    const asked = Array.from({ length: 600 }, async (_, index) => ask({ name: `d${index}` }));
    for (let turn = 0; turn < 5; turn += 1) await Promise.resolve();
    expect(sent).toHaveLength(512);
    for (const answer of waiting) answer();
    const decisions = await Promise.all(asked);
    expect(decisions.filter(({ verdict }) => verdict === "allow")).toHaveLength(512);
    expect(decisions.at(-1)).toEqual({
      verdict: "noOpinion",
      reason: "",
      error: "too many questions to the authorization webhook are under way",
    });
    const later = ask({ name: "later" });
    await Promise.resolve();
    waiting.at(-1)?.();
    expect(await later).toMatchObject({ verdict: "allow" });
  });
});

describe("conditions", () => {
  const match = (...expressions: readonly string[]): Partial<WebhookAuthorizerOptions> => ({
    match: matchConditions(expressions),
    onError: "deny",
  });
  const wrong = "request.extra['nobody'][0] == 'x'";

  it("keep a request from the service when one is false, even where another fails", async () => {
    const { ask, sent } = bench(() => allowed, match(wrong, "request.user == 'bob'"));
    expect(await ask()).toEqual({ verdict: "noOpinion", reason: "" });
    expect(sent).toEqual([]);
  });

  it("go by the policy on failure when one fails and none is false", async () => {
    const { ask, sent } = bench(() => allowed, match("true", wrong));
    const { verdict, error } = await ask();
    expect([verdict, error]).toEqual(["deny", expect.stringContaining(`expression '${wrong}' resulted in error`)]);
    expect(sent).toEqual([]);
  });

  it.each([
    "request.user == 'ann' && request.uid == '7' && 'devs' in request.groups && request.extra.k == ['v']",
    "has(request.resourceAttributes) && !has(request.nonResourceAttributes)",
    "request.resourceAttributes.subresource == ''",
    "request.resourceAttributes.fieldSelector.requirements[0].values == ['b']",
  ])("see the request: %s", async (expression) => {
    const { ask } = bench(() => allowed, match(expression));
    const fieldSelector = [{ key: "a", operator: "In", values: ["b"] }] as const;
    expect(await ask({ fieldSelector })).toEqual({ verdict: "allow", reason: "" });
  });

  it.each([
    ["request.nobody", "undefined field"],
    ["1", "must evaluate to bool"],
    ["request.user ==", "Syntax error"],
    ["user == 'a'", "undeclared reference"],
  ])("cannot be %s", (expression, message) => {
    expect(() => matchConditions([expression])).toThrow(message);
  });
});
