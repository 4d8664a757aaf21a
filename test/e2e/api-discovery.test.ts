import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { apiClient, type ApiClient } from "../kits/api-client.ts";
import { startTestHub, type TestHub } from "../kits/hub.ts";

const aggregated =
  "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json";

let hub: TestHub;
let api: ApiClient;
let anonymous: ApiClient;

beforeAll(async () => {
  hub = await startTestHub({ users: { alice: [] } });
  api = apiClient(hub);
  anonymous = apiClient(hub, "anonymous");
});

afterAll(async () => {
  api.close();
  anonymous.close();
  await hub.close();
});

interface ResourceEntry {
  readonly name: string;
  readonly verbs: readonly string[];
  readonly [field: string]: unknown;
}

interface AggregatedVersion {
  readonly version: string;
  readonly freshness: string;
  readonly resources: readonly {
    readonly resource: string;
    readonly responseKind: { readonly kind: string };
    readonly scope: string;
    readonly verbs: readonly string[];
    readonly subresources?: readonly { readonly subresource: string; readonly responseKind: object }[];
  }[];
}

/** Every group version of both aggregated documents. */
async function aggregatedVersions(): Promise<readonly (AggregatedVersion & { readonly group: string })[]> {
  const documents = await Promise.all(["/api", "/apis"].map((path) => api(path, { accept: aggregated })));
  return documents.flatMap((document) => {
    const groups = document.json()["items"] as {
      readonly metadata: { readonly name?: string };
      readonly versions: readonly AggregatedVersion[];
    }[];
    return groups.flatMap(({ metadata, versions }) =>
      versions.map((version) => ({ ...version, group: metadata.name ?? "" })),
    );
  });
}

describe("legacy discovery", () => {
  it("names versions and groups, each with its preferred version", async () => {
    expect((await api("/api")).json()).toEqual({
      kind: "APIVersions",
      versions: ["v1"],
      serverAddressByClientCIDRs: [{ clientCIDR: "0.0.0.0/0", serverAddress: new URL(hub.url).host }],
    });
    const groups = (await api("/apis?timeout=32s")).json();
    expect(groups).toMatchObject({ kind: "APIGroupList", apiVersion: "v1" });
    const version = { groupVersion: "certificates.k8s.io/v1", version: "v1" };
    expect(groups["groups"]).toContainEqual({
      name: "certificates.k8s.io",
      versions: [version],
      preferredVersion: version,
    });
    expect((await api("/apis/certificates.k8s.io")).json()).toEqual({
      kind: "APIGroup",
      apiVersion: "v1",
      name: "certificates.k8s.io",
      versions: [version],
      preferredVersion: version,
    });
  });

  it("describes resources and subresources", async () => {
    const { resources, ...list } = (await api("/apis/certificates.k8s.io/v1")).json() as {
      resources: readonly ResourceEntry[];
    };
    expect(list).toEqual({ kind: "APIResourceList", apiVersion: "v1", groupVersion: "certificates.k8s.io/v1" });
    expect(resources.map(({ name }) => name)).toEqual([
      "certificatesigningrequests",
      "certificatesigningrequests/approval",
      "certificatesigningrequests/status",
    ]);
    const hash = createHash("sha256").update("certificates.k8s.io/v1/CertificateSigningRequest").digest();
    expect(resources[0]).toEqual({
      name: "certificatesigningrequests",
      singularName: "certificatesigningrequest",
      namespaced: false,
      kind: "CertificateSigningRequest",
      verbs: ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"],
      shortNames: ["csr"],
      storageVersionHash: hash.subarray(0, 8).toString("base64"),
    });
  });

  it("says 404 for groups and versions that are not there", async () => {
    for (const path of [
      "/api/v2",
      "/apis/none",
      "/apis/apps/v1",
      "/apis/certificates.k8s.io/v2",
      "/apis/constructor",
    ]) {
      const reply = await api(path);
      expect(reply.json()).toMatchObject({
        reason: "NotFound",
        message: "the server could not find the requested resource",
      });
    }
  });
});

