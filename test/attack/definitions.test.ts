import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { call, startAttackedHub, type ApiReply, type AttackedHub } from "./attacked-hub.ts";
import { checkHubAfterEach } from "./check-hub-after-each.ts";

let hub: AttackedHub;

beforeAll(async () => {
  hub = await startAttackedHub();
});
afterAll(() => hub.close());
checkHubAfterEach(() => hub);

const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const anything = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
const version = (name: string, storage: boolean, openAPIV3Schema: object = anything): object => ({
  name,
  served: true,
  storage,
  schema: { openAPIV3Schema },
});

interface Wanted {
  readonly group?: string;
  readonly plural?: string;
  readonly kind?: string;
  readonly name?: string;
  readonly annotations?: object;
  readonly versions?: readonly object[];
}

function body({ group = "example.com", plural = "things", kind = "Thing", ...more }: Wanted): object {
  return {
    metadata: { name: more.name ?? `${plural}.${group}`, annotations: more.annotations },
    spec: {
      group,
      scope: "Cluster",
      names: { plural, kind },
      versions: more.versions ?? [version("v1", true)],
    },
  };
}

const define = (wanted: Wanted): Promise<ApiReply> => call(hub, hub.admin, { path: definitions, body: body(wanted) });
const read = (path: string): Promise<ApiReply> => call(hub, hub.admin, { path });
const unapproved = { "api-approved.kubernetes.io": "unapproved, a test" };

async function settled(name: string): Promise<string> {
  const named = async (): Promise<string> => (await read(`${definitions}/${name}`)).text;
  await expect.poll(named).toContain('"type":"Established"');
  return named();
}

describe("a definition that wants to be something else", () => {
  test.each([
    ["the core group", { group: "" }],
    ["a group without a dot", { group: "core" }],
    ["a group that climbs", { group: "../../core.v1" }],
    ["a plural with a slash", { plural: "secrets/status" }],
    ["a plural that climbs", { plural: ".." }],
    ["a plural of another alphabet", { plural: "ѕecrets" }],
    ["a kind of the language", { kind: "__proto__" }],
    ["a plural of the language", { plural: "__proto__" }],
    ["a version of the language", { versions: [version("__proto__", true)] }],
    ["a version that climbs", { versions: [version("../v1", true)] }],
    ["the name of another", { name: "secrets.core" }],
    ["a group of Kubernetes without a word", { group: "rbac.authorization.k8s.io", plural: "bindings" }],
  ])("%s is refused", async (_what, wanted) => {
    expect((await define(wanted)).status).toBe(422);
  });

  test.each([
    ["ClusterRoles", "rbac.authorization.k8s.io", "clusterroles", "ClusterRole"],
    ["requests for certificates", "certificates.k8s.io", "certificatesigningrequests", "CertificateSigningRequest"],
    ["definitions themselves", "apiextensions.k8s.io", "customresourcedefinitions", "CustomResourceDefinition"],
  ])("%s takes nothing and, when it goes, deletes nothing", async (_what, group, plural, kind) => {
    const before = await read(`/apis/${group}/v1/${plural}?fieldSelector=metadata.name%21%3D${plural}.${group}`);
    const made = await define({ group, plural, kind, annotations: unapproved, versions: [version("v9", true)] });
    expect(made.status).toBe(201);
    expect(await settled(`${plural}.${group}`)).toMatch(/"type":"Established","status":"False"/);
    expect((await read(`/apis/${group}/v9/${plural}`)).status).toBe(404);
    await call(hub, hub.admin, { method: "DELETE", path: `${definitions}/${plural}.${group}` });
    await expect.poll(async () => (await read(`${definitions}/${plural}.${group}`)).status).toBe(404);
    const after = await read(`/apis/${group}/v1/${plural}?fieldSelector=metadata.name%21%3D${plural}.${group}`);
    const items = ({ text }: ApiReply): unknown => (JSON.parse(text) as { items: unknown }).items;
    expect(items(after)).toEqual(items(before));
  });

  test("whose status says that it is established is not believed where something is built in", async () => {
    const [group, plural] = ["rbac.authorization.k8s.io", "clusterroles"];
    await define({ group, plural, kind: "Other", annotations: unapproved });
    const status = { conditions: [{ type: "Established", status: "True" }], storedVersions: ["v1"] };
    const path = `${definitions}/${plural}.${group}`;
    const type = "application/merge-patch+json";
    await call(hub, hub.admin, { method: "PATCH", path: `${path}/status`, type, body: { status } });
    expect((await read(`/apis/${group}/v1/${plural}/cluster-admin`)).text).toContain('"kind":"ClusterRole"');
    await call(hub, hub.admin, { method: "DELETE", path });
    await expect.poll(async () => (await read(path)).status).toBe(404);
    expect((await read(`/apis/${group}/v1/${plural}/cluster-admin`)).status).toBe(200);
  });

  test("named like what every object of the language has is a kind like any other", async () => {
    for (const plural of ["constructor", "hasownproperty", "tostring"]) {
      expect((await define({ plural, kind: plural === "constructor" ? "Constructor" : `K${plural}` })).status).toBe(
        201,
      );
      await settled(`${plural}.example.com`);
      await expect.poll(async () => (await read(`/apis/example.com/v1/${plural}`)).status).toBe(200);
    }
  });
});

