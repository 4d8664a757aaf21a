import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { CelError } from "../policy/cel/cel-error.ts";
import type { AskedSpec } from "./access-review-spec.ts";
import { celExpressionPolicy, readCelPolicy, type CelDecision, type CelPolicy } from "./cel-policy.ts";

const head = { apiVersion: "pratique.dev/v1alpha1", kind: "CelPolicy" };
const allowed = { name: "a", expression: "true", decision: "Allow" };

function policyOf(...rules: readonly object[]): CelPolicy {
  const read = readCelPolicy({ ...head, rules });
  if (read.policy === undefined) throw new TypeError(JSON.stringify(read.errors));
  return read.policy;
}

function complaints(value: unknown): string {
  const read = readCelPolicy(value);
  return read.policy === undefined ? read.errors.map(({ path, message }) => `${path}: ${message}`).join("\n") : "";
}

const resource = (user: string, resourceAttributes: Readonly<Record<string, string>> = {}): AskedSpec => ({
  user,
  resourceAttributes,
});
const none = { allow: false, deny: false };

describe("rules in CEL", () => {
  const policy = policyOf(
    { name: "path", expression: "has(request.nonResourceAttributes)", decision: "Deny", reason: "no paths" },
    { name: "ann", expression: "request.user == 'ann'", decision: "Allow", reason: "it is ann" },
    { name: "frozen", expression: "request.resourceAttributes.namespace == 'frozen'", decision: "Deny" },
    { name: "dev", expression: "'dev' in request.groups", decision: "Allow" },
  );

  test.each<[AskedSpec, CelDecision]>([
    [
      { user: "ann", nonResourceAttributes: { path: "/x", verb: "get" } },
      { allow: false, deny: true, rule: "path", reason: "no paths" },
    ],
    [resource("ann", { namespace: "frozen" }), { allow: true, deny: false, rule: "ann", reason: "it is ann" }],
    [resource("bob", { namespace: "frozen" }), { allow: false, deny: true, rule: "frozen" }],
    [
      { ...resource("bob"), groups: ["dev"] },
      { allow: true, deny: false, rule: "dev" },
    ],
    [resource("bob"), none],
  ])("decide by the first that is true: %j", (asked, decided) => {
    expect(policy(asked)).toEqual(decided);
  });

  test("end at one that cannot be evaluated, whatever comes after", () => {
    const broken = policyOf(
      { name: "x", expression: "request.resourceAttributes.verb == 'get'", decision: "Deny" },
      allowed,
    );
    expect(broken({ user: "ann", nonResourceAttributes: { path: "/x", verb: "get" } })).toEqual({
      error: 'rule "x": no such key: resourceAttributes',
    });
  });

  test("cost no more than they may: one that explodes, and many that are dear", () => {
    const ten = "[1,2,3,4,5,6,7,8,9,10]";
    const loops = (names: string): string =>
      names.split("").reduce((body, name) => `${ten}.all(${name}, ${body})`, "request.user != ''");
    expect(
      policyOf({ name: "x", expression: loops("abcdefgh"), decision: "Deny" }, allowed)(resource("u")),
    ).toMatchObject({ error: expect.stringContaining('rule "x"') as string });
    const dear = Array.from({ length: 60 }, (_, index) => ({
      name: `r${index}`,
      expression: `!${loops("abcd")}`,
      decision: "Deny",
    }));
    expect(policyOf(...dear, allowed)(resource("u"))).toMatchObject({
      error: expect.stringContaining("cost more than they may") as string,
    });
  });

  test("may be a single expression, which allows", () => {
    const one = celExpressionPolicy("'admin' in request.groups\n");
    expect(one({ ...resource("u"), groups: ["admin"] })).toEqual({ allow: true, deny: false });
    expect(one(resource("u"))).toEqual(none);
    expect(() => celExpressionPolicy("request.user")).toThrow(CelError);
    expect(() => celExpressionPolicy(`'${"x".repeat(20_000)}' == request.user`)).toThrow(CelError);
  });
});

describe("a file of rules", () => {
  test.each<[unknown, string]>([
    [[], "Invalid value"],
    [{ ...head, kind: "Policy", rules: [allowed] }, "kind: Unsupported value"],
    [{ ...head, apiVersion: "v1", rules: [allowed] }, "apiVersion: Unsupported value"],
    [{ ...head, rules: [allowed], more: 1 }, "more: Forbidden: unknown field"],
    [head, "rules: Required value"],
    [{ ...head, rules: [{ ...allowed, name: "" }] }, "rules[0].name: Required value"],
    [{ ...head, rules: [allowed, allowed] }, "rules[1].name: Duplicate value"],
    [{ ...head, rules: [{ ...allowed, decision: "allow" }] }, 'rules[0].decision: Unsupported value: "allow"'],
    [{ ...head, rules: [{ name: "a", expression: "true" }] }, "rules[0].decision: Unsupported value"],
    [{ ...head, rules: [{ ...allowed, expression: " " }] }, "rules[0].expression: Required value"],
    [{ ...head, rules: [{ ...allowed, expression: "1" }] }, "must evaluate to bool"],
    [{ ...head, rules: [{ ...allowed, expression: "request.groop" }] }, "undefined field 'groop'"],
    [{ ...head, rules: [{ ...allowed, expression: "object.x" }] }, "undeclared reference"],
    [{ ...head, rules: [{ ...allowed, expression: `'${"x".repeat(20_000)}' == ''` }] }, "at most 16384 characters"],
    [{ ...head, rules: [{ ...allowed, reason: "x".repeat(2000) }] }, "rules[0].reason: Invalid value"],
    [{ ...head, rules: [{ ...allowed, expression: true }] }, "rules[0].expression"],
    [{ ...head, rules: Array.from({ length: 257 }, (_, at) => ({ ...allowed, name: `r${at}` })) }, "rules: Too many"],
  ])("that is wrong is no policy: %j", (value, said) => {
    expect(complaints(value)).toContain(said);
  });

  test("of any content is read or refused, and never throws", () => {
    const rule = fc.record(
      { name: fc.string(), expression: fc.oneof(fc.string(), fc.constant("true")), decision: fc.string() },
      { requiredKeys: [] },
    );
    const file = fc.record({ ...fixed(head), rules: fc.oneof(fc.array(rule), fc.jsonValue()) }, { requiredKeys: [] });
    fc.assert(
      fc.property(fc.oneof(file, fc.jsonValue()), (value) => {
        const read = readCelPolicy(value);
        expect(read.policy !== undefined || read.errors.length > 0).toBe(true);
      }),
      { numRuns: 200 },
    );
  });
});

function fixed(values: Readonly<Record<string, string>>): Record<string, fc.Arbitrary<string>> {
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [key, fc.constant(value)]));
}
