import { thorough, type Kind } from "./kinds.ts";
import { send, type Row, type RowsOf } from "./row.ts";

const types = {
  json: "application/json-patch+json",
  merge: "application/merge-patch+json",
  strategic: "application/strategic-merge-patch+json",
  apply: "application/apply-patch+yaml",
} as const;

const label = { op: "add", path: "/metadata/labels", value: { a: "b" } };

/** Bodies of JSON patches, by what they are. */
const operations: Readonly<Record<string, unknown>> = {
  "a label": [label],
  "no operation": [],
  "an unknown operation": [{ op: "look", path: "/metadata" }],
  "an operation without path": [{ op: "add", value: 1 }],
  "an operation without op": [{ path: "/metadata/labels", value: {} }],
  "a test that holds": [{ op: "test", path: "/metadata/name", value: "p-{row}" }, label],
  "a test that fails": [{ op: "test", path: "/metadata/name", value: "other" }, label],
  "a removal of what is not there": [{ op: "remove", path: "/metadata/labels/none" }],
  "a replacement of what is not there": [{ op: "replace", path: "/metadata/labels/none", value: "1" }],
  "an addition below what is not there": [{ op: "add", path: "/metadata/none/a", value: "1" }],
  "a path without slash": [{ op: "add", path: "metadata", value: {} }],
  "a copy from a missing path": [{ op: "copy", from: "/none", path: "/metadata/labels" }],
  "a move without from": [{ op: "move", path: "/metadata/labels" }],
  "an object in place of a list": { metadata: { labels: { a: "b" } } },
  "text in place of a list": "text",
  "a new name": [{ op: "replace", path: "/metadata/name", value: "other" }],
  "a number as name": [{ op: "replace", path: "/metadata/name", value: 7 }],
  "the whole object removed": [{ op: "remove", path: "" }],
  "metadata removed": [{ op: "remove", path: "/metadata" }],
};

/** Bodies of merge patches and of strategic ones. */
const merges: Readonly<Record<string, unknown>> = {
  "a label": { metadata: { labels: { a: "b" } } },
  nothing: {},
  "a list": [],
  null: null,
  text: "text",
  "a new name": { metadata: { name: "other" } },
  "a name removed": { metadata: { name: null } },
  "a stale version": { metadata: { resourceVersion: "1", labels: { a: "b" } } },
  "an invalid version": { metadata: { resourceVersion: "x", labels: { a: "b" } } },
  "another uid": { metadata: { uid: "00000000-0000-4000-8000-000000000000" } },
  "a new kind": { kind: "Robot" },
  "a new apiVersion": { apiVersion: "apps/v1" },
  "a bad label": { metadata: { labels: { "a b": "c" } } },
  "a number as label": { metadata: { labels: { a: 1 } } },
  "a list as metadata": { metadata: [] },
  "metadata removed": { metadata: null },
  "an unknown field": { unknownField: 1 },
  "a bad finalizer": { metadata: { finalizers: ["a b"] } },
};

const directives: Readonly<Record<string, unknown>> = {
  "an unknown directive": { metadata: { $patch: "look" } },
  "a directive to delete metadata": { metadata: { $patch: "delete" } },
  "a directive to replace labels": { metadata: { labels: { $patch: "replace", z: "1" } } },
  "a removal from a list": { metadata: { "$deleteFromPrimitiveList/finalizers": ["a.example.com/b"] } },
  "an order of a list": { metadata: { "$setElementOrder/finalizers": ["a.example.com/b"] } },
  "retained keys": { metadata: { $retainKeys: ["name"], labels: { a: "b" } } },
};

/** Patching one of a kind. */
export const patches: RowsOf<Kind> = (kind) => {
  const { plural, at, make } = kind;
  const all = thorough.has(plural);
  const patch = (type: keyof typeof types, id: string, body: unknown, query = ""): Row => ({
    id: `${plural}: ${type} patch with ${id}`,
    given: [send("POST", at(), make("p-{row}"))],
    ask: send("PATCH", `${at()}/p-{row}${query}`, JSON.stringify(body), { type: types[type] }),
  });
  const raw = (id: string, type: string, body: string): Row => ({
    id: `${plural}: patch with ${id}`,
    given: [send("POST", at(), make("p-{row}"))],
    ask: send("PATCH", `${at()}/p-{row}`, body, type === "" ? {} : { type }),
  });
  return [
    ...(all ? Object.entries(operations) : []).map(([id, body]) => patch("json", id, body)),
    ...(all ? Object.entries(merges) : []).flatMap(([id, body]) => [
      patch("merge", id, body),
      patch("strategic", id, body),
    ]),
    ...(all ? Object.entries(directives) : []).map(([id, body]) => patch("strategic", id, body)),
    patch("merge", "a change", kind.change),
    patch("strategic", "a change", kind.change),
    patch("merge", "dryRun", kind.change, "?dryRun=All"),
    patch("merge", "another dryRun", kind.change, "?dryRun=Some"),
    patch("merge", "force", kind.change, "?force=true"),
    patch("merge", "a force that is none", kind.change, "?force=perhaps"),
    patch("apply", "no manager", make("p-{row}")),
    patch("apply", "another name", make("other"), "?fieldManager=m"),
    patch("apply", "another kind", make("p-{row}", { kind: "Robot" }), "?fieldManager=m"),
    patch("apply", "no kind", make("p-{row}", { kind: undefined }), "?fieldManager=m"),
    patch("apply", "managed fields", make("p-{row}", { metadata: { managedFields: [{}] } }), "?fieldManager=m"),
    raw("a type of no patch", "application/json", "{}"),
    raw("no type", "", "{}"),
    raw("broken JSON as operations", types.json, "["),
    raw("broken JSON to merge", types.merge, "{"),
    raw("broken JSON to merge strategically", types.strategic, "{"),
    raw("nothing to merge", types.merge, ""),
    raw("nothing as operations", types.json, ""),
    ...Object.entries(types)
      .filter(([name]) => name !== "apply")
      .map(([name, type]) => ({
        id: `${plural}: ${name} patch of one that is missing`,
        ask: send("PATCH", `${at()}/p-{row}`, name === "json" ? "[]" : "{}", { type }),
      })),
    { id: `${plural}: patch the collection`, ask: send("PATCH", at(), "{}", { type: types.merge }) },
  ];
};
