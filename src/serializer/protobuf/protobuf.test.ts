import { readFileSync } from "node:fs";
import * as fc from "fast-check";
import protobuf from "protobufjs/minimal.js";
import { describe, expect, it } from "vitest";
import type { ObjectSchema } from "../../apimachinery/schema.ts";
import { ProtobufError } from "./protobuf-error.ts";
import {
  type SchemaLookup,
  decodeProtobuf,
  encodeListItems,
  encodeProtobuf,
  encodeProtobufList,
  encodeWatchFrame,
  measureListItems,
  protobufKinds,
} from "./protobuf.ts";
import {
  int32,
  int64,
  list,
  object,
  partialObjectMetadataSchema,
  str,
  stringMap,
} from "../../apis/schemas/shorthand.ts";
import { builtinResources } from "../../apis/builtin.ts";
import { published, publishedMeta } from "../../apis/schemas/published.ts";

type Json = Record<string, unknown>;

interface Sample {
  readonly name: string;
  readonly json: Json;
  readonly protobuf: string;
}

const schemas: Readonly<Record<string, ObjectSchema>> = {
  Namespace: published("io.k8s.api.core.v1.Namespace"),
  Secret: published("io.k8s.api.core.v1.Secret"),
  ConfigMap: published("io.k8s.api.core.v1.ConfigMap"),
  ServiceAccount: published("io.k8s.api.core.v1.ServiceAccount"),
  Node: published("io.k8s.api.core.v1.Node"),
  Pod: published("io.k8s.api.core.v1.Pod"),
  Event: published("io.k8s.api.core.v1.Event"),
  Lease: published("io.k8s.api.coordination.v1.Lease"),
  Role: published("io.k8s.api.rbac.v1.Role"),
  RoleBinding: published("io.k8s.api.rbac.v1.RoleBinding"),
  ClusterRole: published("io.k8s.api.rbac.v1.ClusterRole"),
  ClusterRoleBinding: published("io.k8s.api.rbac.v1.ClusterRoleBinding"),
  CertificateSigningRequest: published("io.k8s.api.certificates.v1.CertificateSigningRequest"),
  SubjectAccessReview: published("io.k8s.api.authorization.v1.SubjectAccessReview"),
  LocalSubjectAccessReview: published("io.k8s.api.authorization.v1.LocalSubjectAccessReview"),
  SelfSubjectAccessReview: published("io.k8s.api.authorization.v1.SelfSubjectAccessReview"),
  SelfSubjectRulesReview: published("io.k8s.api.authorization.v1.SelfSubjectRulesReview"),
  TokenReview: published("io.k8s.api.authentication.v1.TokenReview"),
  SelfSubjectReview: published("io.k8s.api.authentication.v1.SelfSubjectReview"),
  TokenRequest: published("io.k8s.api.authentication.v1.TokenRequest"),
  Status: publishedMeta("Status"),
  DeleteOptions: publishedMeta("DeleteOptions"),
  PartialObjectMetadata: partialObjectMetadataSchema,
};

const schemaOf: SchemaLookup = (_, kind) => schemas[kind];

/** Written by Go with k8s.io/api v0.36.3: the same objects as JSON and as protobuf. */
const samples = read("protobuf-objects.json") as readonly Sample[];

/** Bodies that kubectl 1.36 sent, each with what it prints for the same object with `-o json`. */
const sent = read("protobuf-kubectl.json") as readonly Sample[];

function read(file: string): unknown {
  return JSON.parse(readFileSync(new URL(`testdata/${file}`, import.meta.url), "utf8"));
}

/** Go prints nil slices and zero times of required fields as null, and a few optional fields without `omitempty` as "". */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (typeof value !== "object" || value === null) return value;
  const kept = Object.entries(value).filter(([key, one]) => one !== null && !(one === "" && loose.has(key)));
  return Object.fromEntries(kept.map(([key, one]) => [key, withoutNulls(one)]));
}

