import { beforeAll, describe, expect, it } from "vitest";
import type { Reply } from "../kits/api-client.ts";
import { encodeProtobuf } from "../../src/serializer/protobuf/protobuf.ts";
import { published } from "../../src/apis/schemas/published.ts";
import { conditionOf, definition, establish, established, until, version } from "../kits/definitions.ts";
import { hubForFile } from "../kits/hub-for-file.ts";

const { hub, api, post } = await hubForFile();

const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const merge = "application/merge-patch+json";
const put = (path: string, body: object): Promise<Reply> => api(path, { method: "PUT", body });
const patch = (path: string, body: object): Promise<Reply> =>
  api(path, { method: "PATCH", type: merge, body: JSON.stringify(body) });
const remove = (path: string): Promise<Reply> => api(path, { method: "DELETE" });
const collection = (plural: string, group = "example.com", name = "v1"): string =>
  `/apis/${group}/${name}/namespaces/default/${plural}`;
const object = (kind: string, name: string, fields: object = {}, apiVersion = "example.com/v1"): object => ({
  apiVersion,
  kind,
  metadata: { name },
  ...fields,
});
const gone = (path: string): Promise<unknown> => until(api, path, (found) => found === undefined);

describe("a custom resource", () => {
  const widgets = collection("widgets");

  beforeAll(() => establish(api, definition()));

  it("is created, read, listed and watched", async () => {
    const stream = await api.stream(`${widgets}?watch=true`);
    const created = await post(widgets, object("Widget", "a", { spec: { size: 3 } }));
    expect([created.status, created.object()]).toMatchObject([
      201,
      {
        apiVersion: "example.com/v1",
        kind: "Widget",
        metadata: { name: "a", generation: 1 },
        spec: { size: 3, colour: "red" },
      },
    ]);
    expect(await stream.next()).toMatchObject({ type: "ADDED", object: { metadata: { name: "a" } } });
    stream.close();
    expect((await api(`${widgets}/a`)).object()).toEqual(created.object());
    expect((await api(widgets)).json()).toMatchObject({
      kind: "WidgetList",
      apiVersion: "example.com/v1",
      items: [{ kind: "Widget", apiVersion: "example.com/v1" }],
    });
  });

  it("loses unknown fields, with a warning, or is refused", async () => {
    const body = object("Widget", "b", { spec: { sized: 1 }, more: true });
    const warned = await post(widgets, body);
    expect([warned.status, warned.headers["warning"]]).toEqual([
      201,
      '299 - "unknown field \\"more\\"", 299 - "unknown field \\"spec.sized\\""',
    ]);
    expect(warned.object()["spec"]).toEqual({ colour: "red" });
    const strict = await post(`${widgets}?fieldValidation=Strict`, body);
    expect([strict.status, strict.json()["message"]]).toEqual([
      400,
      expect.stringContaining('strict decoding error: unknown field "more", unknown field "spec.sized"'),
    ]);
  });

  it("obeys its schema, and says where it does not", async () => {
    const reply = await post(widgets, object("Widget", "c", { spec: { size: -1 } }));
    expect([reply.status, reply.json()]).toMatchObject([
      422,
      {
        message:
          'Widget.example.com "c" is invalid: spec.size: Invalid value: -1: spec.size in body should be greater than or equal to 0',
        details: { group: "example.com", kind: "Widget", name: "c" },
      },
    ]);
  });

  it("says what it is", async () => {
    const nameless = await post(widgets, { metadata: { name: "d" } });
    expect([nameless.status, nameless.json()["message"]]).toEqual([
      400,
      expect.stringContaining("Object 'Kind' is missing in"),
    ]);
    const other = await post(widgets, object("Widget", "d", {}, "example.com/v2"));
    expect(other.json()["message"]).toBe(
      "the API version in the data (example.com/v2) does not match the expected API version (example.com/v1)",
    );
  });

  it("is only replaced by who knows its version", async () => {
    await post(widgets, object("Widget", "e"));
    const blind = await put(`${widgets}/e`, object("Widget", "e"));
    expect([blind.status, blind.json()["message"]]).toEqual([
      422,
      expect.stringContaining("metadata.resourceVersion: Invalid value: 0: must be specified for an update"),
    ]);
    const missing = await put(`${widgets}/none`, object("Widget", "none"));
    expect([missing.status, missing.json()["message"]]).toEqual([404, 'widgets.example.com "none" not found']);
  });

  it("has a generation that rises with everything but metadata", async () => {
    await post(widgets, object("Widget", "g"));
    const generation = async (change: object): Promise<unknown> =>
      (await patch(`${widgets}/g`, change)).object().metadata.generation;
    expect(await generation({ metadata: { labels: { a: "b" } } })).toBe(1);
    expect(await generation({ spec: { size: 1 } })).toBe(2);
    expect(await generation({ status: { phase: "x" } })).toBe(3);
  });

  it("knows no strategic merge and no protobuf", async () => {
    const strategic = await api(`${widgets}/a`, {
      method: "PATCH",
      type: "application/strategic-merge-patch+json",
      body: "{}",
    });
    expect([strategic.status, strategic.json()["message"]]).toEqual([
      415,
      "the body of the request was in an unknown format - accepted media types include: " +
        "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml",
    ]);
    const protobuf = "application/vnd.kubernetes.protobuf";
    expect((await api(widgets, { accept: protobuf })).status).toBe(406);
    expect((await api(widgets, { accept: `${protobuf},application/json` })).status).toBe(200);
    expect((await api(widgets, { method: "POST", type: protobuf, body: Buffer.from("k8s\0") })).status).toBe(415);
    const partial = await api(widgets, { accept: `${protobuf};as=PartialObjectMetadataList;g=meta.k8s.io;v=v1` });
    expect([partial.status, partial.headers["content-type"]]).toEqual([200, protobuf]);
  });

  it("is in discovery and OpenAPI, which change with it", async () => {
    const groups = await api("/apis");
    expect((await api("/apis/example.com/v1")).json()).toMatchObject({
      resources: [{ name: "widgets", singularName: "widget", kind: "Widget", namespaced: true }],
    });
    const index = (await api("/openapi/v3")).json() as { paths: Record<string, unknown> };
    expect(Object.keys(index.paths)).toContain("apis/example.com/v1");
    await establish(api, definition({ plural: "gadgets", kind: "Gadget", names: { shortNames: ["gd"] } }));
    const after = await api("/apis/example.com/v1");
    expect(after.text).toContain('"gadgets"');
    const again = await api("/apis", { headers: { "if-none-match": String(groups.headers["etag"]) } });
    expect(again.status).toBe(304);
    const v2 = (await api("/openapi/v2")).json() as { definitions: Record<string, unknown> };
    expect(Object.keys(v2.definitions)).toContain("com.example.v1.Gadget");
  });
});

