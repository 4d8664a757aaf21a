import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../apimachinery/json-value.ts";
import type { Steps } from "../../apimachinery/steps.ts";
import { versionsErrors } from "./crd-version-errors.ts";
import { customKinds } from "./custom-kind.ts";
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