const loose: ReadonlySet<string> = new Set(["reportingComponent", "reportingInstance", "apiGroup", "token"]);

function decoded(sample: Sample): Json {
  return decodeProtobuf(Buffer.from(sample.protobuf, "base64"), schemaOf).object;
}

function failure(body: () => unknown): string {
  try {
    body();
  } catch (error) {
    if (error instanceof ProtobufError) return error.code;
    throw error;
  }
  return "none";
}

/** An envelope made by hand, so that its contents can be anything. */
function enveloped(raw: Uint8Array, kind = "Test"): Uint8Array {
  const type = protobuf.Writer.create().uint32(10).string("v1").uint32(18).string(kind).finish();
  const unknown = protobuf.Writer.create().uint32(10).bytes(type).uint32(18).bytes(raw).finish();
  return Buffer.concat([Buffer.from("k8s\0", "latin1"), unknown]);
}

function named(name: string, properties: ObjectSchema["properties"]): ObjectSchema {
  return { type: "object", name, properties };
}

const inner: ObjectSchema = named("Inner", { a: str(1), n: int32(2) });
const test: ObjectSchema = named("Test", {
  text: str(1),
  big: int64(2),
  many: list(3, { type: "integer", format: "int64" }),
  inner: { ...object(4, inner), pointer: true },
  map: stringMap(5),
  inners: list(6, inner),
  raw: { number: 7, schema: { type: "string", format: "byte" } },
});

function decodeTest(raw: Uint8Array): Json {
  return decodeProtobuf(enveloped(raw), () => test).object;
}

const writer = (): protobuf.Writer => protobuf.Writer.create();

describe("objects that Go wrote", () => {
  it("are there for every kind", () => {
    expect(samples.length).toBeGreaterThanOrEqual(Object.keys(schemas).length * 2);
  });

  it.each(samples)("decode to what Go prints as JSON: $name", (sample) => {
    expect(withoutNulls(decoded(sample))).toEqual(withoutNulls(sample.json));
  });

  it.each(samples)("are written with the same bytes: $name", (sample) => {
    const schema = schemas[String(sample.json["kind"])];
    if (schema === undefined) throw new TypeError(sample.name);
    const bytesAgain = Buffer.from(encodeProtobuf(sample.json, schema));
    expect(bytesAgain.toString("base64")).toBe(sample.protobuf);
  });

  it("use every field of every schema", () => {
    const unused = samples
      .filter(({ name }) => name.endsWith("every field"))
      .flatMap((sample) => missing(decoded(sample), schemas[String(sample.json["kind"])], String(sample.json["kind"])));
    expect(unused).toEqual([]);
  });

  it("keep empty values of a map of bytes", () => {
    const secret = samples.find(({ name }) => name === "Secret with empty values");
    expect(secret && decoded(secret)["data"]).toEqual({ empty: "", "token-id": "YWJjZGVm" });
  });
});

/** Paths of properties that an object with every field lacks. */
function missing(value: unknown, schema: ObjectSchema | undefined, path: string): string[] {
  const object = value as Json;
  return Object.entries(schema?.properties ?? {}).flatMap(([key, field]) => {
    const own = field.schema;
    if (field.inline === true && own.type === "object") return missing(object, own, path);
    const here = object[key];
    if (here === undefined) return [`${path}.${key}`];
    if (own.type === "object") return missing(here, own, `${path}.${key}`);
    if (own.type === "array" && own.items.type === "object") {
      return missing((here as unknown[])[0], own.items, `${path}.${key}[]`);
    }
    return [];
  });
}

describe("bodies that kubectl sends", () => {
  it.each(sent)("are understood, and written alike: $name", (sample) => {
    expect(withoutNulls(decoded(sample))).toEqual(withoutNulls(sample.json));
    const again = encodeProtobuf(sample.json, schemas[String(sample.json["kind"])] ?? test);
    expect(Buffer.from(again).toString("base64")).toBe(sample.protobuf);
  });
});