describe("subresources", () => {
  const boats = collection("boats");

  beforeAll(() =>
    establish(
      api,
      definition({
        plural: "boats",
        kind: "Boat",
        versions: [
          version({
            subresources: {
              status: {},
              scale: {
                specReplicasPath: ".spec.size",
                statusReplicasPath: ".status.size",
                labelSelectorPath: ".status.selector",
              },
            },
          }),
        ],
      }),
    ),
  );

  it("keep status apart from the rest", async () => {
    const created = await post(boats, object("Boat", "s", { spec: { size: 1 }, status: { size: 9 } }));
    expect(created.object()["status"]).toBeUndefined();
    const changed = await patch(`${boats}/s/status`, {
      spec: { size: 7 },
      metadata: { labels: { a: "b" } },
      status: { size: 1 },
    });
    expect([changed.status, changed.object()]).toMatchObject([
      200,
      { metadata: { generation: 1 }, spec: { size: 1 }, status: { size: 1 } },
    ]);
    expect(changed.object().metadata.labels).toBeUndefined();
    const main = await patch(`${boats}/s`, { spec: { size: 2 }, status: { size: 8 } });
    expect(main.object()).toMatchObject({ metadata: { generation: 2 }, spec: { size: 2 }, status: { size: 1 } });
  });

  it("show and change replicas as Scale", async () => {
    await post(boats, object("Boat", "r", { spec: { size: 1 } }));
    await patch(`${boats}/r/status`, { status: { size: 1, selector: "a=b" } });
    const shown = (await api(`${boats}/r/scale`)).object();
    expect(shown).toMatchObject({
      kind: "Scale",
      apiVersion: "autoscaling/v1",
      metadata: { name: "r", namespace: "default" },
      spec: { replicas: 1 },
      status: { replicas: 1, selector: "a=b" },
    });
    const replaced = await put(`${boats}/r/scale`, { ...shown, spec: { replicas: 3 } });
    expect([replaced.status, replaced.object()["spec"]]).toEqual([200, { replicas: 3 }]);
    expect((await put(`${boats}/r/scale`, { ...shown, spec: { replicas: 4 } })).status).toBe(409);
    expect((await patch(`${boats}/r/scale`, { spec: { replicas: 5 } })).object()["spec"]).toEqual({ replicas: 5 });
    expect((await api(`${boats}/r`)).object()).toMatchObject({ metadata: { generation: 3 }, spec: { size: 5 } });
    const negative = await patch(`${boats}/r/scale`, { spec: { replicas: -1 } });
    expect([negative.status, negative.json()["message"]]).toEqual([
      422,
      expect.stringContaining(".spec.size: Invalid value: -1: should be a non-negative integer"),
    ]);
    await post(boats, object("Boat", "bare"));
    expect((await api(`${boats}/bare/scale`)).json()["message"]).toBe(
      'Internal error occurred: the spec replicas field ".spec.size" does not exist',
    );
    expect((await patch(`${boats}/bare/scale`, { spec: { replicas: 2 } })).status).toBe(200);
    const none = await api(`${boats}/bare/log`);
    expect([none.status, none.json()["message"]]).toEqual([404, 'boats.example.com "bare" not found']);
    expect((await api("/apis/example.com/v1")).json()["resources"]).toContainEqual({
      name: "boats/scale",
      singularName: "",
      namespaced: true,
      group: "autoscaling",
      version: "v1",
      kind: "Scale",
      verbs: ["get", "patch", "update"],
    });
  });
});

