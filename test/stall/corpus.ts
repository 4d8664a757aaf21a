import { configMaps as configMapKind } from "../../src/apis/config-map.ts";
import { encodeProtobuf } from "../../src/serializer/protobuf/protobuf.ts";
import type { CostlyRequest } from "./costly-request.ts";
import { reviewsOfManyRights } from "./many-rights.ts";
import { changeOfLargeDefinition, largeDefinition } from "./large-definition.ts";
import { watches } from "./watches.ts";

export const json = "application/json";
const yaml = "application/yaml";
const protobuf = "application/vnd.kubernetes.protobuf";
const megabyte = 1024 * 1024;
/** The largest body of kube-apiserver, less what stands around the repeated part. */
const maxBodyBytes = 3 * megabyte - 8192;

/** `make(0)`, `make(1)`, … joined by commas up to so many characters. */
export function repeated(characters: number, make: (index: number) => string, maximum: number = Infinity): string {
  const parts: string[] = [];
  let size = 0;
  for (let index = 0; size < characters && index < maximum; index += 1) {
    const part = make(index);
    parts.push(part);
    size += part.length + 1;
  }
  return parts.join(",");
}

export const configMaps = "/api/v1/namespaces/default/configmaps";
export const pods = "/api/v1/namespaces/default/pods";
const accessRequests = "/apis/access.pratique.dev/v1alpha1/accessrequests";
const selfReview = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
export const things = "/apis/example.com/v1/namespaces/default/things";
export const rbac = "/apis/rbac.authorization.k8s.io/v1";
const apply = "application/apply-patch+yaml";

export const configMap = (name: string, members: string): string =>
  `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"${name}"},${members}}`;
export const pod = (name: string, spec: string): string =>
  `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"${name}"},"spec":{"containers":[{"name":"c","image":"i"}],${spec}}}`;
export const thing = (name: string, spec: string): string =>
  `{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"${name}"},"spec":{${spec}}}`;

const refused = [400, 401, 403, 413, 415, 422, 429];

const doors: readonly CostlyRequest[] = [
  {
    name: "anonymous access request, YAML flow list of 3 MB",
    as: "anonymous",
    method: "POST",
    path: accessRequests,
    type: yaml,
    body: () => `metadata: {finalizers: [${repeated(maxBodyBytes, () => "a")}]}`,
    statuses: refused,
  },
  {
    name: "anonymous access request, YAML flow list of 0.5 MB",
    as: "anonymous",
    method: "POST",
    path: accessRequests,
    type: yaml,
    body: () => `metadata: {finalizers: [${repeated(megabyte / 2, () => "a")}]}`,
    statuses: refused,
  },
  {
    name: "anonymous access request, JSON with distinct finalizers of 3 MB",
    as: "anonymous",
    method: "POST",
    path: accessRequests,
    type: json,
    body: () => `{"metadata":{"finalizers":[${repeated(maxBodyBytes, (index) => `"f${index}"`)}]}}`,
    statuses: refused,
  },
  ...[80, 400].map((copies): CostlyRequest => ({
    name: `anonymous access requests that are refused, ${copies} at once`,
    as: "anonymous",
    method: "POST",
    path: accessRequests,
    type: json,
    body: () => `{"metadata":{"name":"a"},"spec":{}}`,
    copies,
    statuses: refused,
    restMs: 5000,
  })),
  ...[yaml, json].map((type): CostlyRequest => ({
    name: `SelfSubjectAccessReview of 3 MB as ${type}`,
    as: "user",
    method: "POST",
    path: selfReview,
    type,
    body: () =>
      type === yaml
        ? `spec: {resourceAttributes: {verb: [${repeated(maxBodyBytes, () => "a")}]}}`
        : `{"spec":{${repeated(maxBodyBytes, (index) => `"k${index}":0`)}}}`,
    statuses: refused,
  })),
  {
    name: "SelfSubjectAccessReviews of 3 MB in YAML, 8 at once",
    as: "user",
    method: "POST",
    path: selfReview,
    type: yaml,
    body: () => `spec: {resourceAttributes: {verb: [${repeated(maxBodyBytes, () => "a")}]}}`,
    copies: 8,
    statuses: refused,
  },
  {
    name: "SelfSubjectRulesReview with 200,000 unknown fields",
    as: "user",
    method: "POST",
    path: "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews",
    type: json,
    body: () => `{"spec":{"namespace":"default"},${repeated(maxBodyBytes, (index) => `"u${index}":0`)}}`,
    statuses: refused,
  },
];