describe("lists and watch frames", () => {
  it("writes a list as Go does", () => {
    const sample = read("protobuf-list.json") as Sample;
    const { metadata, items } = sample.json as { metadata: Json; items: Json[] };
    const list = { apiVersion: "v1", kind: "ConfigMapList", metadata };
    const encoded = encodeProtobufList(list, [encodeListItems(items, published("io.k8s.api.core.v1.ConfigMap"))]);
    expect(encoded.toString("base64")).toBe(sample.protobuf);
    const single = items.map((item) => encodeListItems([item], published("io.k8s.api.core.v1.ConfigMap")));
    expect(encodeProtobufList(list, single).equals(encoded)).toBe(true);
  });

  it("measures the items of a list before they are encoded", () => {
    const { items } = (read("protobuf-list.json") as Sample).json as { items: Json[] };
    const { bytes, encoded } = measureListItems(items, published("io.k8s.api.core.v1.ConfigMap"));
    expect(bytes).toBe(encodeListItems(items, published("io.k8s.api.core.v1.ConfigMap")).length);
    expect(encoded()).toEqual(encodeListItems(items, published("io.k8s.api.core.v1.ConfigMap")));
  });

  it("writes a watch event as Go does", () => {
    const sample = read("protobuf-watch.json") as Sample;
    const frame = encodeWatchFrame(sample.name, encodeProtobuf(sample.json, published("io.k8s.api.core.v1.ConfigMap")));
    expect(Buffer.from(frame).toString("base64")).toBe(sample.protobuf);
  });
});

describe("the wire", () => {
  it("takes repeated scalars packed and unpacked, in any mixture", () => {
    const packed = writer().uint32(24).int64(1).uint32(26).bytes(writer().int64(2).int64(-3).finish()).finish();
    expect(decodeTest(packed)["many"]).toEqual([1, 2, -3]);
  });

  it("merges a message that comes twice, and the last scalar wins", () => {
    const raw = writer()
      .uint32(34)
      .bytes(writer().uint32(10).string("x").finish())
      .uint32(34)
      .bytes(writer().uint32(16).int32(7).finish())
      .uint32(10)
      .string("first")
      .uint32(10)
      .string("")
      .finish();
    expect(decodeTest(raw)).toEqual({ apiVersion: "v1", kind: "Test", inner: { a: "x", n: 7 } });
  });

  it("skips unknown fields of every wire type, groups included", () => {
    const raw = writer()
      .uint32((90 << 3) | 0)
      .int64(-1)
      .uint32((91 << 3) | 1)
      .double(1)
      .uint32((92 << 3) | 2)
      .string("x")
      .uint32((93 << 3) | 3)
      .uint32(8)
      .uint32(1)
      .uint32((93 << 3) | 4)
      .uint32((94 << 3) | 5)
      .fixed32(1)
      .uint32(10)
      .string("kept")
      .finish();
    expect(decodeTest(raw)["text"]).toBe("kept");
  });

  it("gives entries without key or value their zero", () => {
    expect(decodeTest(writer().uint32(42).bytes(new Uint8Array()).finish())["map"]).toEqual({ "": "" });
  });

  it("keeps a hostile map key as an own property and leaves prototypes alone", () => {
    const entry = writer().uint32(10).string("__proto__").uint32(18).string("x").finish();
    const map = decodeTest(writer().uint32(42).bytes(entry).finish())["map"];
    expect(Object.entries(map as Json)).toEqual([["__proto__", "x"]]);
    expect(Object.getPrototypeOf(map)).toBe(Object.prototype);
  });

  it("keeps a zero that Go writes although nothing requires it, and leaves out one that Go leaves out although it is required", () => {
    const zeros = (apiVersion: string, kind: string, name: string): Json => {
      const schema = published(name);
      return decodeProtobuf(encodeProtobuf({ apiVersion, kind }, schema), () => schema).object;
    };
    const event = zeros("v1", "Event", "io.k8s.api.core.v1.Event");
    expect(event).toMatchObject({ reportingComponent: "", reportingInstance: "" });
    expect(event).not.toHaveProperty("reason");
    const binding = "io.k8s.api.admissionregistration.v1.ValidatingAdmissionPolicyBinding";
    const { spec } = zeros("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicyBinding", binding);
    expect(spec).toEqual({});
  });

  it("takes an envelope without a type", () => {
    const bare = Buffer.concat([Buffer.from("k8s\0", "latin1"), writer().uint32(18).bytes(new Uint8Array()).finish()]);
    expect(decodeProtobuf(bare, () => test)).toEqual({ apiVersion: "", kind: "", object: {} });
  });
});

