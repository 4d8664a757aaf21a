import { beforeEach, describe, expect, it } from "vitest";
import type { ApiObject } from "../../src/apimachinery/object.ts";
import { encodeProtobuf } from "../../src/serializer/protobuf/protobuf.ts";
import { publishedMeta } from "../../src/apis/schemas/published.ts";
import type { Ask, Reply } from "../kits/api-client.ts";
import { hubForFile } from "../kits/hub-for-file.ts";

const merge = "application/merge-patch+json";

const { api, post } = await hubForFile();
let name: string;
let maps: string;
let count = 0;

beforeEach(async () => {
  count += 1;
  name = `delete-${count}`;
  await post("/api/v1/namespaces", { metadata: { name } });
  maps = `/api/v1/namespaces/${name}/configmaps`;
});

const create = (metadata: object): Promise<Reply> => post(maps, { metadata });
const remove = (path: string, ask: Ask = {}): Promise<Reply> => api(path, { ...ask, method: "DELETE" });

/** Follows one object until its state is `enough`; undefined stands for none. */
async function follow(
  collection: string,
  one: string,
  enough: (seen: ApiObject | undefined) => boolean,
): Promise<void> {
  const query = "watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
  const stream = await api.stream(`${collection}?${query}&fieldSelector=metadata.name%3D${one}`);
  let seen: ApiObject | undefined;
  for (let known = false; !known || !enough(seen);) {
    const { type, object } = await stream.next();
    if (type === "BOOKMARK") known = true;
    else seen = type === "DELETED" ? undefined : (object as ApiObject);
  }
  stream.close();
}

const gone = (collection: string, one: string): Promise<void> => follow(collection, one, (seen) => seen === undefined);
const there = (collection: string, one: string): Promise<void> => follow(collection, one, (seen) => seen !== undefined);

describe("delete", () => {
  it("answers with a Status that carries the uid, which clients wait for", async () => {
    const { metadata } = (await create({ name: "a" })).object();
    expect((await remove(`${maps}/a`)).json()).toEqual({
      kind: "Status",
      apiVersion: "v1",
      metadata: {},
      status: "Success",
      details: { name: "a", kind: "configmaps", uid: metadata.uid },
    });
    expect((await remove(`${maps}/a`)).json()).toMatchObject({ reason: "NotFound", code: 404 });
    const lease = `/apis/coordination.k8s.io/v1/namespaces/${name}/leases`;
    await post(lease, { metadata: { name: "l" } });
    expect((await remove(`${lease}/l`)).json()["details"]).toMatchObject({
      group: "coordination.k8s.io",
      kind: "leases",
    });
  });

  it("answers with the object for the kinds that do so", async () => {
    const pods = `/api/v1/namespaces/${name}/pods`;
    await post(pods, { metadata: { name: "p" }, spec: { containers: [{ name: "c", image: "i" }] } });
    expect((await remove(`${pods}/p`)).object()).toMatchObject({ kind: "Pod", metadata: { name: "p" } });
    const accounts = `/api/v1/namespaces/${name}/serviceaccounts`;
    await post(accounts, { metadata: { name: "s" } });
    expect((await remove(`${accounts}/s`)).object()).toMatchObject({ kind: "ServiceAccount" });
  });

  it.each<[string, Ask]>([
    ["JSON without kind", { body: { propagationPolicy: "Background" } }],
    ["JSON of version v1", { body: { kind: "DeleteOptions", apiVersion: "v1", propagationPolicy: "Background" } }],
    ["JSON of meta.k8s.io/v1", { body: { kind: "DeleteOptions", apiVersion: "meta.k8s.io/v1" } }],
    ["YAML", { type: "application/yaml", body: "kind: DeleteOptions\npropagationPolicy: Background\n" }],
    [
      "protobuf",
      {
        type: "application/vnd.kubernetes.protobuf",
        body: Buffer.from(
          encodeProtobuf(
            { kind: "DeleteOptions", apiVersion: "v1", propagationPolicy: "Background" },
            publishedMeta("DeleteOptions"),
          ),
        ),
      },
    ],
    ["nothing", {}],
  ])("takes options as %s", async (_title, ask) => {
    await create({ name: "a" });
    expect((await remove(`${maps}/a`, ask)).json()).toMatchObject({ status: "Success" });
  });

  it("checks the uid and the version that it was given", async () => {
    const { metadata } = (await create({ name: "a" })).object();
    const other = await remove(`${maps}/a`, { body: { preconditions: { uid: "other" } } });
    expect(other.json()).toMatchObject({
      reason: "Conflict",
      code: 409,
      message: `Operation cannot be fulfilled on ConfigMap "a": the UID in the precondition (other) does not match the UID in record (${metadata.uid}). The object might have been deleted and then recreated`,
    });
    const older = await remove(`${maps}/a`, { body: { preconditions: { resourceVersion: "1" } } });
    expect(older.json()).toMatchObject({ reason: "Conflict", code: 409 });
    const { uid, resourceVersion } = metadata;
    expect((await remove(`${maps}/a`, { body: { preconditions: { uid, resourceVersion } } })).status).toBe(200);
  });

  it.each<[string, string, Ask, number]>([
    ["an unknown policy", "", { body: { propagationPolicy: "Foo" } }, 422],
    ["two policies at once", "", { body: { propagationPolicy: "Orphan", orphanDependents: true } }, 422],
    ["an unknown policy in the query", "?propagationPolicy=Foo", {}, 422],
    ["a grace that is no number", "?gracePeriodSeconds=soon", {}, 400],
    ["a body of another kind", "", { body: { kind: "Pod", apiVersion: "v1" } }, 400],
    ["a body of another type", "", { type: "text/plain", body: "x" }, 415],
  ])("refuses %s", async (_title, query, ask, code) => {
    await create({ name: "a" });
    expect((await remove(`${maps}/a${query}`, ask)).status).toBe(code);
    expect((await api(`${maps}/a`)).status).toBe(200);
  });
});