const keys = (count: number): string => `"data":{${repeated(Infinity, (index) => `"key-${index}":"v"`, count)}}`;
/** Three times as many values as one request may hold, and nearly as many as it may. */
const many = 60_000;
const allowed = 19_900;

const writes: readonly CostlyRequest[] = [
  ...[many, allowed].flatMap((count) =>
    ([json, yaml, protobuf] as const).map((type): CostlyRequest => ({
      name: `create of a ConfigMap with ${count} keys as ${type}`,
      as: "tenant",
      method: "POST",
      path: configMaps,
      type,
      body: () => configMapAs(type, `many-${type.slice(-4)}-${count}`, count),
      statuses: count === many ? refused : [201],
    })),
  ),
  ...[many, allowed].flatMap((count) =>
    ([1, 2] as const).map((round): CostlyRequest => ({
      name: `apply of a ConfigMap with ${count} keys, ${round}`,
      as: "tenant",
      method: "PATCH",
      path: `${configMaps}/applied?fieldManager=manager-${round}&force=true`,
      type: apply,
      body: () => configMap("applied", keys(count)),
      statuses: count === many ? refused : [200, 201],
      stays: true,
    })),
  ),
  {
    name: `update of a ConfigMap with ${allowed} keys`,
    as: "tenant",
    method: "PUT",
    path: `${configMaps}/applied`,
    type: json,
    body: () => configMap("applied", keys(allowed).replaceAll('"v"', '"w"')),
    statuses: [200],
  },
  {
    name: "a label more on a ConfigMap with 19,900 keys",
    as: "tenant",
    method: "PATCH",
    path: `${configMaps}/applied`,
    type: "application/merge-patch+json",
    body: () => `{"metadata":{"labels":{"a":"b"}}}`,
    statuses: [200],
  },
  {
    name: "delete of a ConfigMap with 19,900 keys",
    as: "tenant",
    method: "DELETE",
    path: `${configMaps}/applied`,
    statuses: [200],
  },
  {
    name: "creates of ConfigMaps with 19,900 keys, 12 at once",
    as: "tenant",
    method: "POST",
    path: configMaps,
    type: json,
    body: () => `{"metadata":{"generateName":"at-once-"},${keys(allowed)}}`,
    copies: 12,
    statuses: [201],
  },
  {
    name: "creates of ConfigMaps with one value of 3 MB, 30 at once",
    as: "tenant",
    method: "POST",
    path: `${configMaps}?dryRun=All`,
    type: json,
    body: () => `{"metadata":{"generateName":"at-once-"},"binaryData":{"a":"${"A".repeat(megabyte)}"}}`,
    copies: 30,
    statuses: [201, 429],
  },
  {
    name: "create of a ConfigMap with 300,000 keys",
    as: "tenant",
    method: "POST",
    path: configMaps,
    type: json,
    body: () => configMap("too-many", `"data":{${repeated(maxBodyBytes, (index) => `"k${index}":""`)}}`),
    statuses: refused,
  },
  {
    name: "create of a ConfigMap with one value of 3 MB",
    as: "tenant",
    method: "POST",
    path: configMaps,
    type: json,
    body: () => configMap("one-value", `"data":{"a":"${"x".repeat(maxBodyBytes)}"}`),
    statuses: [201, ...refused],
  },
  {
    name: "create of a ConfigMap with one value of 3 MB, all escaped",
    as: "tenant",
    method: "POST",
    path: configMaps,
    type: json,
    body: () => configMap("escaped", String.raw`"data":{"a":"${String.raw`\u00e9`.repeat(maxBodyBytes / 6)}"}`),
    statuses: [201, ...refused],
  },
  {
    name: "create of a ConfigMap with one block of 1 MB in YAML",
    as: "tenant",
    method: "POST",
    path: configMaps,
    type: yaml,
    body: () =>
      `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: block\ndata:\n  a: |\n${"    line, of text: [with signs]\n".repeat(megabyte / 31)}`,
    statuses: [201, ...refused],
  },
  ...(["finalizers", "ownerReferences", "labels", "annotations", "managedFields"] as const).map(
    (field): CostlyRequest => ({
      name: `create of a ConfigMap with ${field} of 3 MB`,
      as: "tenant",
      method: "POST",
      path: configMaps,
      type: json,
      body: () =>
        `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"meta-${field.toLowerCase()}","${field}":${metaOf[field]}}}`,
      statuses: [201, ...refused],
    }),
  ),
  ...[20_000, 1_600].flatMap((count) =>
    (["volumes", "containers", "tolerations", "initContainers", "env", "ports"] as const).map(
      (field): CostlyRequest => ({
        name: `create of a Pod with ${count} ${field}`,
        as: "tenant",
        method: "POST",
        path: pods,
        type: json,
        body: () => podWith(field, count),
        statuses: [201, ...refused],
      }),
    ),
  ),
  {
    name: "a Role with 2,800 rules",
    as: "tenant",
    method: "POST",
    path: "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles",
    type: json,
    body: () =>
      `{"metadata":{"name":"rules"},"rules":[${repeated(Infinity, (index) => `{"verbs":["get"],"apiGroups":["g${index}"],"resources":["r"]}`, 2_800)}]}`,
    statuses: [201, ...refused],
  },
  {
    name: "JSON nested 200,000 deep",
    as: "tenant",
    method: "POST",
    path: configMaps,
    type: json,
    body: () => `{"a":${"[".repeat(200_000)}${"]".repeat(200_000)}}`,
    statuses: refused,
  },
  {
    name: "JSON of 3 MB that ends early",
    as: "tenant",
    method: "POST",
    path: configMaps,
    type: json,
    body: () => `{"data":{"a":"${"x".repeat(maxBodyBytes)}`,
    statuses: refused,
  },
  {
    name: "JSON of 3 MB with a fault at its end",
    as: "tenant",
    method: "POST",
    path: configMaps,
    type: json,
    body: () => `{"data":[${repeated(maxBodyBytes, () => "[]")},]}`,
    statuses: refused,
  },
  {
    name: "a Secret of 3 MB in base64",
    as: "tenant",
    method: "POST",
    path: "/api/v1/namespaces/default/secrets",
    type: json,
    body: () =>
      `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"large"},"data":{"a":"${"A".repeat(maxBodyBytes - (maxBodyBytes % 4))}"}}`,
    statuses: [201, ...refused],
  },
  {
    name: "an Event with 40,000 labels",
    as: "tenant",
    method: "POST",
    path: "/api/v1/namespaces/default/events",
    type: json,
    body: () =>
      `{"metadata":{"name":"e","labels":{${repeated(Infinity, (index) => `"l${index}":"v"`, 40_000)}}},"involvedObject":{"namespace":"default"},"reason":"r"}`,
    statuses: [201, ...refused],
  },
];

