import { expect, it } from "vitest";
import { configMaps } from "../apis/config-map.ts";
import { namespaces } from "../apis/namespace.ts";
import type { Resource } from "../apis/resource.ts";
import { admissionChain, type AdmissionPlugin, type AdmissionRequest } from "./admission.ts";

function request(resource: Resource): AdmissionRequest {
  const object = { kind: resource.kind, apiVersion: "v1", metadata: { name: "a" } };
  return {
    operation: "CREATE",
    resource,
    subresource: "",
    namespace: "",
    name: "a",
    object,
    oldObject: undefined,
    user: { username: "u", groups: [] },
    dryRun: false,
    warn: () => undefined,
    annotate: () => undefined,
  };
}

function noting(name: string, asked: string[], concerns?: AdmissionPlugin["concerns"]): AdmissionPlugin {
  return {
    name,
    ...(concerns === undefined ? {} : { concerns }),
    mutate: async ({ resource }) => {
      asked.push(`${name} mutates ${resource.plural}`);
      return undefined;
    },
    validate: async ({ resource }) => void asked.push(`${name} validates ${resource.plural}`),
  };
}

it("asks a plugin about the kinds that concern it, and one that names none about all", async () => {
  const asked: string[] = [];
  const some = noting("some", asked, ({ plural }) => plural === "namespaces");
  const chain = admissionChain([some, noting("all", asked)]);
  for (const resource of [configMaps, namespaces]) {
    await chain.mutate(request(resource));
    await chain.validate(request(resource));
  }
  expect(asked).toEqual([
    "all mutates configmaps",
    "all validates configmaps",
    "some mutates namespaces",
    "all mutates namespaces",
    "some validates namespaces",
    "all validates namespaces",
  ]);
});

it("shows each mutation to the plugins after it", async () => {
  const add = (label: string): AdmissionPlugin => ({
    name: label,
    mutate: async ({ object }) =>
      object === undefined
        ? undefined
        : { ...object, metadata: { ...object.metadata, labels: { ...object.metadata.labels, [label]: "1" } } },
  });
  const chain = admissionChain([add("a"), { name: "none" }, add("b")]);
  expect((await chain.mutate(request(configMaps)))?.metadata.labels).toEqual({ a: "1", b: "1" });
});
