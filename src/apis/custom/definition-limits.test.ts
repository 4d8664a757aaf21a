import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../apimachinery/json-value.ts";
import type { Steps } from "../../apimachinery/steps.ts";
import { versionsErrors } from "./crd-version-errors.ts";
import { customKinds } from "./custom-kind.ts";
import { printerColumns } from "./printer-columns.ts";
import type { Resource } from "../resource.ts";
import { atOnce } from "../../../test/kits/at-once.ts";

const errorsOf = atOnce(versionsErrors);

/** Versions whose schemas differ by their description, unless they are to be the same. */
function versions(count: number, spec: (version: number) => JsonObject): readonly JsonObject[] {
  return Array.from({ length: count }, (_, index) => ({
    name: `v${index + 1}`,
    served: true,
    storage: index === 0,
    schema: { openAPIV3Schema: { type: "object", properties: { spec: spec(index) } } },
  }));
}

const shown = (list: readonly JsonObject[]): readonly string[] =>
  errorsOf(list, "spec.versions").map(({ path, message }) => `${path}: ${message}`);

const ruled = (rules: number, description: string): JsonObject => ({
  type: "string",
  maxLength: 10,
  description,
  "x-kubernetes-validations": Array.from({ length: rules }, () => ({ rule: "true" })),
});

const tooManyRules = (path: string, rules: number): string =>
  `${path}: Forbidden: the definition has ${rules} rules of x-kubernetes-validations with ${rules * 4} characters in all, and may have 2000 with 262144; combine rules, or move them into an admission policy`;

describe("all versions of a definition together", () => {
  it("may have 2,000 rules", () => {
    expect(shown(versions(2, (version) => ruled(1_000, `version ${version}`)))).toEqual([]);
    expect(shown(versions(3, (version) => ruled(700, `version ${version}`)))).toEqual([
      tooManyRules("spec.versions[2].schema.openAPIV3Schema", 2_100),
    ]);
  });

  it("have the rules of a schema that all share as often as there are versions", () => {
    expect(shown(versions(2, () => ruled(1_000, "same")))).toEqual([]);
    expect(shown(versions(3, () => ruled(700, "same")))).toEqual([
      tooManyRules("spec.validation.openAPIV3Schema", 2_100),
    ]);
  });

  it("may have patterns of 65,536 characters, each counted once", () => {
    const pattern = (version: number, differs: boolean): JsonObject => ({
      type: "string",
      description: `version ${version}`,
      pattern: `${"a".repeat(30_000)}${differs ? version : ""}`,
    });
    expect(shown(versions(3, (version) => pattern(version, false)))).toEqual([]);
    expect(shown(versions(3, (version) => pattern(version, true))).join()).toContain(
      "must not bring the patterns of the definition above 65536 characters in all",
    );
  });

  it("evaluate rules over defaults for ten million in all", () => {
    const defaulted = (version: number): JsonObject => ({
      type: "array",
      description: `version ${version}`,
      maxItems: 300,
      items: { type: "integer" },
      default: Array.from({ length: 300 }, (_, index) => index),
      "x-kubernetes-validations": [{ rule: "self.all(x, self.all(y, x + y >= 0))" }],
    });
    const spec = (version: number): JsonObject => ({
      type: "object",
      properties: Object.fromEntries(Array.from({ length: 4 }, (_, index) => [`p${index}`, defaulted(version)])),
    });
    expect(shown(versions(1, spec))).toEqual([]);
    expect(shown(versions(5, spec)).join()).toContain("running out of cost budget");
  });
});