function configMapAs(type: typeof json | typeof yaml | typeof protobuf, name: string, count: number): string | Buffer {
  if (type === json) return configMap(name, keys(count));
  const entries = Array.from({ length: count }, (_, index) => [`key-${index}`, "v"] as const);
  if (type === protobuf) {
    const object = { apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data: Object.fromEntries(entries) };
    return Buffer.from(encodeProtobuf(object, configMapKind.schema));
  }
  const lines = entries.map(([key, value]) => `  ${key}: ${value}`);
  return `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${name}\ndata:\n${lines.join("\n")}\n`;
}

const metaOf: Readonly<Record<"finalizers" | "ownerReferences" | "labels" | "annotations" | "managedFields", string>> =
  {
    finalizers: `[${repeated(maxBodyBytes, (index) => `"example.com/f${index}"`)}]`,
    ownerReferences: `[${repeated(maxBodyBytes, (index) => `{"apiVersion":"v1","kind":"ConfigMap","name":"o${index}","uid":"u${index}"}`)}]`,
    labels: `{${repeated(maxBodyBytes, (index) => `"l${index}":"v"`)}}`,
    annotations: `{${repeated(maxBodyBytes, (index) => `"a${index}":"v"`)}}`,
    managedFields: `[{"manager":"m","operation":"Apply","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:data":{${repeated(maxBodyBytes, (index) => `"f:k${index}":{}`)}}}}]`,
  };