describe("a definition that is too much", () => {
  test("of three megabytes is refused, or taken without holding up others", async () => {
    const properties: Record<string, object> = {};
    for (let index = 0; index < 20_000; index += 1) {
      properties[`p${index}`] = { type: "string", description: "x".repeat(90) };
    }
    const schema = { type: "object", properties: { spec: { type: "object", properties } } };
    const { status } = await define({ plural: "giants", kind: "Giant", versions: [version("v1", true, schema)] });
    expect([201, 413, 422]).toContain(status);
    if (status === 201) await settled("giants.example.com");
  });

  test("of a thousand versions is served in each or refused", async () => {
    const versions = Array.from({ length: 1000 }, (_none, index) => version(`v${index + 1}`, index === 0));
    const { status } = await define({ plural: "legions", kind: "Legion", versions });
    expect(status).toBe(201);
    await settled("legions.example.com");
    await expect.poll(async () => (await read("/apis/example.com/v1000/legions")).status).toBe(200);
  });

  test("nested without end is refused", async () => {
    let schema: object = { type: "string" };
    for (let depth = 0; depth < 200; depth += 1) schema = { type: "object", properties: { a: schema } };
    const { status } = await define({ plural: "wells", kind: "Well", versions: [version("v1", true, schema)] });
    expect(status).toBe(400);
  });

  test("columns with paths that multiply show something or nothing, soon", async () => {
    const additionalPrinterColumns = [
      ".spec[*][*][*][*]",
      "...........",
      '.spec[?(@.a=="',
      ".spec.a[99999999999999]",
    ].map((jsonPath, index) => ({ name: `C${index}`, type: "string", jsonPath }));
    const one = { ...version("v1", true), additionalPrinterColumns };
    expect((await define({ plural: "columns", kind: "Column", versions: [one] })).status).toBe(201);
    await settled("columns.example.com");
    const list = Array.from({ length: 26 }, () =>
      Array.from({ length: 26 }, () => Array.from({ length: 26 }, () => 1)),
    );
    const object = { apiVersion: "example.com/v1", kind: "Column", metadata: { name: "a" }, spec: list };
    await expect
      .poll(async () => (await call(hub, hub.admin, { path: "/apis/example.com/v1/columns", body: object })).status)
      .toBe(201);
    const accept = "application/json;as=Table;g=meta.k8s.io;v=v1";
    const table = await call(hub, hub.admin, { path: "/apis/example.com/v1/columns", headers: [["Accept", accept]] });
    expect([table.status, table.text.length < 500_000]).toEqual([200, true]);
  });
});
