import { describe, expect, it } from "vitest";
import { finish } from "../../apimachinery/steps.ts";
import type { ApiObject } from "../../apimachinery/object.ts";
import { accessRequests } from "../../apis/access-request.ts";
import { credentialRevocations } from "../../apis/credential-revocation.ts";
import { readStructural } from "../../apis/custom/structural-schema.ts";
import { ruleSet } from "../../apis/custom/validation-rules.ts";
import { fieldListAt, fieldsAt, stringAt } from "../../apis/json-fields.ts";
import type { Resource } from "../../apis/resource.ts";
import { accessDefinitions } from "./access-definitions.ts";

const digest = "ab".repeat(32);
const publicKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl";

const revocationSpecs: readonly object[] = [
  {},
  { reason: "lost" },
  { user: "a" },
  { user: "b" },
  { user: "a", reason: "lost", expiresAt: "2099-01-01T00:00:00Z" },
  { user: "a", fingerprint: digest },
  { fingerprint: digest },
  { certificate: { serialNumber: "01" } },
  { certificate: { serialNumber: "01", issuer: digest } },
  { credentialID: "JTI=a" },
  { bootstrapTokenID: "abcdef" },
  { bootstrapTokenID: "abcdeg", secret: { namespace: "a", name: "b" } },
  { secret: { namespace: "a", name: "b" } },
  { secret: { namespace: "a", name: "c" } },
];

const requestSpecs: readonly object[] = [
  { pubKey: publicKey },
  { pubKey: publicKey, profile: "vms" },
  { pubKey: publicKey, hostname: "a", claims: { a: "1" } },
  { pubKey: publicKey, hostname: "a", claims: { a: "2" } },
];

/** Whether the rules of the definition let an API server store the object in place of `stored`. */
function rulesOf(resource: Resource): (object: ApiObject, stored: ApiObject | undefined) => boolean {
  const name = `${resource.plural}.${resource.group}`;
  const definition = accessDefinitions({ rules: true }).find((one) => stringAt(one, "metadata", "name") === name);
  const [version] = fieldListAt(definition, "spec", "versions");
  const rules = ruleSet(readStructural(fieldsAt(version, "schema", "openAPIV3Schema")), { isResource: true });
  return (object, stored) => rules !== undefined && finish(rules.errors(object, { stored, path: "" })).length === 0;
}

function hubTakes({ validate, validateUpdate }: Resource, object: ApiObject, stored: ApiObject | undefined): boolean {
  const changed = stored === undefined ? [] : (validateUpdate?.(object, stored) ?? []);
  return [...(validate?.(object, stored) ?? []), ...changed].length === 0;
}

describe("the rules of a definition", () => {
  it.each([
    ["CredentialRevocation", credentialRevocations, revocationSpecs],
    ["AccessRequest", accessRequests, requestSpecs],
  ])("of %s let through what the hub lets through, new and changed", (_kind, resource, specs) => {
    const take = rulesOf(resource);
    const objects = specs.map((spec): ApiObject => ({
      apiVersion: "a/v1",
      kind: resource.kind,
      metadata: { name: "a" },
      spec,
    }));
    const stored = objects.filter((object) => hubTakes(resource, object, undefined));
    expect(stored.length).toBeGreaterThan(2);
    const pairs = [undefined, ...stored].flatMap((old) => objects.map((next) => [next, old] as const));
    const taken = pairs.map(([next, old]) => hubTakes(resource, next, old));
    expect(new Set(taken).size).toBe(2);
    expect(pairs.map(([next, old]) => take(next, old))).toEqual(taken);
  });
});
