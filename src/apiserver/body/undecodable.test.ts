import { expect, test } from "vitest";
import { builtinResources } from "../../apis/builtin.ts";
import type { Resource } from "../../apis/resource.ts";
import { internalType, unconvertible, unrecognized } from "./undecodable.ts";

function kind(name: string): Resource {
  const found = builtinResources.find((one) => one.kind === name);
  if (found === undefined) throw new RangeError(name);
  return found;
}

test.each([
  ["", "<empty>"],
  ["{", "{"],
  [`{"a":"${"x".repeat(40)}"}`, '{"a":"xxxxxxxxxxxxxxxxxxxxxxxx ...'],
  ["[]", "5b5d"],
  ["x".repeat(31), `${"78".repeat(30)} ...`],
])("a body that cannot be read is told by its beginning: %j", (body, shown) => {
  const error = unrecognized(kind("ConfigMap"), Buffer.from(body))("why");
  expect(error.message).toBe(`the object provided is unrecognized (must be of type ConfigMap): why (${shown})`);
  expect(error.code).toBe(400);
});

test.each(["Secret", "TokenReview"])("nothing is told of the body of a %s", (name) => {
  const error = unrecognized(kind(name), Buffer.from('{"data":"hunter2"'))("why");
  expect(error.message).not.toContain("hunter2");
});

test("kinds are named as Kubernetes names its own forms of them", () => {
  expect(internalType(kind("ConfigMap"), "List")).toBe("core.ConfigMapList");
  expect(internalType(kind("Role"))).toBe("rbac.Role");
  expect(unconvertible(kind("ConfigMap"), kind("Lease"))).toBe(
    "converting (v1.ConfigMap) to (coordination.Lease): unknown conversion",
  );
});