describe("versions of a kind", () => {
  const old = collection("cars");
  const next = collection("cars", "example.com", "v2");

  beforeAll(() =>
    establish(
      api,
      definition({
        plural: "cars",
        kind: "Car",
        versions: [
          version({ storage: false, deprecated: true }),
          version({ name: "v2" }),
          version({ name: "v3", storage: false, served: false }),
        ],
      }),
    ),
  );

  it("show the same objects", async () => {
    const created = await post(old, object("Car", "a", { spec: { size: 1 } }));
    expect([created.object().apiVersion, created.headers["warning"]]).toEqual([
      "example.com/v1",
      '299 - "example.com/v1 Car is deprecated"',
    ]);
    const read = await api(`${next}/a`);
    expect([read.object(), read.headers["warning"]]).toEqual([
      { ...created.object(), apiVersion: "example.com/v2" },
      undefined,
    ]);
    expect((await api(old)).items().map(({ apiVersion }) => apiVersion)).toEqual(["example.com/v1"]);
    expect((await api(next)).items().map(({ apiVersion }) => apiVersion)).toEqual(["example.com/v2"]);
    expect((await api(`${collection("cars", "example.com", "v3")}/a`)).status).toBe(404);
  });

  it("are watched each as it is", async () => {
    const streams = await Promise.all([old, next].map((path) => api.stream(`${path}?watch=true`)));
    for (const stream of streams) await stream.next();
    await patch(`${next}/a`, { spec: { size: 2 } });
    const seen = await Promise.all(streams.map((stream) => stream.next()));
    expect(seen.map(({ type, object: { apiVersion } }) => [type, apiVersion])).toEqual([
      ["MODIFIED", "example.com/v1"],
      ["MODIFIED", "example.com/v2"],
    ]);
    for (const stream of streams) stream.close();
  });

  it("stay readable when another becomes the one that is stored", async () => {
    const crd = (await api(`${definitions}/cars.example.com`)).json() as { spec: { versions: { storage: boolean }[] } };
    const changed = await patch(`${definitions}/cars.example.com`, {
      spec: { versions: crd.spec.versions.map((one, index) => ({ ...one, storage: index === 0 })) },
    });
    expect(changed.json()["status"]).toMatchObject({ storedVersions: ["v2", "v1"] });
    expect((await api(`${next}/a`)).object()).toMatchObject({ apiVersion: "example.com/v2", spec: { size: 2 } });
    expect((await api(`${old}/a`)).object()).toMatchObject({ apiVersion: "example.com/v1", spec: { size: 2 } });
    // Writing without a change moves an object into the version of today.
    const before = (await api(`${old}/a`)).object();
    const moved = (await put(`${old}/a`, before)).object();
    expect(moved.metadata.resourceVersion).not.toBe(before.metadata.resourceVersion);
    expect((await put(`${old}/a`, moved)).object()).toEqual(moved);
    expect((await put(`${next}/a`, { ...moved, apiVersion: "example.com/v2" })).object().metadata.resourceVersion).toBe(
      moved.metadata.resourceVersion,
    );
    const dropped = await patch(`${definitions}/cars.example.com`, {
      spec: { versions: crd.spec.versions.slice(0, 1).map((one) => ({ ...one, storage: true })) },
    });
    expect(dropped.json()["message"]).toContain(
      'status.storedVersions[0]: Invalid value: "v2": missing from spec.versions; v2 was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in v2 and removes v2 from status.storedVersions',
    );
  });
});