describe("hostile bytes", () => {
  it.each<readonly [string, string, Uint8Array]>([
    ["no prefix", "magic", Buffer.from("{}")],
    ["nothing", "magic", new Uint8Array()],
    ["a truncated text", "malformed", enveloped(Uint8Array.of(10, 5, 65))],
    ["a truncated tag", "malformed", enveloped(Uint8Array.of(0x80))],
    ["a varint of eleven bytes", "malformed", enveloped(Uint8Array.of(16, ...Array<number>(10).fill(0xff), 1))],
    ["field number 0", "malformed", enveloped(Uint8Array.of(2, 0))],
    ["an end without a group", "malformed", enveloped(Uint8Array.of(((90 << 3) & 127) | 4 | 0x80, 5))],
    ["a group that never ends", "malformed", enveloped(Uint8Array.of(0xd3, 0x05, 8, 1))],
    ["groups nested a thousand times", "malformed", enveloped(Buffer.alloc(2000, Buffer.from([0xd3, 0x05])))],
    ["a nested message longer than its parent", "malformed", enveloped(Uint8Array.of(34, 9, 10, 1, 65))],
    ["text where a number belongs", "wire-type", enveloped(Uint8Array.of(18, 1, 65))],
    ["a number where text belongs", "wire-type", enveloped(Uint8Array.of(8, 1))],
    ["text that is not UTF-8", "utf8", enveloped(Uint8Array.of(10, 2, 0xc3, 0x28))],
    ["an overlong encoding", "utf8", enveloped(Uint8Array.of(10, 2, 0xc0, 0x80))],
    ["a surrogate", "utf8", enveloped(Uint8Array.of(10, 3, 0xed, 0xa0, 0x80))],
    ["half a million empty messages", "too-large", enveloped(Buffer.alloc(1_000_000, Buffer.from([50, 0])))],
    ["more than the limit", "too-large", Buffer.alloc(3 * 1024 * 1024 + 1)],
  ])("%s is refused as %s", (_, code, body) => {
    expect(failure(() => decodeProtobuf(body, () => test))).toBe(code);
  });

  it("refuses an encoded envelope", () => {
    const body = Buffer.concat([enveloped(new Uint8Array()), Uint8Array.of(26, 4), Buffer.from("gzip")]);
    expect(failure(() => decodeProtobuf(body, () => test))).toBe("unsupported");
  });

  it("refuses a kind that is not built in", () => {
    expect(failure(() => decodeProtobuf(enveloped(new Uint8Array(), "Nothing"), schemaOf))).toBe("unknown-kind");
  });

  it.each<readonly [string, string]>([
    ["not JSON", "{"],
    ["deep nesting", "[".repeat(501) + "]".repeat(501)],
    ["protobuf inside protobuf", "k8s\0"],
  ])("refuses raw fields that hold %s", (_, text) => {
    const raw = writer().uint32(10).bytes(Buffer.from(text, "latin1")).finish();
    const entry = writer().uint32(58).bytes(raw).finish();
    const meta = writer().uint32(138).bytes(entry).finish();
    const body = enveloped(writer().uint32(10).bytes(meta).finish(), "Secret");
    expect(failure(() => decodeProtobuf(body, schemaOf))).toBe("value");
  });

  it("answers any damage to a real object with an object or a ProtobufError", () => {
    const pods = samples.filter(({ name }) => /^(Pod|CertificateSigning|Event)/.test(name));
    fc.assert(
      fc.property(
        fc.constantFrom(...pods),
        fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 4 }),
        fc.nat(),
        (sample, edits, cut) => {
          const bytesOf = Buffer.from(sample.protobuf, "base64");
          for (const [at, byte] of edits) bytesOf[4 + (at % (bytesOf.length - 4))] = byte;
          const body = cut % 3 === 0 ? bytesOf.subarray(0, cut % bytesOf.length) : bytesOf;
          expect(failure(() => decodeProtobuf(body, schemaOf))).toBeTypeOf("string");
        },
      ),
      { numRuns: 200 },
    );
  });

  it("answers random bytes with an object or a ProtobufError", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), fc.constantFrom(...Object.keys(schemas)), (raw, kind) => {
        expect(failure(() => decodeProtobuf(enveloped(raw, kind), schemaOf))).toBeTypeOf("string");
      }),
      { numRuns: 200 },
    );
  });
});

