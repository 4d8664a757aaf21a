import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { InputsError, readInputs, type Inputs, type OpenApi } from "../../generate/inputs.mts";
import { schemaFile } from "../../generate/schemas.mts";
import { builtinResources } from "../../src/apis/builtin.ts";
import { openApiSchemas } from "../../src/apis/openapi-schemas.ts";
import { atOnce } from "../kits/at-once.ts";
import { reportSkip } from "../kits/report-skip.ts";

// Whether what is committed is what the release of Kubernetes publishes, where its Go modules can be downloaded.

const inputs = availableInputs();

function availableInputs(): Inputs | undefined {
  try {
    return readInputs();
  } catch (error) {
    if (!(error instanceof InputsError)) throw error;
    reportSkip("the schemas of Kubernetes' own kinds", error.message, "go");
    return undefined;
  }
}

const file = new URL("../../src/apis/generated/kubernetes-definitions.json", import.meta.url);

describe.skipIf(inputs === undefined)("the schemas of Kubernetes' own kinds", () => {
  it("are what npm run generate:schemas writes", () => {
    expect(readFileSync(file, "utf8") === schemaFile(inputs), "run npm run generate:schemas").toBe(true);
  });

  const { documents = "", definitions = new Map<string, OpenApi>() } = inputs ?? {};

  const swagger = (): ReadonlyMap<string, OpenApi> => {
    const text = readFileSync(join(documents, "swagger.json"), "utf8");
    const read = JSON.parse(text) as { readonly definitions: Readonly<Record<string, OpenApi>> };
    return new Map(Object.entries(read.definitions));
  };

  it.each([
    ["v3", () => definitions],
    ["v2", swagger],
  ] as const)(
    "are shown in OpenAPI %s as they are published, enums and what explains them included",
    (flavour, read) => {
      const ours = atOnce(openApiSchemas)(builtinResources, flavour) as Readonly<Record<string, OpenApi>>;
      const published = read();
      const shared = Object.keys(ours).filter((name) => published.has(name));
      expect(shared.length).toBeGreaterThan(280);
      const shown = (schemas: (name: string) => OpenApi): Readonly<Record<string, unknown>> =>
        Object.fromEntries(shared.map((name) => [name, comparable(schemas(name))]));
      expect(shown((name) => ours[name] ?? {})).toEqual(shown((name) => withEnums(name, published.get(name) ?? {})));
    },
  );
});

function withEnums(name: string, schema: OpenApi): OpenApi {
  const enums = inputs?.enums.get(name);
  if (enums === undefined) return schema;
  const properties = Object.entries(schema.properties ?? {}).map(([key, property]): [string, OpenApi] => {
    const known = enums.get(key);
    if (known === undefined) return [key, property];
    const values = { enum: known.values };
    if (property.items !== undefined) return [key, { ...property, items: { ...property.items, ...values } }];
    return [
      key,
      { ...property, ...values, ...(known.description === undefined ? {} : { description: known.description }) },
    ];
  });
  return { ...schema, properties: Object.fromEntries(properties) };
}

/** The order of required fields says nothing; the hub names other group versions, and no unions, which nothing reads. */
function comparable({
  required,
  "x-kubernetes-group-version-kind": _kinds,
  "x-kubernetes-unions": _unions,
  ...rest
}: OpenApi): unknown {
  return required === undefined ? rest : { ...rest, required: [...required].sort() };
}
