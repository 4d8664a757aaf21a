import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { decodeObject } from "../../apimachinery/decode.ts";
import { decodeProtobuf, encodeProtobuf } from "./protobuf.ts";
import { published } from "../../apis/schemas/published.ts";

/** One definition as kube-apiserver gives it out, in JSON and in protobuf. */
const sample = JSON.parse(readFileSync(new URL("testdata/protobuf-definition.json", import.meta.url), "utf8")) as {
  readonly json: Record<string, unknown>;
  readonly protobuf: string;
};

const decode = (bytes: Uint8Array): Record<string, unknown> =>
  decodeProtobuf(bytes, () =>
    published("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition"),
  ).object;

describe("a definition in protobuf", () => {
  it("is read as kube-apiserver means it", () => {
    expect(decode(Buffer.from(sample.protobuf, "base64"))).toEqual(sample.json);
  });

  it("is written so that nothing is lost", () => {
    expect(
      decode(
        encodeProtobuf(
          sample.json,
          published("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition"),
        ),
      ),
    ).toEqual(sample.json);
  });

  it("keeps every form of what may be a schema or something else", () => {
    const schema = {
      items: { type: "string" },
      additionalProperties: false,
      properties: {
        a: { items: [{ type: "string" }, { type: "integer" }] },
        b: { additionalProperties: { type: "string" }, additionalItems: true },
        c: { dependencies: { x: ["y", "z"], y: { type: "object" } } },
      },
    };
    const definition = {
      kind: "CustomResourceDefinition",
      apiVersion: "apiextensions.k8s.io/v1",
      spec: { versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: schema } }] },
    };
    expect(
      decode(
        encodeProtobuf(
          definition,
          published("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition"),
        ),
      ),
    ).toMatchObject(definition);
  });
});

describe("the schema of definitions", () => {
  it("knows schemas within schemas, however deep", () => {
    const deep = { properties: { a: { properties: { b: { allOf: [{ not: { typo: 1, type: "object" } }] } } } } };
    const versions = [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: deep } }];
    expect(
      decodeObject(published("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition"), {
        spec: { versions },
      }).unknown,
    ).toEqual(["spec.versions[0].schema.openAPIV3Schema.properties.a.properties.b.allOf[0].not.typo"]);
  });
});