describe("aggregated discovery", () => {
  it.each(["/api", "/apis"])("is recognisable by its Content-Type on %s", async (path) => {
    const v2 = await api(path, { accept: aggregated });
    expect(v2.headers["content-type"]).toBe("application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList");
    expect(v2.json()).toMatchObject({ kind: "APIGroupDiscoveryList", apiVersion: "apidiscovery.k8s.io/v2" });
    const beta = await api(path, { accept: aggregated.slice(aggregated.indexOf(",") + 1) });
    expect(beta.headers["content-type"]).toBe(
      "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList",
    );
  });

  it("names every resource with a whole responseKind, as legacy discovery does", async () => {
    let seen = 0;
    for (const { group, version, freshness, resources } of await aggregatedVersions()) {
      expect(freshness).toBe("Current");
      const path = group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
      const legacy = (await api(path)).json()["resources"] as ResourceEntry[];
      for (const { resource, responseKind, verbs, scope, subresources = [] } of resources) {
        const plain = legacy.find(({ name }) => name === resource);
        expect(plain).toMatchObject({ kind: responseKind.kind, verbs, namespaced: scope === "Namespaced" });
        const whole = { group, version, kind: expect.stringMatching(/^[A-Z]/) as unknown };
        expect(responseKind).toEqual(whole);
        // What is created under an object may be of another group.
        for (const one of subresources) {
          expect(one.responseKind).toEqual(
            one.subresource === "token"
              ? { group: "authentication.k8s.io", version: "v1", kind: "TokenRequest" }
              : whole,
          );
        }
        const names = subresources.map(({ subresource }) => `${resource}/${subresource}`);
        expect(legacy.map(({ name }) => name)).toEqual(expect.arrayContaining(names));
        seen += 1;
      }
    }
    expect(seen).toBeGreaterThanOrEqual(19);
  });

  it.each([
    ["/api", aggregated],
    ["/apis", aggregated],
    ["/apis", "application/json"],
    ["/api/v1", "*/*"],
    ["/openapi/v3", "application/json"],
    ["/openapi/v2", "application/json"],
  ])("of %s may be kept: ETag, Vary, 304", async (path, accept) => {
    const first = await api(path, { accept });
    const { etag } = first.headers;
    expect(etag).toBe(`"${createHash("sha512").update(first.body).digest("hex").toUpperCase()}"`);
    expect(first.headers).toMatchObject({ vary: "Accept", "cache-control": "public" });
    const again = await api(path, { accept, headers: { "if-none-match": String(etag) } });
    expect([again.status, again.text]).toEqual([304, ""]);
    expect((await api(path, { accept, headers: { "if-none-match": '"other"' } })).status).toBe(200);
  });
});