describe("the paths of a definition", () => {
  const schema = { openAPIV3Schema: { type: "object", properties: { spec: { type: "object" } } } };
  const version = { name: "v1", served: true, storage: true, schema };
  const column = (jsonPath: string): JsonObject => ({ name: "C", type: "string", jsonPath });
  const long = ".spec".padEnd(1025, "a");
  const columns = (list: readonly string[]): JsonObject => ({ ...version, additionalPrinterColumns: list.map(column) });
  const scale = { specReplicasPath: ".spec.a", statusReplicasPath: ".status.a" };
  const scaled = (paths: JsonObject): JsonObject => ({ ...version, subresources: { scale: { ...scale, ...paths } } });
  const why = "Too long: may not be more than 1024 bytes";

  it.each([
    [columns([long]), "spec.additionalPrinterColumns[0].JSONPath"],
    [columns([".spec", "é".repeat(513)]), "spec.additionalPrinterColumns[1].JSONPath"],
    [{ ...version, selectableFields: [{ jsonPath: long }] }, "spec.selectableFields[0].jsonPath"],
    [scaled({ specReplicasPath: long }), "spec.subresources.scale.specReplicasPath"],
    [scaled({ statusReplicasPath: long }), "spec.subresources.scale.statusReplicasPath"],
    [scaled({ labelSelectorPath: long }), "spec.subresources.scale.labelSelectorPath"],
  ])("of more than 1,024 bytes are refused (%#)", (one: JsonObject, path: string) => {
    expect(shown([one])).toEqual([`${path}: ${why}`]);
  });

  it("may have 1,024 bytes, and those of columns 65,536 characters in all versions together", () => {
    const paths = Array.from({ length: 32 }, () => long.slice(0, 1024));
    const two = { ...columns(paths), name: "v2", storage: false };
    expect(shown([columns(paths), two])).toEqual([]);
    const more = (spare: string): JsonObject => columns([...paths, spare]);
    const total = "must not bring the paths of the columns of the definition above 65536 characters in all";
    expect(shown([more(".a"), two])).toEqual([
      expect.stringMatching(
        new RegExp(`^spec.versions\\[1\\].additionalPrinterColumns\\[31\\].JSONPath: .*: ${total}$`),
      ),
    ]);
    expect(shown([more(".a"), { ...two, ...more(".a"), name: "v2", storage: false }])).toEqual([
      `spec.additionalPrinterColumns[32].JSONPath: Invalid value: ".a": ${total}`,
    ]);
  });

  it("of more than 1,024 bytes in a stored definition make empty columns", () => {
    const [within, beyond] = ["a".repeat(1023), "a".repeat(1024)];
    const object = { apiVersion: "v1", kind: "X", metadata: { name: "x" }, [within]: 1, [beyond]: 1 };
    const made = printerColumns([within, beyond].map((name) => ({ name, type: "integer", jsonPath: `.${name}` })));
    expect(made.map(({ cell }) => cell(object, 0))).toEqual([1, null]);
  });
});

describe("a kind of 20,000 fields at its first use", () => {
  const count = 20_000;
  const large = (): Resource => {
    const properties = Object.fromEntries(
      Array.from({ length: count }, (_, index) => [`f${index}`, { type: "string" }]),
    );
    const [kind] = customKinds(
      {
        apiVersion: "apiextensions.k8s.io/v1",
        kind: "CustomResourceDefinition",
        metadata: { name: "larges.example.com" },
        spec: {
          group: "example.com",
          names: { plural: "larges", kind: "Large" },
          scope: "Namespaced",
          versions: [
            {
              name: "v1",
              served: true,
              storage: true,
              schema: { openAPIV3Schema: { type: "object", properties: { spec: { type: "object", properties } } } },
            },
          ],
        },
      },
      { since: 0, convert: undefined },
    );
    if (kind === undefined) throw new TypeError("no kind");
    return kind;
  };
  const prepare = (kind: Resource): Steps<void> => {
    if (kind.custom === undefined) throw new TypeError("no custom kind");
    return kind.custom.prepare();
  };
  const yieldsOf = (steps: Steps<void>): number => {
    let yields = 0;
    while (steps.next().done !== true) yields += 1;
    return yields;
  };

  it("has its schemas read in steps of at most 1,024 fields, and never again", () => {
    const kind = large();
    expect(yieldsOf(prepare(kind))).toBeGreaterThanOrEqual(2 * Math.floor(count / 1024));
    expect(yieldsOf(prepare(kind))).toBe(0);
    expect(Object.keys(kind.schema.properties)).toContain("spec");
  });

  it("has them read once for all who ask meanwhile, each of whom brings the work on", () => {
    const alone = yieldsOf(prepare(large()));
    const kind = large();
    const [one, other] = [prepare(kind), prepare(kind)];
    let together = 0;
    for (;;) {
      const isDone = one.next().done === true;
      if (isDone && other.next().done === true) break;
      together += 1;
      if (!isDone && other.next().done !== true) together += 1;
    }
    expect(together).toBeLessThanOrEqual(alone + 1);
  });
});
