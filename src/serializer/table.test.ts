import { describe, expect, test } from "vitest";

import { ageColumn, ageOf } from "../apis/builtin-kind.ts";
import { builtinResources, storedResources } from "../apis/builtin.ts";
import { events } from "../apis/event.ts";
import { parseIncludeObject, tableColumns, tableFor } from "./table.ts";

const now = Date.parse("2026-06-01T12:00:00Z");
const object = {
  apiVersion: "v1",
  kind: "Thing",
  metadata: { name: "a", namespace: "n", creationTimestamp: "2026-06-01T11:55:00Z", labels: { x: "y" } },
};
const resource = {
  columns: [{ name: "Size", type: "integer", priority: 1, description: "How big.", cell: () => null }, ageColumn],
} as const;

describe("a table", () => {
  test("puts the name first and carries column definitions with every field", () => {
    const table = tableFor(resource, [object], { now, metadata: { resourceVersion: "7" } });
    expect(table).toStrictEqual({
      kind: "Table",
      apiVersion: "meta.k8s.io/v1",
      metadata: { resourceVersion: "7" },
      columnDefinitions: [
        expect.objectContaining({ name: "Name", type: "string", format: "name", priority: 0 }),
        { name: "Size", type: "integer", format: "", description: "How big.", priority: 1 },
        expect.objectContaining({ name: "Age", type: "string", format: "", priority: 0 }),
      ],
      rows: [
        {
          cells: ["a", null, "5m"],
          object: { kind: "PartialObjectMetadata", apiVersion: "meta.k8s.io/v1", metadata: object.metadata },
        },
      ],
    });
  });

  test("carries the whole object where that is asked for", () => {
    expect(tableFor(resource, [object], { now, includeObject: "Object" }).rows[0]?.object).toBe(object);
  });

  test("carries null where no object is asked for", () => {
    expect(tableFor(resource, [object], { now, includeObject: "None" }).rows[0]?.object).toBeNull();
  });

  test("speaks v1beta1 in the rows too", () => {
    const table = tableFor(resource, [object], { now, version: "v1beta1" });
    expect([table.apiVersion, table.rows[0]?.object?.apiVersion]).toStrictEqual([
      "meta.k8s.io/v1beta1",
      "meta.k8s.io/v1beta1",
    ]);
  });

  test("has empty rows and metadata, never null, for an empty list", () => {
    expect(tableFor(resource, [], { now })).toMatchObject({ rows: [], metadata: {} });
  });

  test("leaves the definitions out in later events of a watch", () => {
    expect(tableFor(resource, [object], { now, columnDefinitions: "omit" }).columnDefinitions).toStrictEqual([]);
  });

  test("does not put a second name column in front of events", () => {
    expect(tableColumns(events).map((column) => column.name)).toStrictEqual([
      "Last Seen",
      "Type",
      "Reason",
      "Object",
      "Subobject",
      "Source",
      "Message",
      "First Seen",
      "Count",
      "Name",
    ]);
  });
});

test.each([
  [undefined, "Metadata"],
  [null, "Metadata"],
  ["", "Metadata"],
  ["Metadata", "Metadata"],
  ["None", "None"],
  ["Object", "Object"],
  ["object", undefined],
  ["__proto__", undefined],
])("includeObject=%j means %j", (value, meaning) => {
  expect(parseIncludeObject(value)).toBe(meaning);
});

describe("ages", () => {
  test.each([
    ["2026-06-01T11:59:55Z", "5s"],
    ["2026-06-01T11:56:48Z", "3m12s"],
    ["2026-06-01T11:13:00Z", "47m"],
    ["2026-04-17T12:00:00Z", "45d"],
    ["", "<unknown>"],
    ["yesterday", "<unknown>"],
  ])("%j shows as %s", (time, shown) => {
    expect(ageOf(time, now)).toBe(shown);
  });
});

describe("the built-in kinds", () => {
  const junk: readonly unknown[] = [null, 7, "x", [], [null], {}, { conditions: [null, 7], containers: {} }];

  test.each(storedResources.map((one) => [one.plural, one] as const))(
    "%s prints whatever it is given",
    (_plural, one) => {
      for (const value of junk) {
        const fields = [
          "spec",
          "status",
          "data",
          "type",
          "rules",
          "roleRef",
          "subjects",
          "involvedObject",
          "series",
          "secrets",
        ];
        const odd = Object.fromEntries(fields.map((field) => [field, value]));
        const table = tableFor(one, [{ apiVersion: "v1", kind: one.kind, metadata: {}, ...odd }], { now });
        expect(table.rows[0]?.cells).toHaveLength(table.columnDefinitions.length);
      }
    },
  );

  test("most validate what they are given", () => {
    expect(builtinResources.filter(({ validate }) => validate !== undefined).length).toBeGreaterThan(20);
  });

  test.each(builtinResources.map((one) => [one.plural, one] as const))(
    "%s validates whatever it is given",
    (_plural, one) => {
      const context = { user: { username: "u", groups: [] }, now };
      for (const value of junk) {
        const fields = [
          "spec",
          "status",
          "data",
          "binaryData",
          "stringData",
          "type",
          "rules",
          "roleRef",
          "subjects",
          "aggregationRule",
        ];
        const odd = {
          apiVersion: "v1",
          kind: one.kind,
          metadata: {},
          ...Object.fromEntries(fields.map((field) => [field, value])),
        };
        const created = one.prepareForCreate?.(odd, context) ?? odd;
        expect(Array.isArray(one.validate?.(created) ?? [])).toBe(true);
        const updated = one.prepareForUpdate?.(odd, created, context) ?? odd;
        expect(Array.isArray(one.validateUpdate?.(updated, created) ?? [])).toBe(true);
        for (const subresource of Object.values(one.subresources)) {
          const next = subresource.prepareForUpdate?.(odd, created, context) ?? odd;
          expect(Array.isArray(subresource.validateUpdate?.(next, created) ?? [])).toBe(true);
        }
      }
    },
  );

  test("have plural names, singular names and kinds of their own", () => {
    for (const key of ["plural", "singular", "kind"] as const) {
      expect(new Set(builtinResources.map((one) => one[key])).size).toBe(builtinResources.length);
    }
    const short = builtinResources.flatMap((one) => one.shortNames);
    expect(short.toSorted()).toStrictEqual([
      "aprof",
      "areq",
      "cm",
      "crd",
      "crds",
      "crev",
      "csr",
      "ev",
      "icred",
      "no",
      "ns",
      "po",
      "rpol",
      "sa",
      "svc",
    ]);
  });

  test("selectable fields never throw and give strings", () => {
    const selectable = builtinResources.flatMap((one) => Object.keys(one.selectableFields ?? {}));
    expect(selectable.length).toBeGreaterThan(10);
    for (const one of builtinResources) {
      for (const field of Object.values(one.selectableFields ?? {})) {
        for (const value of junk) {
          const odd = {
            apiVersion: "v1",
            kind: one.kind,
            metadata: {},
            spec: value,
            status: value,
            involvedObject: value,
          };
          expect(typeof field(odd)).toBe("string");
        }
      }
    }
  });
});