describe("encoding", () => {
  it.each<readonly [string, Json]>([
    ["a number where text belongs", { text: 1 }],
    ["text where a list belongs", { many: "1" }],
    ["a list where a map belongs", { map: [] }],
    ["a fraction", { big: 1.5 }],
    ["an int32 out of range", { inner: { n: 2 ** 31 } }],
    ["bytes that are not base64", { raw: "%%" }],
  ])("refuses %s", (_, object) => {
    expect(failure(() => encodeProtobuf({ apiVersion: "v1", kind: "Test", ...object }, test))).toBe("value");
  });

  it("refuses an object that does not say its kind", () => {
    expect(failure(() => encodeProtobuf({ text: "x" }, test))).toBe("value");
  });

  it("gives back what was encoded", () => {
    const arbitrary = fc.record(
      {
        text: fc.string({ unit: "grapheme", minLength: 1 }),
        big: fc.maxSafeInteger().filter((value) => value !== 0),
        many: fc.array(fc.maxSafeInteger(), { minLength: 1 }),
        inner: fc.constant({ a: "x", n: -1 }),
        map: fc.dictionary(fc.string(), fc.string(), { minKeys: 1, noNullPrototype: true }),
        raw: fc.uint8Array({ minLength: 1 }).map((value) => Buffer.from(value).toString("base64")),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(arbitrary, (fields) => {
        const whole = { apiVersion: "v1", kind: "Test", ...fields };
        expect(decodeProtobuf(encodeProtobuf(whole, test), () => test).object).toEqual(whole);
      }),
      { numRuns: 200 },
    );
  });
});

describe("the kinds that have protobuf", () => {
  const schemaOf = protobufKinds(builtinResources);

  it("are all built-in resources, with the schema that OpenAPI shows", () => {
    expect(schemaOf("v1", "Pod")).toBe(published("io.k8s.api.core.v1.Pod"));
    expect(builtinResources.length).toBeGreaterThan(10);
    for (const { group, version, kind, schema } of builtinResources) {
      expect(schemaOf(group === "" ? version : `${group}/${version}`, kind)).toBe(schema);
    }
  });

  it("include DeleteOptions under any group version", () => {
    expect(schemaOf("rbac.authorization.k8s.io/v1", "DeleteOptions")).toBe(publishedMeta("DeleteOptions"));
  });

  it("are told apart by group and version", () => {
    expect(schemaOf("apps/v1", "Pod")).toBeUndefined();
    expect(schemaOf("v2", "Pod")).toBeUndefined();
  });

  it("do not include custom kinds", () => {
    const [first] = builtinResources;
    if (first === undefined) throw new TypeError("no resources");
    const custom = {
      ...first,
      group: "example.com",
      kind: "Widget",
      schema: { type: "object", properties: {} } as const,
    };
    expect(protobufKinds([custom])("example.com/v1", "Widget")).toBeUndefined();
  });
});
