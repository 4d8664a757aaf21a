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

interface Defined extends ApiReply {
  readonly plural: string;
}

/** Posts the definition of a new kind, whose spec has this schema. */
async function define(spec: object): Promise<Defined> {
  serial += 1;
  const plural = `traps${serial}`;
  const openAPIV3Schema = { type: "object", properties: { spec } };
  const body = {
    metadata: { name: `${plural}.example.com` },
    spec: {
      group: "example.com",
      scope: "Cluster",
      names: { plural, kind: `Trap${serial}`, singular: `trap${serial}`, listKind: `Trap${serial}List` },
      versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema } }],
    },
  };
  const reply = await call(hub, hub.admin, {
    path: "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    body,
  });
  return { ...reply, plural };
}

/** Defines a kind and posts an object of it. */
async function put(schema: object, spec: unknown): Promise<ApiReply> {
  const { plural, status, text } = await define(schema);
  expect([status, status === 201 ? "" : text]).toEqual([201, ""]);
  const path = `/apis/example.com/v1/${plural}`;
  await expect.poll(async () => (await call(hub, hub.admin, { path })).status).toBe(200);
  const apiVersion = "example.com/v1";
  return call(hub, hub.admin, { path, body: { apiVersion, kind: `Trap${serial}`, metadata: { name: "a" }, spec } });
}

function deep(levels: number, inner: object): object {
  let schema = inner;
  for (let level = 0; level < levels; level += 1) schema = { type: "object", properties: { n: schema } };
  return schema;
}

describe("a definition is refused, and told why in few words", () => {
  const fields = (count: number, field: (index: number) => object): object => ({
    type: "object",
    properties: Object.fromEntries(Array.from({ length: count }, (_, index) => [`p${index}`, field(index)])),
  });
  test.each<readonly [string, object]>([
    ["sixty thousand fields without a type", fields(60_000, () => ({}))],
    [
      "more rules than a schema may have",
      { type: "string", "x-kubernetes-validations": Array.from({ length: 2_001 }, () => ({ rule: "true" })) },
    ],
    [
      "rules longer than they may be together",
      {
        type: "string",
        "x-kubernetes-validations": Array.from({ length: 30 }, () => ({ rule: `self != '${"a".repeat(9_000)}'` })),
      },
    ],
    ["a pattern that looks ahead", { type: "string", pattern: "(?=(a+)+)b" }],
    [
      "thousands of long patterns",
      fields(1000, (index) => ({ type: "string", pattern: `${"a?".repeat(500)}${index}` })),
    ],
    ["a pattern of repeats in repeats", { type: "string", pattern: "((a{100}){100}){100}" }],
    ["a pattern of thousands of brackets", { type: "string", pattern: "(".repeat(20_000) }],
    ["keywords of any type", { type: ["string"], properties: 5, items: "x", enum: {}, allOf: { type: "object" } }],
  ])("for %s", async (_name, schema) => {
    const { status, json, text } = await define(schema);
    expect(status).toBeGreaterThanOrEqual(400);
    expect(status).toBeLessThan(500);
    expect(["Invalid", "BadRequest"]).toContain(json["reason"]);
    expect(text.length).toBeLessThan(200_000);
  });

  test("for schemas in schemas beyond what is read", async () => {
    expect((await define(deep(2_000, { type: "string" }))).status).toBe(400);
  });
});

// As large as they may be: a body holds at most 20,000 values.
describe("an object is judged in linear time", () => {
  test("by a pattern that backtracks elsewhere", async () => {
    const reply = await put(
      { type: "object", properties: { text: { type: "string", pattern: "^(a+)+$" } } },
      {
        text: `${"a".repeat(100_000)}!`,
      },
    );
    expect(reply.json["reason"]).toBe("Invalid");
  });

  test.each<readonly [string, object, number, (index: number) => unknown]>([
    [
      "a set",
      { type: "array", items: { type: "integer" }, "x-kubernetes-list-type": "set" },
      19_900,
      (index) => index % 9_950,
    ],
    [
      "a map",
      {
        type: "array",
        items: { type: "object", required: ["k"], properties: { k: { type: "integer" } } },
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["k"],
      },
      9_950,
      (index) => ({ k: index % 4_975 }),
    ],
  ])("for what repeats in %s, and told of few of them", async (_name, list, count, element) => {
    const reply = await put(
      { type: "object", properties: { list } },
      { list: Array.from({ length: count }, (_, at) => element(at)) },
    );
    expect(reply.json["reason"]).toBe("Invalid");
    expect(reply.text).toContain("Duplicate value");
    expect(reply.text.length).toBeLessThan(100_000);
  });

  test("for thousands of faults, and told of few of them", async () => {
    const list = {
      type: "array",
      items: { type: "object", required: ["a", "b", "c"], properties: { d: { type: "integer" } } },
    };
    const reply = await put(
      { type: "object", properties: { list } },
      { list: Array.from({ length: 9_950 }, () => ({ d: "x" })) },
    );
    expect(reply.json["reason"]).toBe("Invalid");
    expect(reply.text.length).toBeLessThan(100_000);
  });

  test("for thousands of unknown fields, which go without a trace", async () => {
    const spec = Object.fromEntries(Array.from({ length: 6_600 }, (_, index) => [`u${index}`, { deep: [index] }]));
    const reply = await put({ type: "object", properties: { known: { type: "string", default: "x" } } }, spec);
    expect([reply.status, reply.json["spec"]]).toEqual([201, { known: "x" }]);
  });

  test("and not at all where it has more values than an object may have", async () => {
    const list = { type: "array", items: { type: "integer" }, "x-kubernetes-list-type": "set" };
    const reply = await put(
      { type: "object", properties: { list } },
      { list: Array.from({ length: 20_000 }, (_, index) => index) },
    );
    expect([reply.status, reply.json["reason"]]).toEqual([413, "RequestEntityTooLarge"]);
  });
});

describe("keys of prototypes", () => {
  test("name fields of a definition like any other, but for __proto__", async () => {
    const schema = {
      type: "object",
      properties: { constructor: { type: "string", default: "x" }, toString: { type: "integer" } },
    };
    const reply = await put(schema, { toString: 1 });
    expect([reply.status, reply.json["spec"]]).toEqual([201, { toString: 1, constructor: "x" }]);
    const proto = JSON.parse('{"type":"object","properties":{"__proto__":{"type":"string"}}}');
    expect((await define(proto)).status).toBe(400);
  });

  test("do not stand in for required fields", async () => {
    const reply = await put(
      { type: "object", required: ["constructor"], properties: { constructor: { type: "string" } } },
      {},
    );
    expect(reply.text).toContain("spec.constructor: Required value");
  });

  test("are refused in what keeps unknown fields", async () => {
    const spec: unknown = JSON.parse('{"a":{"__proto__":{"isAdmin":true}}}');
    const reply = await put({ type: "object", "x-kubernetes-preserve-unknown-fields": true }, spec);
    expect(reply.status).toBe(400);
    expect(({} as Record<string, unknown>)["isAdmin"]).toBeUndefined();
  });
});
