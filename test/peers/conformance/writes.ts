import { thorough, type Kind } from "./kinds.ts";
import { over, send, type Row, type RowsOf, type Sent } from "./row.ts";

const long = "a".repeat(254);

/** What may be wrong with the metadata of any object. */
const wrongMetadata: Readonly<Record<string, object>> = {
  "a name with capitals": { name: "Bad" },
  "a name with a slash": { name: "a/b" },
  "a name of two dots": { name: ".." },
  "a name with a percent sign": { name: "a%b" },
  "a long name": { name: long },
  "a number as name": { name: 7 },
  "no name": { name: undefined },
  "a resourceVersion": { resourceVersion: "1" },
  "a resourceVersion that is none": { resourceVersion: "x" },
  "a bad label key": { labels: { "a b": "c" } },
  "a bad label value": { labels: { a: "b c" } },
  "a long label value": { labels: { a: long } },
  "a number as label": { labels: { a: 1 } },
  "a list as labels": { labels: [] },
  "a bad annotation key": { annotations: { "a b": "c" } },
  "a null annotation": { annotations: { a: null } },
  "a large annotation": { annotations: { a: "x".repeat(300_000) } },
  "a bad finalizer": { finalizers: ["a b"] },
  "a finalizer without a domain": { finalizers: ["mine"] },
  "an empty owner": { ownerReferences: [{}] },
  "an owner without uid": { ownerReferences: [{ apiVersion: "v1", kind: "Pod", name: "a" }] },
  "two controllers": {
    ownerReferences: ["a", "b"].map((name) => ({ apiVersion: "v1", kind: "Pod", name, uid: name, controller: true })),
  },
  "an owner that may not be one": { ownerReferences: [{ apiVersion: "v1", kind: "Event", name: "a", uid: "a" }] },
  "a time that is none": { creationTimestamp: "yesterday" },
  "a generation as text": { generation: "1" },
  "a negative generation": { generation: -1 },
  "a long generateName": { name: undefined, generateName: `${"a".repeat(300)}-` },
  "a bad generateName": { name: undefined, generateName: "Bad_" },
};

/** Bodies that are no object of the kind. */
const wrongBodies: Readonly<Record<string, Omit<Sent, "path">>> = {
  "nothing at all": { body: "", type: "application/json" },
  "broken JSON": { body: '{"metadata":', type: "application/json" },
  "JSON with a remainder": { body: "{} {}", type: "application/json" },
  "a list": { body: "[]", type: "application/json" },
  text: { body: '"text"', type: "application/json" },
  null: { body: "null", type: "application/json" },
  "an empty object": { body: "{}", type: "application/json" },
  "broken YAML": { body: "a: [", type: "application/yaml" },
  "a list in YAML": { body: "- a", type: "application/yaml" },
  "an unknown media type": { body: "{}", type: "text/csv" },
  "a media type that is none": { body: "{}", type: "///" },
  "invalid protobuf": { body: "k8s\u0000xyz", type: "application/vnd.kubernetes.protobuf" },
  "metadata as text": { body: '{"metadata":"x"}', type: "application/json" },
};