describe("a definition", () => {
  it("has its defaults, its conditions and a generation", async () => {
    await establish(api, definition({ plural: "plain", kind: "Plain" }));
    expect((await api(`${definitions}/plain.example.com`)).json()).toMatchObject({
      metadata: { generation: 1 },
      spec: { conversion: { strategy: "None" }, names: { singular: "plain", listKind: "PlainList" } },
      status: {
        acceptedNames: { plural: "plain", singular: "plain", kind: "Plain", listKind: "PlainList" },
        storedVersions: ["v1"],
        conditions: [
          { type: "NamesAccepted", status: "True", reason: "NoConflicts", message: "no conflicts found" },
          {
            type: "Established",
            status: "True",
            reason: "InitialNamesAccepted",
            message: "the initial names have been accepted",
          },
        ],
      },
    });
  });

  it("comes and goes in protobuf too, as typed clients want it", async () => {
    const protobuf = "application/vnd.kubernetes.protobuf";
    const crd = definition({ plural: "typed", kind: "Typed" });
    const schema = published("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition");
    const body = Buffer.from(encodeProtobuf({ ...crd }, schema));
    const made = await api(definitions, {
      method: "POST",
      type: protobuf,
      accept: `${protobuf},application/json`,
      body,
    });
    expect([made.status, made.headers["content-type"]]).toEqual([201, protobuf]);
    await established(api, "typed.example.com");
    const typed = await post(collection("typed"), object("Typed", "a", { spec: { size: 2 } }));
    expect(typed.object()["spec"]).toEqual({ size: 2, colour: "red" });
  });

  it("whose names others have is not served until they are free", async () => {
    await establish(api, definition({ plural: "ones", kind: "One", names: { shortNames: ["o"] } }));
    const second = definition({ plural: "others", kind: "One", names: { shortNames: ["o"] } });
    await post(definitions, second);
    const path = `${definitions}?fieldSelector=metadata.name=others.example.com`;
    const refused = await until(api, path, (crd) => conditionOf(crd, "NamesAccepted") !== undefined);
    expect(conditionOf(refused, "NamesAccepted")).toMatchObject({
      status: "False",
      reason: "ListKindConflict",
      message: '"OneList" is already in use',
    });
    expect((await api(collection("others"))).status).toBe(404);
    await remove(`${definitions}/ones.example.com`);
    await established(api, "others.example.com");
    expect((await api(collection("others"))).status).toBe(200);
  });

  it.each([
    [
      "another name",
      { metadata: { name: "x.example.com" } },
      'metadata.name: Invalid value: "x.example.com": must be spec.names.plural+"."+spec.group',
    ],
    [
      "no dot in its group",
      { group: "example" },
      'spec.group: Invalid value: "example": should be a domain with at least one dot',
    ],
    [
      "a strange scope",
      { scope: "World" as never },
      'spec.scope: Unsupported value: "World": supported values: "Cluster", "Namespaced"',
    ],
    [
      "two versions to store",
      { versions: [version(), version({ name: "v2" })] },
      "must have exactly one version marked as storage version",
    ],
    ["one version twice", { versions: [version(), version({ storage: false })] }, "must contain unique version names"],
    [
      "no schema",
      { versions: [version({ schema: undefined })] },
      "spec.versions[0].schema.openAPIV3Schema: Required value",
    ],
    [
      "a schema without a type",
      { versions: [version({ schema: { openAPIV3Schema: { properties: { a: {} } } } })] },
      "spec.validation.openAPIV3Schema.properties[a].type: Required value: must not be empty for specified object fields",
    ],
    [
      "preserved unknown fields",
      { spec: { preserveUnknownFields: true } },
      "spec.preserveUnknownFields: Invalid value: true: cannot set to true",
    ],
    [
      "a webhook that it has not",
      { spec: { conversion: { strategy: "Webhook" } } },
      "spec.conversion.webhookClientConfig: Required value: required when strategy is set to Webhook",
    ],
    [
      "a kind that no label could be",
      { kind: "__proto__" },
      'spec.names.kind: Invalid value: "__proto__": may have mixed case, but should otherwise match: a DNS-1035 label',
    ],
    [
      "a protected group",
      { group: "foo.k8s.io" },
      "metadata.annotations[api-approved.kubernetes.io]: Required value: protected groups must have approval annotation",
    ],
    [
      "a column without a path",
      { versions: [version({ additionalPrinterColumns: [{ name: "A", type: "string", jsonPath: "" }] })] },
      "spec.additionalPrinterColumns[0].JSONPath: Required value",
    ],
    [
      "a selectable object",
      { versions: [version({ selectableFields: [{ jsonPath: ".spec" }] })] },
      "must point to a field of type string, boolean or integer.",
    ],
    [
      "replicas outside of spec",
      {
        versions: [
          version({ subresources: { scale: { specReplicasPath: ".size", statusReplicasPath: ".status.a" } } }),
        ],
      },
      'spec.subresources.scale.specReplicasPath: Invalid value: ".size": should be a json path under .spec',
    ],
  ])("with %s is refused", async (_what, options, message) => {
    const reply = await post(definitions, definition({ plural: "wrongs", kind: "Wrong", ...options }));
    expect([reply.status, reply.json()["message"]]).toEqual([422, expect.stringContaining(message)]);
  });

  it("keeps its scope, its kind and its place", async () => {
    await establish(api, definition({ plural: "firm", kind: "Firm" }));
    const reply = await patch(`${definitions}/firm.example.com`, {
      spec: { scope: "Cluster", group: "example.org", names: { kind: "Firmer" } },
    });
    expect(reply.json()["message"]).toMatch(
      /spec\.scope: Invalid value: "Cluster": field is immutable.*spec\.names\.kind.*spec\.group/s,
    );
  });

  it("that changes ends watches, and what is missing in objects gets its default", async () => {
    const things = collection("things");
    await establish(api, definition({ plural: "things", kind: "Thing" }));
    await post(things, object("Thing", "a", { spec: { size: 1 } }));
    const stream = await api.stream(`${things}?watch=true`);
    await stream.next();
    const properties = { spec: { properties: { weight: { type: "integer", default: 5 }, size: null } } };
    const versions = [version()].map((one) => {
      const merged = structuredClone(one) as {
        schema: { openAPIV3Schema: { properties: { spec: { properties: Record<string, unknown> } } } };
      };
      Object.assign(merged.schema.openAPIV3Schema.properties.spec.properties, properties.spec.properties);
      delete merged.schema.openAPIV3Schema.properties.spec.properties["size"];
      return merged;
    });
    expect((await patch(`${definitions}/things.example.com`, { spec: { versions } })).status).toBe(200);
    expect(await stream.rest()).toEqual([]);
    expect((await api(`${things}/a`)).object()["spec"]).toEqual({ colour: "red", weight: 5 });
    expect((await api(things)).items()[0]?.["spec"]).toEqual({ colour: "red", weight: 5 });
  });
});

