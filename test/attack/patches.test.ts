import * as fc from "fast-check";
import type { ClientHttp2Session } from "node:http2";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openHttp2, sendHttp2, type WireReply } from "../kits/wire.ts";
import { call, startAttackedHub, type AttackedHub } from "./attacked-hub.ts";
import { checkHubAfterEach } from "./check-hub-after-each.ts";
import { answer, refusal } from "./verdict.ts";

let hub: AttackedHub;
let session: ClientHttp2Session;
const configMaps = "/api/v1/namespaces/default/configmaps";
const target = `${configMaps}/target`;
const runs = { numRuns: 200, seed: 20261121 } as const;

beforeAll(async () => {
  hub = await startAttackedHub();
  session = await openHttp2(hub.target, hub.admin);
  const body = { metadata: { name: "target", labels: { a: "b" } }, data: { a: "1", b: "2" } };
  await call(hub, hub.admin, { path: configMaps, body });
});
afterAll(async () => {
  session.destroy();
  await hub.close();
});
checkHubAfterEach(() => hub);

const jsonPatch = "application/json-patch+json";
const mergePatch = "application/merge-patch+json";
const strategicPatch = "application/strategic-merge-patch+json";

function patch(type: string, body: unknown, query = ""): Promise<WireReply> {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return sendHttp2(session, {
    method: "PATCH",
    path: `${target}${query}`,
    headers: [["content-type", type]],
    body: text,
  });
}

const nested = (times: number, inner: unknown): string =>
  `${'{"data":'.repeat(times)}${JSON.stringify(inner)}${"}".repeat(times)}`;