describe("an object with finalizers", () => {
  it("is marked, stays until the last finalizer goes, and then is told as DELETED", async () => {
    const made = (await create({ name: "a", finalizers: ["x.io/a", "x.io/b"] })).object();
    const marked = await remove(`${maps}/a`);
    expect(marked.status).toBe(200);
    expect(marked.object()).toMatchObject({
      kind: "ConfigMap",
      metadata: {
        uid: made.metadata.uid,
        deletionTimestamp: expect.stringMatching(/Z$/) as unknown,
        deletionGracePeriodSeconds: 0,
        finalizers: ["x.io/a", "x.io/b"],
      },
    });
    expect((await remove(`${maps}/a`)).object().metadata).toEqual(marked.object().metadata);
    const stream = await api.stream(`${maps}?watch=true&resourceVersion=${marked.object().metadata.resourceVersion}`);
    const grown = await api(`${maps}/a`, {
      method: "PATCH",
      type: merge,
      body: { metadata: { finalizers: ["x.io/a", "x.io/b", "x.io/c"] } },
    });
    expect(grown.json()).toMatchObject({
      reason: "Invalid",
      message:
        'ConfigMap "a" is invalid: metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{"x.io/c"}',
    });
    await api(`${maps}/a`, { method: "PATCH", type: merge, body: { metadata: { finalizers: ["x.io/a"] } } });
    const last = await api(`${maps}/a`, { method: "PATCH", type: merge, body: { metadata: { finalizers: null } } });
    expect([last.status, last.object().metadata.uid]).toEqual([200, made.metadata.uid]);
    expect((await api(`${maps}/a`)).status).toBe(404);
    const [changed, ended] = [await stream.next(), await stream.next()];
    expect([changed.type, ended.type]).toEqual(["MODIFIED", "DELETED"]);
    expect(Number(ended.object.metadata.resourceVersion)).toBeGreaterThan(
      Number(changed.object.metadata.resourceVersion),
    );
    stream.close();
  });

  it("is 202 for who asked with orphanDependents=false", async () => {
    await create({ name: "a", finalizers: ["x.io/a"] });
    expect((await remove(`${maps}/a?orphanDependents=false`)).status).toBe(202);
    await create({ name: "b" });
    expect((await remove(`${maps}/b?orphanDependents=false`)).status).toBe(200);
  });
});

describe("dependents", () => {
  const owned = (owner: Reply, more: object = {}): object => {
    const { metadata } = owner.object();
    return {
      ownerReferences: [{ apiVersion: "v1", kind: "ConfigMap", name: metadata.name, uid: metadata.uid, ...more }],
    };
  };

  it("go after their owner in the background", async () => {
    const owner = await create({ name: "owner" });
    await create({ name: "child", ...owned(owner) });
    expect((await remove(`${maps}/owner`, { body: { propagationPolicy: "Background" } })).json()).toMatchObject({
      status: "Success",
    });
    await gone(maps, "child");
  });

  it("go before their owner in the foreground", async () => {
    const owner = await create({ name: "owner" });
    await create({ name: "child", finalizers: ["x.io/a"], ...owned(owner, { blockOwnerDeletion: true }) });
    const marked = await remove(`${maps}/owner`, { body: { propagationPolicy: "Foreground" } });
    expect(marked.object().metadata.finalizers).toEqual(["foregroundDeletion"]);
    await follow(maps, "child", (seen) => seen?.metadata.deletionTimestamp !== undefined);
    expect((await api(`${maps}/owner`)).status).toBe(200);
    await api(`${maps}/child`, { method: "PATCH", type: merge, body: { metadata: { finalizers: null } } });
    await gone(maps, "owner");
  });

  it("stay and forget their owner when orphaned", async () => {
    const owner = await create({ name: "owner" });
    await create({ name: "child", ...owned(owner) });
    expect((await remove(`${maps}/owner?propagationPolicy=Orphan`)).object().metadata.finalizers).toEqual(["orphan"]);
    await gone(maps, "owner");
    expect((await api(`${maps}/child`)).object().metadata).not.toHaveProperty("ownerReferences");
  });
});