/** Creating one of a kind. */
export const creates: RowsOf<Kind> = (kind) => {
  const { plural, at, make, namespaced } = kind;
  const post = (id: string, body: object, path = at()): Row => ({
    id: `${plural}: create with ${id}`,
    ask: send("POST", path, body),
  });
  const other = kind.kind === "ConfigMap" ? "Secret" : "ConfigMap";
  return [
    post("all that it needs", make("c-{row}")),
    post("no kind and no apiVersion", make("c-{row}", { kind: undefined, apiVersion: undefined })),
    post("no metadata", make("c-{row}", { metadata: undefined })),
    post("another kind", make("c-{row}", { kind: other })),
    post("an unknown kind", make("c-{row}", { kind: "Robot" })),
    post("another apiVersion", make("c-{row}", { apiVersion: "apps/v1" })),
    post("an invalid apiVersion", make("c-{row}", { apiVersion: "a/b/c" })),
    post("a number as kind", make("c-{row}", { kind: 7 })),
    post("an unknown field", make("c-{row}", { unknownField: 1 })),
    post("dryRun", make("c-{row}"), `${at()}?dryRun=All`),
    post("another dryRun", make("c-dry-some"), `${at()}?dryRun=Some`),
    post("a long field manager", make("c-{row}"), `${at()}?fieldManager=${"m".repeat(129)}`),
    post("a field manager that does not print", make("c-{row}"), `${at()}?fieldManager=%00`),
    post("a timeout that is none", make("c-{row}"), `${at()}?timeout=x`),
    {
      id: `${plural}: create with a name that is taken`,
      given: [send("POST", at(), make("c-{row}"))],
      ask: send("POST", at(), make("c-{row}")),
    },
    {
      id: `${plural}: create with a reply in YAML`,
      ask: send("POST", at(), make("c-{row}"), { accept: "application/yaml" }),
    },
    {
      id: `${plural}: create with a reply that nobody makes`,
      ask: send("POST", at(), make("c-{row}"), { accept: "text/csv" }),
    },
    { id: `${plural}: create with a reply as a table`, ask: send("POST", at(), make("c-{row}"), { accept: table }) },
    ...Object.entries(wrongMetadata).map(([id, metadata]) => post(id, make("c-{row}", { metadata }))),
    ...Object.entries(thorough.has(plural) ? wrongBodies : {}).map(([id, rest]) => ({
      id: `${plural}: create with ${id}`,
      ask: { method: "POST", path: at(), ...rest },
    })),
    ...Object.entries(kind.wrong).map(([id, change]) => post(id, make("c-{row}", change))),
    ...(namespaced
      ? [
          post("another namespace", make("c-{row}", { metadata: { namespace: "default" } })),
          post("a namespace that is missing", make("c-{row}"), at("missing")),
          post("a namespace that ends", make("c-{row}"), at("ending")),
          post("no namespace", make("c-{row}"), at().replace("/namespaces/conformance", "")),
          post("a namespace that is no name", make("c-{row}"), at("Bad_Name")),
        ]
      : [post("a namespace", make("c-{row}", { metadata: { namespace: "default" } }))]),
  ];
};

const table = "application/json;as=Table;v=v1;g=meta.k8s.io";

/** Replacing one of a kind. */
export const updates: RowsOf<Kind> = (kind) => {
  const { plural, at, make } = kind;
  const put = (id: string, change: object = {}, query = ""): Row => ({
    id: `${plural}: replace with ${id}`,
    given: [send("POST", at(), make("u-{row}"))],
    ask: send("PUT", `${at()}/u-{row}${query}`, make("u-{row}", change)),
  });
  return [
    put("itself"),
    put("a change", kind.change),
    // Controllers of the real control plane change nodes at any moment, and accounts soon after they were made: 1.20 gives them a Secret.
    ...(plural === "nodes" || plural === "serviceaccounts"
      ? []
      : [put("its own version", over(kind.change, versioned(`${at()}/u-{row}`)))]),
    put("a stale version", over(kind.change, { metadata: { resourceVersion: "1" } })),
    put("an invalid version", over(kind.change, { metadata: { resourceVersion: "x" } })),
    put("version 0", over(kind.change, { metadata: { resourceVersion: "0" } })),
    put("another uid", { metadata: { uid: "00000000-0000-4000-8000-000000000000" } }),
    put("another name", { metadata: { name: "u-other" } }),
    put("no name", { metadata: { name: undefined } }),
    put("another kind", { kind: "Robot" }),
    put("another apiVersion", { apiVersion: "apps/v1" }),
    put("a bad label", { metadata: { labels: { "a b": "c" } } }),
    put("a finalizer", { metadata: { labels: { a: "b" } } }),
    put("dryRun", kind.change, "?dryRun=All"),
    put("another dryRun", kind.change, "?dryRun=Some"),
    {
      id: `${plural}: replace one that is missing`,
      ask: send("PUT", `${at()}/u-{row}`, make("u-{row}")),
    },
    {
      id: `${plural}: replace one that is missing, with a version`,
      ask: send("PUT", `${at()}/u-{row}`, make("u-{row}", { metadata: { resourceVersion: "1" } })),
    },
    {
      id: `${plural}: replace one that is missing, with a uid`,
      ask: send("PUT", `${at()}/u-{row}`, make("u-{row}", { metadata: { uid: "a" } })),
    },
    { id: `${plural}: replace the collection`, ask: send("PUT", at(), make("u-{row}")) },
    {
      id: `${plural}: replace with broken JSON`,
      given: [send("POST", at(), make("u-{row}"))],
      ask: send("PUT", `${at()}/u-{row}`, "{", { type: "application/json" }),
    },
    ...(kind.namespaced ? [put("another namespace", { metadata: { namespace: "default" } })] : []),
  ];
};

function versioned(path: string): object {
  return { metadata: { resourceVersion: `{version of ${path}}` } };
}