describe("a patch", () => {
  const doubling = Array.from({ length: 60 }, (_, index) => ({
    op: "copy",
    from: "/metadata/annotations",
    path: `/metadata/annotations/a${index}`,
  }));
  const jsonPatches: Readonly<Record<string, unknown>> = {
    "that is no array": {},
    "that is a text": '"x"',
    "that is nothing": "",
    "of numbers": [1, 2],
    "of null": [null],
    "without an operation": [{}],
    "of an unknown operation": [{ op: "increment", path: "/data/a", value: 1 }],
    "of the operation constructor": [{ op: "constructor", path: "/data/a", value: 1 }],
    "without a path": [{ op: "add", value: 1 }],
    "of a path that is a number": [{ op: "add", path: 5, value: 1 }],
    "of a path without a slash": [{ op: "add", path: "data", value: 1 }],
    "of a path with a bad escape": [{ op: "add", path: "/data/~2", value: "1" }],
    "of a path of a megabyte": [{ op: "add", path: `/data/${"x".repeat(1 << 20)}`, value: 1 }],
    "of a path with a hundred thousand segments": [{ op: "add", path: "/a".repeat(100_000), value: 1 }],
    "of the prototype": [{ op: "add", path: "/__proto__/polluted", value: 1 }],
    "of the prototype of metadata": [{ op: "add", path: "/metadata/__proto__/polluted", value: 1 }],
    "of the constructor": [{ op: "add", path: "/constructor/prototype/polluted", value: 1 }],
    "of an index beyond the end": [
      { op: "add", path: "/metadata/finalizers", value: [] },
      { op: "add", path: "/metadata/finalizers/99999999", value: "x/y" },
    ],
    "of a negative index": [
      { op: "add", path: "/metadata/finalizers", value: [] },
      { op: "add", path: "/metadata/finalizers/-1", value: "x/y" },
    ],
    "that removes what is not there": [{ op: "remove", path: "/data/none" }],
    "that replaces what is not there": [{ op: "replace", path: "/data/none", value: "x" }],
    "that removes everything": [{ op: "remove", path: "" }],
    "that replaces everything by a list": [{ op: "replace", path: "", value: [] }],
    "that replaces everything by null": [{ op: "replace", path: "", value: null }],
    "that removes metadata": [{ op: "replace", path: "/metadata", value: 5 }],
    "that moves a parent into its child": [{ op: "move", from: "/data", path: "/data/a" }],
    "whose test fails": [
      { op: "test", path: "/data/a", value: "2" },
      { op: "replace", path: "/data/a", value: "3" },
    ],
    "that makes the name another": [{ op: "replace", path: "/metadata/name", value: "other" }],
    "that makes the namespace another": [{ op: "replace", path: "/metadata/namespace", value: "kube-system" }],
    "that makes the kind another": [{ op: "replace", path: "/kind", value: "Secret" }],
    "that makes the uid another": [{ op: "replace", path: "/metadata/uid", value: "0" }],
    "of an old version": [
      { op: "replace", path: "/metadata/resourceVersion", value: "1" },
      { op: "add", path: "/data/x", value: "1" },
    ],
    "that adds a number": [{ op: "add", path: "/data/x", value: 1 }],
    "that adds an object": [{ op: "add", path: "/data/x", value: {} }],
    "that doubles itself": [{ op: "add", path: "/metadata/annotations", value: { a: "x".repeat(1000) } }, ...doubling],
    "of ten thousand and one operations": Array.from({ length: 10_001 }, () => ({
      op: "test",
      path: "/data/a",
      value: "1",
    })),
    "nested too deeply": `[{"op":"add","path":"/data","value":${nested(5000, "x")}}]`,
  };
  const mergePatches: Readonly<Record<string, unknown>> = {
    "that is an array": [],
    "that is null": "null",
    "that is a number": "5",
    "that is half an object": '{"data":',
    "nested too deeply": nested(5000, "x"),
    "of the prototype": '{"__proto__":{"polluted":1}}',
    "of the prototype of data": '{"data":{"__proto__":{"polluted":"1"}}}',
    "that removes the name": { metadata: { name: "other" } },
    "that makes metadata a text": { metadata: "x" },
    "that makes data a list": { data: ["x"] },
    "that makes data numbers": { data: { a: 1 } },
    "that makes the kind another": { kind: "Secret" },
    "that makes the version another": { apiVersion: "v2" },
    "that makes the uid another": { metadata: { uid: "0" } },
    "of an old version": { metadata: { resourceVersion: "1" }, data: { a: "9" } },
    "with a bad label": { metadata: { labels: { "-": "-" } } },
    "with data of two megabytes": { data: { a: "x".repeat(2 << 20) } },
  };
  // A strategic merge of null changes nothing, and what it says of the kind counts for nothing.
  const harmless = ["that is null", "that makes the kind another", "that makes the version another"];
  const refusedByAll = Object.fromEntries(Object.entries(mergePatches).filter(([title]) => !harmless.includes(title)));
  const strategicPatches: Readonly<Record<string, unknown>> = {
    ...refusedByAll,
    "of an unknown directive": { data: { $patch: "explode" } },
    "of a directive that is a number": { $patch: 5 },
    "of a directive that is an object": { metadata: { $patch: {} } },
    "that deletes a list it does not name": { metadata: { "$deleteFromPrimitiveList/finalizers": "x" } },
    "that orders by no list": { metadata: { "$setElementOrder/finalizers": "x" } },
    "that retains no keys": { $retainKeys: "x" },
  };

  test.each(Object.keys(jsonPatches))("of operations %s is refused", async (name) => {
    expect(refusal(await patch(jsonPatch, jsonPatches[name]))).toBe("refused");
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
  });
  test.each(Object.keys(mergePatches))("to be merged %s is refused", async (name) => {
    expect(refusal(await patch(mergePatch, mergePatches[name]))).toBe("refused");
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
  });
  test.each(Object.keys(strategicPatches))("to be merged strategically %s is refused", async (name) => {
    expect(refusal(await patch(strategicPatch, strategicPatches[name]))).toBe("refused");
  });
  const applies: Readonly<Record<string, unknown>> = {
    "that is nothing": "",
    "that is two documents": "a: 1\n---\nb: 1\n",
    "of aliases": "a: &a [x]\nb: [*a, *a]\n",
    "nested too deeply": nested(5000, "x"),
    "of the prototype":
      '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"__proto__":{"polluted":"1"}}}',
    "of another kind": { apiVersion: "v1", kind: "Secret" },
    "that sets its owners": { metadata: { managedFields: [{ manager: "admin", operation: "Apply" }] } },
    "of another uid": { metadata: { uid: "0" } },
    "of another namespace": { metadata: { namespace: "kube-system" } },
    "of an old version": { metadata: { resourceVersion: "1" } },
    "of metadata that is text": { metadata: "x" },
    "of an unknown field": { constructor: { prototype: { polluted: "1" } } },
    "of data that are numbers": { data: { a: 1 } },
    "with a bad label": { metadata: { labels: { "-": "-" } } },
  };
  test.each(Object.keys(applies))("to be applied %s is refused", async (name) => {
    const config = applies[name];
    const kind = { apiVersion: "v1", kind: "ConfigMap" };
    const body = typeof config === "object" ? { ...kind, ...config } : config;
    const reply = await patch("application/apply-patch+yaml", body, "?fieldManager=x&force=true");
    // What the schema does not know is answered with 500, as Kubernetes does.
    const known = reply.status === 500 && reply.text.includes("failed to create typed patch object");
    expect(known ? "refused" : refusal(reply)).toBe("refused");
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
  });

  test.each(["application/json", "application/yaml", "text/plain", "", "constructor", "__proto__"])(
    "of type %j is refused with 415",
    async (type) => {
      expect((await patch(type, { data: { a: "9" } })).status).toBe(415);
    },
  );

  test.each(["dryRun=x", "fieldValidation=x", "fieldManager=%00", "force=true"])(
    "with %s is refused",
    async (query) => {
      expect(refusal(await patch(mergePatch, { data: { z: "1" } }, `?${query}`))).toBe("refused");
    },
  );

  test("of operations at random is answered, all or nothing", async () => {
    const path = fc
      .array(
        fc.constantFrom(
          "metadata",
          "data",
          "labels",
          "a",
          "b",
          "name",
          "finalizers",
          "0",
          "-",
          "",
          "~0",
          "__proto__",
          "kind",
          "annotations",
        ),
        { maxLength: 4 },
      )
      .map((keys) => keys.map((key) => `/${key}`).join(""));
    const operation = fc.record(
      {
        op: fc.constantFrom("add", "remove", "replace", "move", "copy", "test"),
        path,
        from: path,
        value: fc.jsonValue({ maxDepth: 2 }),
      },
      { requiredKeys: ["op", "path"] },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(operation, { maxLength: 6 }), async (operations) => {
        expect(answer(await patch(jsonPatch, operations, "?dryRun=All"))).toBe("answered");
      }),
      runs,
    );
  });

  test("of any JSON is answered", async () => {
    const key = fc.constantFrom(
      "metadata",
      "data",
      "labels",
      "a",
      "name",
      "finalizers",
      "ownerReferences",
      "$patch",
      "$retainKeys",
      "$setElementOrder/finalizers",
      "$deleteFromPrimitiveList/finalizers",
      "kind",
    );
    const value = fc.oneof(
      fc.jsonValue({ maxDepth: 2 }),
      fc.constantFrom<unknown>("replace", "delete", "merge", ["x"], null),
    );
    const body = fc.dictionary(key, fc.oneof(value, fc.dictionary(key, fc.oneof(value, fc.dictionary(key, value)))));
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(mergePatch, strategicPatch), body, async (type, object) => {
        expect(answer(await patch(type, object, "?dryRun=All"))).toBe("answered");
      }),
      runs,
    );
  });
});

test("the object at the end is what it was before", async () => {
  const { json } = await call(hub, hub.admin, { path: target });
  expect(json).toMatchObject({ metadata: { name: "target", labels: { a: "b" } }, data: { a: "1", b: "2" } });
});