function podWith(
  field: "volumes" | "containers" | "tolerations" | "initContainers" | "env" | "ports",
  count: number,
): string {
  const members: Readonly<Record<typeof field, (index: number) => string>> = {
    volumes: (index) => `{"name":"v${index}","emptyDir":{}}`,
    containers: (index) => `{"name":"c${index}","image":"i"}`,
    initContainers: (index) => `{"name":"i${index}","image":"i"}`,
    tolerations: (index) => `{"key":"k${index}","operator":"Exists"}`,
    env: (index) => `{"name":"E${index}","value":"v"}`,
    ports: (index) => `{"containerPort":${(index % 60_000) + 1},"name":"p${index}"}`,
  };
  const list = `[${repeated(Infinity, members[field], count)}]`;
  const name = `many-${field.toLowerCase()}-${count}`;
  if (field === "env" || field === "ports")
    return `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"${name}"},"spec":{"containers":[{"name":"c","image":"i","${field}":${list}}]}}`;
  if (field === "containers")
    return `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"${name}"},"spec":{"containers":${list}}}`;
  return pod(name, `"${field}":${list}`);
}

const patches: readonly CostlyRequest[] = [
  {
    name: "JSON patch of 10,000 additions at the head of a list",
    as: "tenant",
    method: "PATCH",
    path: `${things}/patched`,
    type: "application/json-patch+json",
    body: () =>
      `[{"op":"add","path":"/spec/items","value":[${repeated(Infinity, () => "0", 9_900)}]},${repeated(Infinity, () => `{"op":"add","path":"/spec/items/0","value":1}`, 9_999)}]`,
    statuses: [200, ...refused],
  },
  {
    name: "JSON patch of 10,000 tests of a large value",
    as: "tenant",
    method: "PATCH",
    path: `${things}/patched`,
    type: "application/json-patch+json",
    body: () => {
      const value = `[${repeated(Infinity, () => "0", 200)}]`;
      return `[{"op":"add","path":"/spec/items","value":${value}},${repeated(maxBodyBytes, () => `{"op":"test","path":"/spec/items","value":${value}}`, 6_000)}]`;
    },
    statuses: [200, ...refused],
  },
  {
    name: "JSON patch of copies that double",
    as: "tenant",
    method: "PATCH",
    path: `${things}/patched`,
    type: "application/json-patch+json",
    body: () =>
      `[{"op":"add","path":"/spec/any","value":{"a":[1,2,3]}},${repeated(Infinity, (index) => `{"op":"copy","from":"/spec/any","path":"/spec/any/c${index}"}`, 40)}]`,
    statuses: [200, ...refused],
  },
  {
    name: "JSON patch of 10,000 copies of a large value",
    as: "tenant",
    method: "PATCH",
    path: `${things}/patched`,
    type: "application/json-patch+json",
    body: () =>
      `[{"op":"add","path":"/spec/any","value":[${repeated(Infinity, () => "0", 9_900)}]},${repeated(Infinity, (index) => `{"op":"copy","from":"/spec/any","path":"/spec/other${index % 2}"}`, 9_999)}]`,
    statuses: [200, ...refused],
  },
  ...[many, allowed].map((count): CostlyRequest => ({
    name: `merge patch with ${count} keys`,
    as: "tenant",
    method: "PATCH",
    path: `${configMaps}/base`,
    type: "application/merge-patch+json",
    body: () => `{${keys(count)}}`,
    statuses: [200, ...refused],
  })),
  ...[20_000, 1_600].map((count): CostlyRequest => ({
    name: `strategic merge patch with ${count} volumes`,
    as: "tenant",
    method: "PATCH",
    path: `${pods}/base`,
    type: "application/strategic-merge-patch+json",
    body: () => `{"spec":{"volumes":[${repeated(Infinity, (index) => `{"name":"v${index}","emptyDir":{}}`, count)}]}}`,
    statuses: [200, ...refused],
  })),
  {
    name: "strategic merge patch with 3,000 owners and an order of 3,000",
    as: "tenant",
    method: "PATCH",
    path: `${configMaps}/base`,
    type: "application/strategic-merge-patch+json",
    body: () =>
      `{"metadata":{"$setElementOrder/ownerReferences":[${repeated(Infinity, (index) => `{"uid":"u${3_000 - index}"}`, 3_000)}],"ownerReferences":[${repeated(Infinity, (index) => `{"apiVersion":"v1","kind":"ConfigMap","name":"o${index}","uid":"u${index}"}`, 3_000)}]}}`,
    statuses: [200, ...refused],
  },
  ...[20_000, 1_600].map((count): CostlyRequest => ({
    name: `apply of a Pod with ${count} volumes`,
    as: "tenant",
    method: "PATCH",
    path: `${pods}/applied?fieldManager=m`,
    type: apply,
    body: () =>
      pod("applied", `"volumes":[${repeated(Infinity, (index) => `{"name":"v${index}","emptyDir":{}}`, count)}]`),
    statuses: [200, 201, ...refused],
  })),
];