describe("OpenAPI v3", () => {
  const pathsOf = async (): Promise<Record<string, { readonly serverRelativeURL: string }>> =>
    (await api("/openapi/v3")).json()["paths"] as Awaited<ReturnType<typeof pathsOf>>;

  it("has a document for each group version, under an address that holds its hash", async () => {
    const paths = await pathsOf();
    expect(Object.keys(paths)).toEqual(expect.arrayContaining(["api/v1", "apis/rbac.authorization.k8s.io/v1"]));
    for (const [key, { serverRelativeURL }] of Object.entries(paths)) {
      expect(serverRelativeURL).toMatch(new RegExp(`^/openapi/v3/${key}\\?hash=[0-9A-F]{128}$`));
      const doc = await api(serverRelativeURL);
      expect(doc.status).toBe(200);
      expect(doc.headers).toMatchObject({ "cache-control": "public, immutable", vary: "Accept" });
      expect(Date.parse(String(doc.headers["expires"]))).toBeGreaterThan(Date.now() + 300 * 24 * 3600 * 1000);
      expect(doc.json()["openapi"]).toMatch(/^3\./);
    }
  });

  it("sends who knows another hash to the right address", async () => {
    const right = (await pathsOf())["api/v1"]?.serverRelativeURL;
    const wrong = await api("/openapi/v3/api/v1?hash=ABC");
    expect([wrong.status, wrong.headers["location"]]).toEqual([301, right]);
    const none = await api("/openapi/v3/api/v1");
    expect([none.status, none.headers["cache-control"]]).toEqual([200, "public"]);
    expect((await api("/openapi/v3/api/v9")).status).toBe(404);
  });

  it("tells kubectl which patches and which validation a kind has", async () => {
    const { paths, components } = (await api("/openapi/v3/api/v1")).json() as {
      paths: Record<string, { patch?: Record<string, unknown>; parameters?: unknown }>;
      components: { schemas: Record<string, Record<string, unknown>> };
    };
    const { patch } = paths["/api/v1/namespaces/{namespace}/configmaps/{name}"] ?? {};
    expect(patch).toMatchObject({
      "x-kubernetes-group-version-kind": { group: "", version: "v1", kind: "ConfigMap" },
      requestBody: { content: { "application/strategic-merge-patch+json": expect.anything() as unknown } },
    });
    expect(JSON.stringify(patch)).toContain("fieldValidation");
    expect(components.schemas["io.k8s.api.core.v1.ConfigMap"]?.["x-kubernetes-group-version-kind"]).toEqual([
      { group: "", version: "v1", kind: "ConfigMap" },
    ]);
  });

  it("is 406 in a form that it does not have", async () => {
    expect((await api("/openapi/v3/api/v1", { accept: "text/html" })).status).toBe(406);
  });
});

describe("OpenAPI v2", () => {
  it("is served as JSON, and in protobuf under the name that clients expect", async () => {
    expect((await api("/openapi/v2", { accept: "application/json" })).json()["swagger"]).toBe("2.0");
    const gnostic = await api("/openapi/v2", { accept: "application/com.github.proto-openapi.spec.v2@v1.0+protobuf" });
    expect(gnostic.headers["content-type"]).toBe("application/com.github.proto-openapi.spec.v2.v1.0+protobuf");
    expect(gnostic.text).toContain("2.0");
    expect((await api("/openapi/v2", { accept: "text/html" })).status).toBe(406);
  });
});

describe("health", () => {
  it.each(["/healthz", "/livez", "/readyz"])("%s is ok for anybody", async (path) => {
    const reply = await anonymous(path);
    expect([reply.status, reply.text, reply.headers["content-type"]]).toEqual([200, "ok", "text/plain; charset=utf-8"]);
  });

  it("lists its checks, leaves some out, and answers for one alone", async () => {
    const atStart = [
      "poststarthook/crd-informer-synced",
      "poststarthook/rbac/bootstrap-roles",
      "autoregister-completion",
    ];
    const shared = ["ping", "etcd", ...atStart];
    const own = ["store-writes", "controllers", "serving-certificate", "shutdown"];
    const ready = ["ping", "etcd", "etcd-readiness", ...atStart, ...own];
    const lines = (names: readonly string[]): string => names.map((name) => `[+]${name} ok\n`).join("");
    expect((await api("/readyz?verbose")).text).toBe(`${lines(ready)}readyz check passed\n`);
    expect((await api("/livez?verbose")).text).toBe(`${lines(shared)}livez check passed\n`);
    expect((await api("/healthz?verbose")).text).toBe(`${lines([...shared, "controllers"])}healthz check passed\n`);
    expect((await api("/livez?verbose&exclude=ping&exclude=none")).text).toMatch(
      /^\[\+\]ping excluded: ok\n.*warn: some health checks cannot be excluded: no matches for "none"\nlivez check passed\n$/s,
    );
    for (const name of shared) expect((await api(`/livez/${name}`)).text).toBe("ok");
    for (const path of ["/livez/", "/livez/none", "/livez/ping/", "/readyz/poststarthook"]) {
      expect(await api(path)).toMatchObject({ status: 404, text: "404 page not found\n" });
    }
    expect((await api("/readyz/ping")).text).toBe("ok");
    expect((await api("/readyz/none")).status).toBe(404);
    expect((await api("/readyz", { method: "HEAD" })).status).toBe(200);
  });
});

