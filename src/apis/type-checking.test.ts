import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { finish } from "../apimachinery/steps.ts";
import { builtinResources } from "./builtin.ts";
import type { CustomResourceDefinition } from "./custom/crd-object.ts";
import { customKinds } from "./custom/custom-kind.ts";
import { expressionWarnings, type ExpressionWarning } from "./type-checking.ts";
import type { PolicySpec } from "./validating-admission-policy.ts";

/** Policies, and what kube-apiserver 1.36.3 says of each; the names of types without the number that it adds. */
interface Recorded {
  readonly definition: CustomResourceDefinition;
  readonly policies: readonly {
    readonly title: string;
    readonly spec: PolicySpec;
    readonly warnings: readonly ExpressionWarning[];
  }[];
}

const fixture = new URL("../../test/fixtures/kube-apiserver-1.36-type-checking.json", import.meta.url);
const recorded = JSON.parse(readFileSync(fixture, "utf8")) as Recorded;
const convert = undefined;
const resources = [...builtinResources, ...customKinds(recorded.definition, { since: 0, convert })];

describe("the type check of a policy says what Kubernetes says", () => {
  it.each(recorded.policies.map(({ title, ...rest }) => [title, rest] as const))("of %s", (_title, policy) => {
    expect(finish(expressionWarnings(policy.spec, resources))).toEqual(policy.warnings);
  });

  it("of nothing where no kind matches", () => {
    expect(finish(expressionWarnings({ validations: [{ expression: "object.nope == 1" }] }, resources))).toEqual([]);
  });
});

const rule = { apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["pods"] };

describe("the type check of a policy", () => {
  it("takes authorizer.requestResource, of which the one of Kubernetes wrongly warns", () => {
    const expression = 'authorizer.requestResource.check("get").allowed()';
    const spec = { matchConstraints: { resourceRules: [rule] }, validations: [{ expression }] };
    expect(finish(expressionWarnings(spec, resources))).toEqual([]);
  });

  it("finds kinds by their singular names too, and all groups for the core group, as a RESTMapper does", () => {
    const validations = [{ expression: "object.nope == 1" }];
    const matchConstraints = { resourceRules: [{ ...rule, resources: ["Pod", "leases"] }] };
    const [warning] = finish(expressionWarnings({ matchConstraints, validations }, resources));
    expect(warning?.warning).toMatch(/^\/v1, Kind=Pod: .*\n\ncoordination\.k8s\.io\/v1, Kind=Lease: /s);
  });

  it("keeps as many warnings as a status can hold", () => {
    const expression = `object.nope == ${"1 + ".repeat(100)}1`;
    const validations = Array.from({ length: 400 }, () => ({ expression }));
    const found = finish(expressionWarnings({ matchConstraints: { resourceRules: [rule] }, validations }, resources));
    const characters = found.reduce((sum, { warning }) => sum + warning.length, 0);
    expect(characters).toBeGreaterThan(100_000);
    expect(characters).toBeLessThan(140_000);
  });
});