const customs: readonly CostlyRequest[] = [
  ...(["simple", "costly", "nested"] as const).map((field): CostlyRequest => ({
    name: `a custom object whose ${field} pattern meets 3 MB`,
    as: "tenant",
    method: "POST",
    path: things,
    type: json,
    body: () => thing(`pattern-${field}`, `"${field}":"${"a".repeat(maxBodyBytes)}!"`),
    statuses: [201, ...refused],
  })),
  {
    name: "a custom object with 19,900 strings for a pattern",
    as: "tenant",
    method: "POST",
    path: things,
    type: json,
    body: () => thing("patterns", `"names":[${repeated(Infinity, (index) => `"${"a".repeat(40)}${index}"`, allowed)}]`),
    statuses: [201, ...refused],
  },
  {
    name: "a custom object with a set of 19,900",
    as: "tenant",
    method: "POST",
    path: things,
    type: json,
    body: () => thing("set", `"set":[${repeated(Infinity, (index) => `"s${index}"`, allowed)}]`),
    statuses: [201, ...refused],
  },
  {
    name: "a custom object with a list of 6,500 by key",
    as: "tenant",
    method: "POST",
    path: things,
    type: json,
    body: () =>
      thing("keyed", `"keyed":[${repeated(Infinity, (index) => `{"name":"n${index}","value":${index}}`, 6_500)}]`),
    statuses: [201, ...refused],
  },
  {
    name: "a custom object that is not described, 19,900 values",
    as: "tenant",
    method: "POST",
    path: things,
    type: json,
    body: () => thing("open", `"any":{${repeated(Infinity, (index) => `"k${index}":${index}`, allowed)}}`),
    statuses: [201, ...refused],
  },
  {
    name: "a CustomResourceDefinition of 65,000 values",
    as: "tenant",
    method: "POST",
    path: "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    type: json,
    body: () => JSON.stringify(largeDefinition()),
    statuses: [201, ...refused],
    stays: true,
  },
  {
    name: "OpenAPI v2 with that definition",
    as: "tenant",
    method: "GET",
    path: "/openapi/v2",
    renewal: changeOfLargeDefinition,
    statuses: [200],
  },
  {
    name: "OpenAPI v2 with that definition as gnostic",
    as: "tenant",
    method: "GET",
    path: "/openapi/v2",
    accept: "application/com.github.proto-openapi.spec.v2@v1.0+protobuf",
    statuses: [200],
    renewal: changeOfLargeDefinition,
  },
  {
    name: "OpenAPI v3 of that group",
    as: "tenant",
    method: "GET",
    path: "/openapi/v3/apis/large.example.com/v1",
    statuses: [200, 404],
    renewal: changeOfLargeDefinition,
  },
  {
    name: "delete of that definition",
    as: "tenant",
    method: "DELETE",
    path: "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/larges.large.example.com",
    statuses: [200],
  },
  {
    name: "a custom object whose rules take their whole budget",
    as: "tenant",
    method: "POST",
    path: things,
    type: json,
    body: () => thing("ruled", `"numbers":[${repeated(Infinity, (index) => String(index), 1_000)}]`),
    statuses: [201, ...refused],
  },
];

