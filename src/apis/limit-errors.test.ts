import { describe, expect, it } from "vitest";
import type { JsonObject } from "../apimachinery/json-value.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import type { Schema } from "../apimachinery/schema.ts";
import { atOnce } from "../../test/kits/at-once.ts";
import { accessProfiles } from "./access-profile.ts";
import { accessRequests } from "./access-request.ts";
import { credentialRevocations } from "./credential-revocation.ts";
import { readStructural } from "./custom/structural-schema.ts";
import { valueErrors } from "./custom/validate-value.ts";
import { definitionOf } from "./definition-of.ts";
import { issuedCredentials } from "./issued-credential.ts";
import { fieldListAt, fieldsAt } from "./json-fields.ts";
import { openApiSchemas } from "./openapi-schemas.ts";
import { recoveryPolicies } from "./recovery-policy.ts";
import type { Resource } from "./resource.ts";

/** A value that exceeds one limit, and where it stands. */
interface Excess {
  readonly path: string;
  readonly value: unknown;
}

/** A value over each limit of a schema. */
function* excesses(schema: Schema, path: string): Generator<Excess> {
  if (schema.type === "integer") {
    if (schema.minimum !== undefined) yield { path, value: schema.minimum - 1 };
    if (schema.maximum !== undefined) yield { path, value: schema.maximum + 1 };
  }
  if (schema.type === "string") {
    if (schema.enum !== undefined) yield* ["", "Nonsense"].map((value) => ({ path, value }));
    if (schema.maxLength !== undefined) yield { path, value: "x".repeat(schema.maxLength + 1) };
  }
  if (schema.type === "array") {
    if (schema.maxItems !== undefined) yield { path, value: Array(schema.maxItems + 1).fill(allowed(schema.items)) };
    yield* excesses(schema.items, `${path}[0]`);
  }
  if (schema.type !== "object") return;
  for (const [key, field] of Object.entries(schema.properties)) {
    if (key !== "metadata") yield* excesses(field.schema, path === "" ? key : `${path}.${key}`);
  }
}

/** Text, or an object that has what is required. */
function allowed(schema: Schema): unknown {
  if (schema.type !== "object") return schema.type === "string" ? (schema.enum?.[0] ?? "x") : undefined;
  const needed = Object.entries(schema.properties).filter(([, field]) => field.required === true);
  return Object.fromEntries(needed.map(([key, field]) => [key, allowed(field.schema)]));
}

function objectWith({ path, value }: Excess): JsonObject {
  return path.split(".").reduceRight<unknown>((inner, step) => {
    return step.endsWith("[0]") ? { [step.slice(0, -3)]: [inner] } : { [step]: inner };
  }, value) as JsonObject;
}

/** What an API server says at this path that serves the kind by its CustomResourceDefinition. */
function definitionErrors(resource: Resource, { path, value }: Excess): readonly string[] {
  const [version] = fieldListAt(definitionOf(resource, { paths: {} }), "spec", "versions");
  const schema = readStructural(fieldsAt(version, "schema", "openAPIV3Schema"));
  const errors = valueErrors(schema, objectWith({ path, value }), { path: "" });
  return errors.filter((error) => error.path === path).map(({ message }) => message);
}

function ownErrors(resource: Resource, { path, value }: Excess): readonly string[] {
  const object: ApiObject = { apiVersion: "", kind: "", metadata: { name: "a" }, ...objectWith({ path, value }) };
  return (resource.validate?.(object) ?? []).filter((error) => error.path === path).map(({ message }) => message);
}

const cases = [accessProfiles, accessRequests, credentialRevocations, issuedCredentials, recoveryPolicies].flatMap(
  (resource) =>
    [...excesses(resource.schema, "")].map((excess) => [resource.kind, excess.path, resource, excess] as const),
);

describe("a limit of our own kinds", () => {
  it("is one of many, and stands in OpenAPI", () => {
    expect(cases.length).toBeGreaterThan(25);
    const schemas = atOnce(openApiSchemas)([accessProfiles], "v3");
    expect(fieldsAt(schemas, "dev.pratique.access.v1alpha1.AccessProfileSpec", "properties")).toMatchObject({
      tokenSeconds: { minimum: 600, maximum: 31_622_400 },
      roles: { maxItems: 64 },
    });
  });

  it.each(cases)(
    "%s %s is kept by the hub and by the definition, in the same words",
    (_kind, _path, resource, excess) => {
      const words = definitionErrors(resource, excess);
      expect(words).toHaveLength(1);
      expect(ownErrors(resource, excess)).toEqual(words);
    },
  );
});
