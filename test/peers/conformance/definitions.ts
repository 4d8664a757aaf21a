import { over, send, type Row } from "./row.ts";

const size = { type: "integer", minimum: 1, maximum: 9 };
const spec = {
  type: "object",
  required: ["size"],
  properties: {
    size,
    mood: { type: "string", enum: ["good", "bad"], default: "good" },
    word: { type: "string", pattern: "^[a-z]+$", maxLength: 8 },
    when: { type: "string", format: "date-time" },
    either: { "x-kubernetes-int-or-string": true },
    parts: {
      type: "array",
      maxItems: 2,
      items: { type: "object", required: ["name"], properties: { name: { type: "string" } } },
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["name"],
    },
    tags: { type: "array", items: { type: "string" }, "x-kubernetes-list-type": "set" },
    free: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
  },
};

/** A version with such a schema. */
function version(openAPIV3Schema: object, change: object = {}): object {
  return over({ name: "v1", served: true, storage: true, schema: { openAPIV3Schema } }, change);
}

function definition(plural: string, kind: string, change: object = {}): object {
  return over(
    {
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "CustomResourceDefinition",
      metadata: { name: `${plural}.example.com` },
      spec: {
        group: "example.com",
        scope: "Namespaced",
        names: { plural, kind },
        versions: [version({ type: "object", properties: { spec } }, { subresources: { status: {} } })],
      },
    },
    change,
  );
}

/** The definition of the custom kind that the table asks about. */
export const things: object = definition("things", "Thing");

/** Definitions that are tried and not kept, by what is special about them. */
const tried: Readonly<Record<string, object>> = {
  "all that it needs": {},
  "another name": { metadata: { name: "others.example.com" } },
  "no group": { spec: { group: "" } },
  "a bad group": { spec: { group: "Example" } },
  "no scope": { spec: { scope: undefined } },
  "an unknown scope": { spec: { scope: "Galaxy" } },
  "no kind": { spec: { names: { kind: undefined } } },
  "a bad kind": { spec: { names: { kind: "no kind" } } },
  "a bad plural": { spec: { names: { plural: "No_Plural" } } },
  "a bad short name": { spec: { names: { shortNames: ["No_Name"] } } },
  "no versions": { spec: { versions: [] } },
  "no version that is stored": { spec: { versions: [version({ type: "object" }, { storage: false })] } },
  "two versions that are stored": {
    spec: { versions: [version({ type: "object" }), version({ type: "object" }, { name: "v2" })] },
  },
  "two versions of one name": {
    spec: { versions: [version({ type: "object" }), version({ type: "object" }, { storage: false })] },
  },
  "a bad version": { spec: { versions: [version({ type: "object" }, { name: "V_1" })] } },
  "no schema": { spec: { versions: [version({}, { schema: undefined })] } },
  "a schema without type": { spec: { versions: [version({})] } },
  "a schema of text": { spec: { versions: [version({ type: "string" })] } },
  "a field without type": { spec: { versions: [version({ type: "object", properties: { a: {} } })] } },
  "a field of an unknown type": {
    spec: { versions: [version({ type: "object", properties: { a: { type: "word" } } })] },
  },
  "a list without items": { spec: { versions: [version({ type: "object", properties: { a: { type: "array" } } })] } },
  "a bad pattern": {
    spec: { versions: [version({ type: "object", properties: { a: { type: "string", pattern: "(" } } })] },
  },
  "a default of another type": {
    spec: { versions: [version({ type: "object", properties: { a: { type: "string", default: 7 } } })] },
  },
  "a type inside of anyOf": {
    spec: {
      versions: [version({ type: "object", properties: { a: { type: "string", anyOf: [{ type: "string" }] } } })],
    },
  },
  "a map list without keys": {
    spec: {
      versions: [
        version({
          type: "object",
          properties: { a: { type: "array", items: { type: "object" }, "x-kubernetes-list-type": "map" } },
        }),
      ],
    },
  },
  "a schema for metadata": {
    spec: {
      versions: [
        version({
          type: "object",
          properties: { metadata: { type: "object", properties: { labels: { type: "object" } } } },
        }),
      ],
    },
  },
  "unknown fields for all": { spec: { preserveUnknownFields: true } },
  "a column without a path": {
    spec: {
      versions: [
        version({ type: "object" }, { additionalPrinterColumns: [{ name: "A", type: "string", jsonPath: "" }] }),
      ],
    },
  },
  "a column of an unknown type": {
    spec: {
      versions: [
        version({ type: "object" }, { additionalPrinterColumns: [{ name: "A", type: "word", jsonPath: ".spec.a" }] }),
      ],
    },
  },
  "a scale without paths": { spec: { versions: [version({ type: "object" }, { subresources: { scale: {} } })] } },
  "a scale outside of spec": {
    spec: {
      versions: [
        version(
          { type: "object" },
          { subresources: { scale: { specReplicasPath: ".status.a", statusReplicasPath: ".status.b" } } },
        ),
      ],
    },
  },
  "a conversion by nobody": { spec: { conversion: { strategy: "Webhook" } } },
  "an unknown conversion": { spec: { conversion: { strategy: "Magic" } } },
  "a protected group": { metadata: { name: "tries.a.k8s.io" }, spec: { group: "a.k8s.io" } },
};

const at = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/** Rows about definitions; most are tried without being stored, since each stored one lets kube-apiserver build its documents anew. */
export const definitionRows: readonly Row[] = [
  ...Object.entries(tried).map(([id, change]) => ({
    id: `customresourcedefinitions: create with ${id}`,
    ask: send("POST", `${at}?dryRun=All`, definition("tries", "Try", change)),
  })),
  { id: "customresourcedefinitions: create one that is there", ask: send("POST", at, things) },
  { id: "customresourcedefinitions: get one that is missing", ask: { path: `${at}/none.example.com` } },
  {
    id: "customresourcedefinitions: replace one without a version",
    ask: send("PUT", `${at}/things.example.com`, things),
  },
  {
    id: "customresourcedefinitions: merge a new group",
    ask: send("PATCH", `${at}/things.example.com?dryRun=All`, '{"spec":{"group":"other.com"}}', {
      type: "application/merge-patch+json",
    }),
  },
  {
    id: "customresourcedefinitions: merge a new scope",
    ask: send("PATCH", `${at}/things.example.com?dryRun=All`, '{"spec":{"scope":"Cluster"}}', {
      type: "application/merge-patch+json",
    }),
  },
  {
    id: "customresourcedefinitions: merge no versions",
    ask: send("PATCH", `${at}/things.example.com?dryRun=All`, '{"spec":{"versions":[]}}', {
      type: "application/merge-patch+json",
    }),
  },
  {
    id: "customresourcedefinitions: delete one that is missing",
    ask: { method: "DELETE", path: `${at}/none.example.com` },
  },
];