const fieldsOf = (count: number, field: (index: number) => string): string =>
  `"type":"object","properties":{${repeated(Infinity, (index) => `"p${index}":${field(index)}`, count)}}`;

/** A definition whose spec has this schema. */
const definition = (name: string, spec: string): string =>
  `{"metadata":{"name":"${name}s.example.com"},"spec":{"group":"example.com","scope":"Namespaced","names":{"plural":"${name}s","kind":"${name.replace(/^./, (first) => first.toUpperCase())}"},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{${spec}}}}}}]}}`;

const largeDefinitions: readonly (readonly [name: string, what: string, spec: () => string])[] = [
  ["wide", "32,000 fields", () => fieldsOf(32_000, () => `{"type":"string"}`)],
  ["untyped", "64,000 fields without a type", () => fieldsOf(64_000, () => "{}")],
  ["defaulted", "16,000 defaults", () => fieldsOf(16_000, () => `{"type":"object","default":{}}`)],
  [
    "choosy",
    "30,000 alternatives",
    () => `"type":"string","anyOf":[${repeated(Infinity, (index) => `{"minLength":${index}}`, 30_000)}]`,
  ],
  [
    "ruled",
    "2,000 rules",
    () =>
      `${fieldsOf(100, () => `{"type":"integer"}`)},"x-kubernetes-validations":[${repeated(Infinity, (index) => `{"rule":"self.p${index % 100} > ${index} || self.p0 != 1"}`, 2_000)}]`,
  ],
];

const definitions: readonly CostlyRequest[] = largeDefinitions.map(([name, what, spec]) => ({
  name: `CustomResourceDefinition of ${what}`,
  as: "admin",
  method: "POST",
  path: "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
  type: json,
  body: () => definition(name, spec()),
  statuses: [201, ...refused],
}));

const large = (accept: string, name: string, copies = 1): CostlyRequest => ({
  name: `list of 9 MB as ${name}${copies > 1 ? `, ${copies} at once` : ""}`,
  as: "tenant",
  method: "GET",
  path: `${configMaps}?labelSelector=large%3Dyes`,
  accept,
  copies,
  statuses: [200, 406],
});

const reads: readonly CostlyRequest[] = [
  large(json, "JSON"),
  large(yaml, "YAML"),
  large(yaml, "YAML", 3),
  large("application/json;as=Table;v=v1;g=meta.k8s.io", "Table"),
  large("application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io", "PartialObjectMetadataList"),
  large(protobuf, "protobuf"),
  { ...large(json, "pretty JSON"), path: `${configMaps}?labelSelector=large%3Dyes&pretty=true` },
  {
    ...large("application/yaml;as=Table;v=v1;g=meta.k8s.io", "Table with objects in YAML"),
    path: `${configMaps}?includeObject=Object`,
  },
  {
    name: "list with a selector of 7 KB",
    as: "tenant",
    method: "GET",
    path: `${configMaps}?labelSelector=${encodeURIComponent(`large in (${repeated(7000, (index) => `v${index}`)})`)}`,
    statuses: [200, ...refused],
  },
];

/** Every request, in the order in which they are sent. */
export const corpus: readonly CostlyRequest[] = [
  ...doors,
  ...writes,
  ...patches,
  ...customs,
  ...definitions,
  ...reads,
  ...reviewsOfManyRights,
  ...watches,
];