describe("a definition that goes", () => {
  it("waits for the finalizers of its objects, refuses new ones, and ends watches", async () => {
    const leaves = collection("leaves");
    await establish(api, definition({ plural: "leaves", kind: "Leaf" }));
    await post(leaves, object("Leaf", "free"));
    await post(leaves, { ...object("Leaf", "held"), metadata: { name: "held", finalizers: ["example.com/hold"] } });
    const stream = await api.stream(`${leaves}?watch=true`);
    const removed = await remove(`${definitions}/leaves.example.com`);
    expect([removed.status, removed.json()]).toMatchObject([
      200,
      {
        kind: "CustomResourceDefinition",
        metadata: { finalizers: ["customresourcecleanup.apiextensions.k8s.io"] },
        status: {
          conditions: expect.arrayContaining([expect.objectContaining({ type: "Terminating", status: "True" })]),
        },
      },
    ]);
    const refused = await post(leaves, object("Leaf", "late"));
    expect([refused.status, refused.json()["message"]]).toEqual([
      403,
      'leaves.example.com "late" is forbidden: create not allowed while custom resource definition is terminating',
    ]);
    expect((await remove(`${definitions}/leaves.example.com`)).status).toBe(200);
    const shown = (await api("/apis/example.com/v1")).json() as { resources: { name: string; verbs: string[] }[] };
    expect(shown.resources.find(({ name }) => name === "leaves")?.verbs).toEqual([
      "delete",
      "deletecollection",
      "get",
      "list",
      "watch",
    ]);
    await until(api, `${leaves}?fieldSelector=metadata.name=held`, (found) =>
      Object.hasOwn(found?.["metadata"] ?? {}, "deletionTimestamp"),
    );
    const last = gone(`${definitions}?fieldSelector=metadata.name=leaves.example.com`);
    await patch(`${leaves}/held`, { metadata: { finalizers: null } });
    await last;
    expect((await api(leaves)).status).toBe(404);
    const events = await stream.rest();
    expect(events.filter(({ type }) => type === "DELETED").map(({ object: { metadata } }) => metadata.name)).toEqual([
      "free",
      "held",
    ]);
    expect((await api("/apis/example.com/v1")).text).not.toContain("leaves");
    // Nobody inside goes on asking for what is gone.
    expect(hub.log.filter((entry) => entry["resource"] === "leaves")).toEqual([]);
  });

  it("is deleted by two at once", async () => {
    await establish(api, definition({ plural: "twins", kind: "Twin" }));
    await post(collection("twins"), object("Twin", "a"));
    const both = await Promise.all([1, 2].map(() => remove(`${definitions}/twins.example.com`)));
    expect(both.map(({ status }) => status)).toEqual([200, expect.toSatisfy((code) => code === 200 || code === 404)]);
    const list = `${definitions}?fieldSelector=metadata.name=twins.example.com`;
    const found = await api(list);
    // From that version on: it may have gone between the two questions.
    const { resourceVersion } = found.json()["metadata"] as { readonly resourceVersion: string };
    if (found.items().length > 0) await gone(`${list}&resourceVersion=${resourceVersion}`);
    expect((await api(collection("twins"))).status).toBe(404);
  });
});