describe("version and metrics", () => {
  it("of a Kubernetes that kubectl 1.36 does not warn about, for anybody", async () => {
    expect((await anonymous("/version")).json()).toMatchObject({
      major: "1",
      minor: "36",
      gitVersion: expect.stringMatching(/^v1\.36\.\d+/) as unknown,
      platform: expect.stringMatching(/^linux\//) as unknown,
    });
  });

  it("are metrics for who may read them, and for nobody else", async () => {
    const metrics = await api("/metrics");
    expect(metrics.headers["content-type"]).toMatch(/^text\/plain; version=0\.0\.4/);
    expect(metrics.text).toMatch(/^apiserver_request_total\{.*\} \d+$/m);
    expect((await anonymous("/metrics")).json()).toMatchObject({
      reason: "Forbidden",
      message: 'forbidden: User "system:anonymous" cannot get path "/metrics"',
      details: {},
    });
    expect((await apiClient(hub, { token: hub.token("alice") })("/metrics")).status).toBe(403);
  });
});

describe("paths and methods", () => {
  it("that lead nowhere are 404 for who may ask, 403 for others", async () => {
    for (const path of [
      "/none",
      "/api/v1/foos",
      "/api/v1/nodes/n/nothing",
      "/api/v1/namespaces/default/nodes",
      "/apis/apps/v1/deployments",
    ]) {
      const reply = await api(path);
      expect([path, reply.status]).toEqual([path, 404]);
      expect(reply.json()).toMatchObject({
        kind: "Status",
        reason: "NotFound",
        message: "the server could not find the requested resource",
      });
    }
    expect((await anonymous("/none")).status).toBe(403);
  });

  it.each([
    ["OPTIONS", "/api/v1/configmaps"],
    ["TRACE", "/api/v1/configmaps"],
    ["FOO", "/api/v1/namespaces/default/configmaps/a"],
    ["LIST", "/api/v1/configmaps"],
    ["WATCH", "/api/v1/configmaps"],
    ["POST", "/api/v1/namespaces/default/configmaps/a"],
    ["PUT", "/api/v1/namespaces/default/configmaps"],
    ["PATCH", "/api/v1/namespaces/default/configmaps"],
    ["GET", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"],
    ["POST", "/apis/certificates.k8s.io/v1/certificatesigningrequests/a/approval"],
    ["DELETE", "/api"],
    ["POST", "/version"],
    ["PUT", "/openapi/v3"],
  ])("%s %s is 405", async (method, path) => {
    // Over HTTP/1.1 node itself refuses methods that it does not know.
    const client = ["FOO", "LIST", "WATCH"].includes(method) ? apiClient(hub, "admin", "http2") : api;
    const reply = await client(path, { method, ...(method === "POST" || method === "PUT" ? { body: {} } : {}) });
    expect(reply.status).toBe(405);
    expect(reply.json()).toMatchObject({
      kind: "Status",
      reason: "MethodNotAllowed",
      message: expect.stringMatching(/^\S/) as unknown,
    });
    if (client !== api) client.close();
  });

  it("with broken percent-encoding or a zero byte are 4xx", async () => {
    for (const path of [
      "/api/v1/%zz",
      "/api/v1/namespaces/%00/configmaps/a",
      "/api/v1/namespaces/..%2f..%2f/secrets",
      "/%2e%2e/api",
    ]) {
      const { status } = await api(path);
      expect(Math.floor(status / 100)).toBe(4);
    }
  });
});
