import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { call, startAttackedHub, type ApiReply, type AttackedHub } from "./attacked-hub.ts";
import { checkHubAfterEach } from "./check-hub-after-each.ts";

let hub: AttackedHub;
let serial = 0;

beforeAll(async () => {
  hub = await startAttackedHub();
});
afterAll(() => hub.close());
checkHubAfterEach(() => hub);

const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const unbounded = { type: "array", items: { type: "string" } };
const numbers = { type: "array", maxItems: 20, items: { type: "integer" } };

/** Posts the definition of a new kind, whose spec has these properties and rules. */
async function define(properties: object, rules: readonly string[]): Promise<ApiReply & { readonly plural: string }> {
  serial += 1;
  const plural = `bombs${serial}`;
  const validations = rules.map((rule) => ({ rule, message: "boom" }));
  const spec = { type: "object", properties, "x-kubernetes-validations": validations };
  const openAPIV3Schema = { type: "object", properties: { spec } };
  const body = {
    metadata: { name: `${plural}.example.com` },
    spec: {
      group: "example.com",
      scope: "Cluster",
      names: { plural, kind: `Bomb${serial}`, singular: `bomb${serial}`, listKind: `Bomb${serial}List` },
      versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema } }],
    },
  };
  return { ...(await call(hub, hub.admin, { path: definitions, body })), plural };
}

/** Defines a kind and posts an object of it. */
async function set(properties: object, rules: readonly string[], spec: object): Promise<ApiReply> {
  const { plural, status, text } = await define(properties, rules);
  expect([status, status === 201 ? "" : text]).toEqual([201, ""]);
  const path = `/apis/example.com/v1/${plural}`;
  await expect.poll(async () => (await call(hub, hub.admin, { path })).status).toBe(200);
  return call(hub, hub.admin, {
    path,
    body: { apiVersion: "example.com/v1", kind: `Bomb${serial}`, metadata: { name: "a" }, spec },
  });
}

function nested(depth: number, inner: string, step: (inside: string, level: number) => string): string {
  let rule = inner;
  for (let level = 0; level < depth; level += 1) rule = step(rule, level);
  return rule;
}

describe("a definition is refused", () => {
  test.each([
    [
      "walks in walks over unbounded lists",
      nested(3, "true", (inside, level) => `self.list.all(x${level}, ${inside})`),
    ],
    ["a pattern of a megabyte", `self.text.matches('${"a?".repeat(20_000)}')`],
    ["thousands of brackets", `${"(".repeat(20_000)}true${")".repeat(20_000)}`],
    ["a million characters that are no expression", "+".repeat(1_000_000)],
    [
      "texts doubled thirty times",
      nested(
        30,
        "v29.size() > 0",
        (inside, level) =>
          `cel.bind(v${29 - level}, ${level === 29 ? "self.text" : `v${28 - level}`} + ${level === 29 ? "self.text" : `v${28 - level}`}, ${inside})`,
      ),
    ],
    [
      "twenty-five walks in walks over two elements",
      nested(25, "true", (inside, level) => `[1, 2].all(x${level}, ${inside})`),
    ],
  ])("for %s", async (_name, rule) => {
    const { status, json, text } = await define({ list: unbounded, text: { type: "string" } }, [rule]);
    expect([status, json["reason"]]).toEqual([422, "Invalid"]);
    expect(text.length).toBeLessThan(3_000_000);
  });

  test("for thousands of rules that cost too much together", async () => {
    const rules = Array.from({ length: 2_000 }, (_, index) => `self.list.all(x, x != '${index}')`);
    const { status, text } = await define({ list: unbounded }, rules);
    expect(status).toBe(422);
    expect(text).toContain("exceeds budget by factor of more than 100x");
  });
});

describe("an object is refused by its budget", () => {
  test("where a long text hides behind int-or-string", async () => {
    // What the schema says of the value bounds nothing here, so that only the evaluation can end it.
    const port = { "x-kubernetes-int-or-string": true };
    const reply = await set({ port, numbers }, ["self.numbers.all(x, !string(self.port).contains('aab'))"], {
      port: "a".repeat(1_000_000),
      numbers: Array.from({ length: 20 }, (_, index) => index),
    });
    expect(reply.status).toBe(422);
    expect(reply.text).toContain("no further validation rules will be run due to call cost exceeds limit for rule");
  });

  test("where walks in walks are just cheap enough beforehand", async () => {
    const rule = nested(4, "x0 >= 0", (inside, level) => `self.numbers.all(x${level}, ${inside})`);
    const reply = await set({ numbers }, [rule], { numbers: Array.from({ length: 20 }, () => 1) });
    expect(reply.status).toBe(422);
    expect(reply.text).toContain("no further validation rules will be run due to call cost exceeds limit for rule");
  });

  test("where thousands of elements cost a little each", async () => {
    const element = {
      type: "array",
      maxItems: 10,
      items: { type: "integer" },
      "x-kubernetes-validations": [{ rule: "self.all(x, self.all(y, x + y >= 0))" }],
    };
    const list = { type: "array", maxItems: 8_000, items: element };
    const value = Array.from({ length: 1_800 }, () => [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    const reply = await set({ list }, [], { list: value });
    expect([201, 422]).toContain(reply.status);
  });
});

describe("an object is judged in linear time", () => {
  test("by a pattern that backtracks elsewhere", async () => {
    const text = { type: "string", maxLength: 20_000 };
    const reply = await set({ text }, ["!self.text.matches('^(a+)+$')"], { text: `${"a".repeat(19_999)}!` });
    expect(reply.status).toBe(201);
  });
});

describe("keys of objects", () => {
  const labels = { type: "object", maxProperties: 10, additionalProperties: { type: "string", maxLength: 10 } };

  test("that JavaScript knows are keys as any others", async () => {
    const rule =
      "self.labels.all(k, self.labels[k] == 'x') && !('hasOwnProperty' in self.labels) && !has(self.labels.valueOf)";
    expect((await set({ labels }, [rule], { labels: { constructor: "x", toString: "x" } })).status).toBe(201);
    expect((await set({ labels }, ["!('toString' in self.labels)"], { labels: { a: "x" } })).status).toBe(201);
  });
});
