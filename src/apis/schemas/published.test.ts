import { describe, expect, it } from "vitest";
import { type ArraySchema, type Field, type ObjectSchema, propertyField } from "../../apimachinery/schema.ts";
import { rootDefinitions } from "../../../generate/kinds.mts";
import { builtinResources } from "../builtin.ts";
import { published, publishedMeta } from "./published.ts";

function core(type: string, key: string): Field | undefined {
  return propertyField(published(`io.k8s.api.core.v1.${type}`), key);
}

function list(type: string, key: string): ArraySchema {
  return core(type, key)?.schema as ArraySchema;
}

describe("a schema that Kubernetes publishes", () => {
  it("is the same value wherever it is asked for", () => {
    const first = published("io.k8s.api.core.v1.Pod");
    expect(published("io.k8s.api.core.v1.Pod")).toBe(first);
    expect(first.properties["spec"]?.schema).toBe(published("io.k8s.api.core.v1.PodSpec"));
  });

  it("begins with apiVersion and kind, which have no protobuf number", () => {
    const { properties } = published("io.k8s.api.core.v1.Pod");
    expect(Object.keys(properties)).toEqual(["apiVersion", "kind", "metadata", "spec", "status"]);
    expect(properties["apiVersion"]?.number).toBeUndefined();
    expect(properties["metadata"]?.number).toBe(1);
  });

  it("knows pointers, required fields and numbers of protobuf", () => {
    expect(core("PodSpec", "terminationGracePeriodSeconds")).toMatchObject({ number: 4, pointer: true });
    expect(core("PodSpec", "containers")).toMatchObject({ number: 2, required: true });
    expect(core("PodSpec", "hostNetwork")).toMatchObject({ number: 11, schema: { type: "boolean" } });
  });

  it("knows how lists and maps are merged", () => {
    expect(list("Container", "ports")).toMatchObject({
      listType: "map",
      listMapKeys: ["containerPort", "protocol"],
      patchStrategy: "merge",
      patchMergeKey: "containerPort",
    });
    expect(list("PodSpec", "volumes").patchStrategy).toBe("merge,retainKeys");
    expect(list("NodeSpec", "podCIDRs")).toMatchObject({ listType: "set", patchStrategy: "merge" });
    expect(core("PodSpec", "nodeSelector")?.schema).toMatchObject({ type: "map", mapType: "atomic" });
    expect(published("io.k8s.api.core.v1.LocalObjectReference").mapType).toBe("atomic");
  });

  it("has the defaults that are published, which may be the zero of the type", () => {
    expect(core("ContainerPort", "protocol")).toMatchObject({ default: "TCP" });
    expect(core("ContainerPort", "containerPort")).toMatchObject({ default: 0 });
    expect(core("Container", "image")).not.toHaveProperty("default");
  });

  it("has the values that there are, of a field and of the elements of a list", () => {
    expect(core("PodSpec", "restartPolicy")?.schema).toMatchObject({ enum: ["Always", "Never", "OnFailure"] });
    expect(core("PodSpec", "restartPolicy")?.description).toContain(
      'Possible enum values:\n - `"Always"`\n - `"Never"`\n - `"OnFailure"`',
    );
    const { properties } = published("io.k8s.api.certificates.v1.CertificateSigningRequestSpec");
    expect(properties["usages"]?.schema).toMatchObject({
      items: { enum: expect.arrayContaining(["digital signature"]) as unknown },
    });
  });

  it("tells where Go writes a zero although nothing is required, and where it leaves one out that is", () => {
    expect(core("Event", "reportingComponent")?.omitEmpty).toBe(false);
    const { properties } = published("io.k8s.api.admissionregistration.v1.ValidatingAdmissionPolicyBindingSpec");
    expect(properties["policyName"]).toMatchObject({ required: true, omitEmpty: true });
    expect(core("Container", "name")?.omitEmpty).toBeUndefined();
  });

  it("reads keys that are words of the data file as keys", () => {
    const props = published("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps");
    expect(props.properties["required"]).toMatchObject({ number: 23 });
    expect(props.properties["required"]?.required).toBeUndefined();
    expect(props.properties["not"]?.schema).toBe(props);
    expect(props.properties["items"]?.schema).toMatchObject({ type: "any", forms: [{ number: 1 }, { number: 2 }] });
  });

  it("knows messages around lists and around the fields of a parent", () => {
    const { properties } = published("io.k8s.api.authentication.v1.UserInfo");
    expect(properties["extra"]?.schema).toMatchObject({ type: "map", values: { type: "array", wrapped: true } });
    expect(published("io.k8s.api.core.v1.Volume").properties["volumeSource"]).toMatchObject({
      inline: true,
      number: 2,
    });
  });

  it("is known of every kind that is generated and of no other", () => {
    expect(rootDefinitions.length).toBeGreaterThan(40);
    const objects = rootDefinitions.filter((one) => !one.endsWith(".Patch"));
    expect(objects.filter((name) => Object.keys(published(name).properties).length === 0)).toEqual([]);
    expect(() => published("io.k8s.api.core.v1.Nothing")).toThrow(TypeError);
    expect(() => publishedMeta("FieldsV1")).toThrow(TypeError);
    expect(() => publishedMeta("Time")).toThrow(TypeError);
  });

  it("stands behind every built-in kind of Kubernetes", () => {
    const theirs = builtinResources.filter(({ schema }) => schema.name?.startsWith("io.k8s.") === true);
    expect(theirs.length).toBeGreaterThan(20);
    for (const { schema } of theirs) expect(schema).toBe(published(schema.name ?? ""));
  });

  it("is made when a kind is used, and not when the kinds are loaded", () => {
    const loaded = builtinResources.filter((one) => Object.getOwnPropertyDescriptor(one, "schema")?.get === undefined);
    expect(loaded.filter(({ schema }) => schema.name?.startsWith("io.k8s.") === true)).toEqual([]);
  });
});

describe("what describes a schema", () => {
  it("is text without escapes", () => {
    const described = (schema: ObjectSchema): readonly string[] =>
      Object.values(schema.properties).flatMap(({ description }) => (description === undefined ? [] : [description]));
    const texts = ["Container", "PodSpec", "Service", "ServicePort"].flatMap((type) =>
      described(published(`io.k8s.api.core.v1.${type}`)),
    );
    expect(texts.length).toBeGreaterThan(60);
    for (const text of texts) expect(text).not.toMatch(/\\[nu"]|\\`/);
  });
});