describe("deletecollection", () => {
  it("deletes what matches, lists what it found, and leaves the rest", async () => {
    for (const one of ["a", "b", "c"]) await create({ name: one, labels: { l: one === "c" ? "2" : "1" } });
    const dry = await remove(`${maps}?labelSelector=l&dryRun=All`);
    expect(dry.items()).toHaveLength(3);
    const found = await remove(`${maps}?labelSelector=l%3D1`);
    expect(found.json()).toMatchObject({
      kind: "ConfigMapList",
      apiVersion: "v1",
      metadata: { resourceVersion: expect.stringMatching(/^[1-9]\d*$/) as unknown },
    });
    expect(found.items().map(({ metadata }) => metadata.name)).toEqual(["a", "b"]);
    const left = (await api(`${maps}?labelSelector=l`)).items();
    expect(left.map(({ metadata }) => metadata.name)).toEqual(["c"]);
    expect((await remove(`${maps}?fieldSelector=metadata.name%3Dnone`)).items()).toEqual([]);
  });

  it("is 405 over all namespaces and for kinds that do not offer it", async () => {
    expect((await remove("/api/v1/configmaps")).json()).toMatchObject({ reason: "MethodNotAllowed", code: 405 });
    expect((await remove("/api/v1/namespaces")).json()).toMatchObject({
      reason: "MethodNotAllowed",
      message: "the server does not allow this method on the requested resource",
    });
  });
});

describe("namespaces", () => {
  it("exist from the start with their label, and get their ServiceAccount and CA", async () => {
    const items = (await api("/api/v1/namespaces")).items().map(({ metadata }) => metadata.name);
    expect(items).toEqual(expect.arrayContaining(["default", "kube-node-lease", "kube-public", "kube-system"]));
    await there(`/api/v1/namespaces/${name}/serviceaccounts`, "default");
    await there(maps, "kube-root-ca.crt");
    expect((await api(`/api/v1/namespaces/${name}`)).object()).toMatchObject({
      metadata: { labels: { "kubernetes.io/metadata.name": name } },
      spec: { finalizers: ["kubernetes"] },
      status: { phase: "Active" },
    });
  });

  it("that are deleted empty themselves and go, and refuse new content meanwhile", async () => {
    await create({ name: "held", finalizers: ["x.io/a"] });
    await create({ name: "plain" });
    const marked = await remove(`/api/v1/namespaces/${name}`);
    expect(marked.object()).toMatchObject({
      kind: "Namespace",
      metadata: { deletionTimestamp: expect.any(String) as unknown },
      status: { phase: "Terminating" },
    });
    const late = await create({ name: "late" });
    expect(late.json()).toMatchObject({
      reason: "Forbidden",
      code: 403,
      message: `configmaps "late" is forbidden: unable to create new content in namespace ${name} because it is being terminated`,
      details: {
        name: "late",
        kind: "configmaps",
        causes: [
          {
            reason: "NamespaceTerminating",
            message: `namespace ${name} is being terminated`,
            field: "metadata.namespace",
          },
        ],
      },
    });
    await gone(maps, "plain");
    expect((await api(`/api/v1/namespaces/${name}`)).status).toBe(200);
    await api(`${maps}/held`, { method: "PATCH", type: merge, body: { metadata: { finalizers: null } } });
    await gone("/api/v1/namespaces", name);
    expect((await api(maps)).items()).toEqual([]);
  });

  it.each(["default", "kube-system", "kube-public"])("named %s stay", async (immortal) => {
    expect((await remove(`/api/v1/namespaces/${immortal}`)).json()).toMatchObject({
      reason: "Forbidden",
      message: `namespaces "${immortal}" is forbidden: this namespace may not be deleted`,
    });
  });

  it("are let go by PUT of finalize, and finalizers in the spec change nowhere else", async () => {
    const made = (await api(`/api/v1/namespaces/${name}`)).object();
    const replaced = await api(`/api/v1/namespaces/${name}`, {
      method: "PUT",
      body: { ...made, spec: { finalizers: [] } },
    });
    expect(replaced.object()["spec"]).toEqual({ finalizers: ["kubernetes"] });
    const other = await api(`/api/v1/namespaces/${name}/finalize`, {
      method: "PUT",
      body: { metadata: { name }, spec: { finalizers: ["kubernetes", "x.io/a"] } },
    });
    expect(other.object()["spec"]).toEqual({ finalizers: ["kubernetes", "x.io/a"] });
  });
});
