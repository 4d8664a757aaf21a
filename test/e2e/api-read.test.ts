import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { apiClient, type ApiClient, type Reply } from "../kits/api-client.ts";
import { startTestHub, type TestHub } from "../kits/hub.ts";

const pages = "/api/v1/namespaces/pages/configmaps";
const names = Array.from({ length: 7 }, (_, index) => `m${index}`);

let hub: TestHub;
let api: ApiClient;

beforeAll(async () => {
  hub = await startTestHub();
  api = apiClient(hub);
  await api("/api/v1/namespaces", { method: "POST", body: { metadata: { name: "pages" } } });
  await created(
    "/api/v1/namespaces/pages/configmaps",
    names.map((name, index) => ({
      metadata: { name, labels: { app: index % 2 === 0 ? "even" : "odd" } },
    })),
  );
});

afterAll(async () => {
  api.close();
  await hub.close();
});

async function created(path: string, bodies: readonly object[]): Promise<void> {
  for (const body of bodies) {
    const { status, text } = await api(path, { method: "POST", body });
    if (status !== 201) throw new Error(text);
  }
}

/** The names of a list; what the hub itself puts into every namespace left aside. */
function namesOf(reply: Reply): readonly string[] {
  return reply
    .items()
    .map(({ metadata }) => metadata.name ?? "")
    .filter((name) => name !== "kube-root-ca.crt");
}

function listMeta(reply: Reply): {
  readonly resourceVersion: string;
  readonly continue?: string;
  readonly remainingItemCount?: number;
} {
  return reply.json()["metadata"] as ReturnType<typeof listMeta>;
}

describe("lists", () => {
  it("carry kind, resourceVersion, and items that are never null", async () => {
    const empty = await api("/api/v1/namespaces/none/configmaps");
    expect(empty.json()).toEqual({
      kind: "ConfigMapList",
      apiVersion: "v1",
      metadata: { resourceVersion: expect.stringMatching(/^[1-9]\d*$/) as unknown },
      items: [],
    });
  });

  it("are in the order of names, over all namespaces or within one", async () => {
    expect(namesOf(await api(pages))).toEqual(names);
    const all = await api("/api/v1/configmaps");
    expect(all.items().map(({ metadata }) => metadata.namespace)).toEqual(
      expect.arrayContaining(["default", "kube-system", "pages"]),
    );
  });

  it("come in pages of one moment, whatever is written meanwhile", async () => {
    const [first, seen] = [await api(`${pages}?limit=3&labelSelector=app`), [] as string[]];
    seen.push(...namesOf(first));
    expect(seen).toEqual(["m0", "m1", "m2"]);
    const moment = listMeta(first).resourceVersion;
    await api(`${pages}/m5`, { method: "DELETE" });
    await created(pages, [{ metadata: { name: "m4a", labels: { app: "late" } } }]);
    for (let token = listMeta(first).continue; token !== undefined;) {
      const page = await api(`${pages}?limit=3&labelSelector=app&continue=${token}`);
      expect(listMeta(page).resourceVersion).toBe(moment);
      seen.push(...namesOf(page));
      token = listMeta(page).continue;
    }
    expect(seen).toEqual(names);
    await api(`${pages}/m4a`, { method: "DELETE" });
    await created(pages, [{ metadata: { name: "m5", labels: { app: "odd" } } }]);
  });

  it("count what remains only without selectors", async () => {
    const total = (await api(pages)).items().length;
    expect(listMeta(await api(`${pages}?limit=2`)).remainingItemCount).toBe(total - 2);
    expect(listMeta(await api(`${pages}?limit=2&labelSelector=app=even`))).not.toHaveProperty("remainingItemCount");
    expect(listMeta(await api(`${pages}?limit=100`))).not.toHaveProperty("continue");
  });

  it.each([
    ["no base64url", "a+b"],
    ["no token of ours", Buffer.from("{}").toString("base64url")],
    [
      "of another version",
      Buffer.from(JSON.stringify({ v: "meta.k8s.io/v2", rv: 1, start: "x\0" })).toString("base64url"),
    ],
    [
      "of another place",
      Buffer.from(JSON.stringify({ v: "meta.k8s.io/v1", rv: 1, start: "/registry/core/secrets/\0" })).toString(
        "base64url",
      ),
    ],
    [
      "leading upwards",
      Buffer.from(JSON.stringify({ v: "meta.k8s.io/v1", rv: 1, start: "../secrets/\0" })).toString("base64url"),
    ],
  ])("refuse a continue token that is %s", async (_title, token) => {
    const reply = await api(`${pages}?limit=1&continue=${encodeURIComponent(token)}`);
    expect(reply.status).toBe(400);
    expect(reply.json()).toMatchObject({
      reason: "BadRequest",
      message: expect.stringMatching(/^invalid continue token: continue key is not valid/) as unknown,
    });
  });

  it("ignore query parameters that nobody knows", async () => {
    expect((await api(`${pages}?timeout=32s&whatever=1&kubectl=%00`)).status).toBe(200);
  });
});

describe("reads by resourceVersion", () => {
  it("at 0, at a past version and at none give an object that is there", async () => {
    const { metadata } = (await api(`${pages}/m0`)).object();
    for (const version of ["", "?resourceVersion=0", `?resourceVersion=${metadata.resourceVersion}`]) {
      expect((await api(`${pages}/m0${version}`)).object().metadata).toEqual(metadata);
    }
  });

  it("see each write that was acknowledged before", async () => {
    for (let round = 0; round < 20; round += 1) {
      const written = await api(`${pages}/m0`, {
        method: "PATCH",
        type: "application/merge-patch+json",
        body: { data: { round: String(round) } },
      });
      const version = Number(written.object().metadata.resourceVersion);
      expect(Number(listMeta(await api(pages)).resourceVersion)).toBeGreaterThanOrEqual(version);
      expect((await api(`${pages}/m0`)).object()["data"]).toEqual({ round: String(round) });
    }
  });

  it("at an exact version show the state of that moment, also of objects deleted since", async () => {
    await created(pages, [{ metadata: { name: "z" } }]);
    const { resourceVersion } = listMeta(await api(pages));
    await api(`${pages}/z`, { method: "DELETE" });
    const then = await api(`${pages}?resourceVersion=${resourceVersion}&resourceVersionMatch=Exact`);
    expect(namesOf(then)).toEqual([...names, "z"]);
    expect(listMeta(then).resourceVersion).toBe(resourceVersion);
    const newer = await api(`${pages}?resourceVersion=${resourceVersion}&resourceVersionMatch=NotOlderThan`);
    expect(namesOf(newer)).toEqual(names);
    const limited = await api(`${pages}?resourceVersion=${resourceVersion}&limit=100`);
    expect(listMeta(limited).resourceVersion).toBe(resourceVersion);
  });

  it("ahead of the hub wait, and then are 504 with the cause that clients look for", async () => {
    const paths = [`${pages}?resourceVersion=99999999`, `${pages}/m0?resourceVersion=99999999`];
    for (const reply of await Promise.all(paths.map((path) => api(path)))) {
      expect(reply.status).toBe(504);
      expect(reply.headers["retry-after"]).toBe("1");
      expect(reply.json()).toMatchObject({
        reason: "Timeout",
        message: expect.stringMatching(/^Timeout: Too large resource version: 99999999, current: \d+$/) as unknown,
        details: {
          causes: [{ reason: "ResourceVersionTooLarge", message: "Too large resource version" }],
          retryAfterSeconds: 1,
        },
      });
    }
  });

  it.each([
    ["resourceVersion=abc", 400],
    ["resourceVersion=-1", 400],
    ["resourceVersion=007", 400],
    ["resourceVersion=1.5", 400],
    ["limit=1.5", 400],
    ["timeoutSeconds=soon", 400],
    ["limit=many", 400],
    ["resourceVersionMatch=Exact", 422],
    ["resourceVersionMatch=NotOlderThan", 422],
    ["resourceVersionMatch=Sometimes&resourceVersion=1", 422],
    ["resourceVersionMatch=Exact&resourceVersion=0", 422],
    ["resourceVersionMatch=Exact&resourceVersion=1&continue=abc", 422],
    ["sendInitialEvents=true", 422],
  ])("with ?%s are %i", async (query, code) => {
    const reply = await api(`${pages}?${query}`);
    expect(reply.status).toBe(code);
    expect(reply.json()).toMatchObject(
      code === 422
        ? { reason: "Invalid", details: { group: "meta.k8s.io", kind: "ListOptions" } }
        : { reason: "BadRequest" },
    );
  });

  it("of one name are 404 with the wording that clients know", async () => {
    expect((await api(`${pages}/none`)).json()).toEqual({
      kind: "Status",
      apiVersion: "v1",
      metadata: {},
      status: "Failure",
      message: 'configmaps "none" not found',
      reason: "NotFound",
      details: { name: "none", kind: "configmaps" },
      code: 404,
    });
    expect((await api("/apis/coordination.k8s.io/v1/namespaces/pages/leases/none")).json()).toMatchObject({
      message: 'leases.coordination.k8s.io "none" not found',
      details: { name: "none", group: "coordination.k8s.io", kind: "leases" },
    });
  });
});

describe("selectors", () => {
  it.each([
    ["app=even", ["m0", "m2", "m4", "m6"]],
    ["app==odd", ["m1", "m3", "m5"]],
    ["app!=odd", ["m0", "m2", "m4", "m6"]],
    ["app in (odd, none)", ["m1", "m3", "m5"]],
    ["app notin (odd)", ["m0", "m2", "m4", "m6"]],
    ["app", names],
    ["!app", []],
    ["app,app!=even", ["m1", "m3", "m5"]],
  ])("on labels: %s", async (selector, expected) => {
    expect(namesOf(await api(`${pages}?labelSelector=${encodeURIComponent(selector)}`))).toEqual(expected);
  });

  it.each([
    ["metadata.name=m3", ["m3"]],
    ["metadata.name!=m3", names.filter((name) => name !== "m3")],
    ["metadata.namespace==pages,metadata.name=m1", ["m1"]],
    ["metadata.namespace=other", []],
  ])("on fields: %s", async (selector, expected) => {
    expect(namesOf(await api(`${pages}?fieldSelector=${encodeURIComponent(selector)}`))).toEqual(expected);
  });

  it("on fields of the kind: the type of secrets, the node of pods, the subject of events, the signer of requests", async () => {
    const secrets = "/api/v1/namespaces/pages/secrets";
    await created(secrets, [{ metadata: { name: "a" } }, { metadata: { name: "b" }, type: "example.com/own" }]);
    expect(namesOf(await api(`${secrets}?fieldSelector=type%3Dexample.com%2Fown`))).toEqual(["b"]);
    const pods = "/api/v1/namespaces/pages/pods";
    const containers = [{ name: "c", image: "i" }];
    await created(pods, [
      { metadata: { name: "on" }, spec: { nodeName: "n1", containers } },
      { metadata: { name: "off" }, spec: { containers } },
    ]);
    expect(namesOf(await api(`${pods}?fieldSelector=spec.nodeName%3Dn1`))).toEqual(["on"]);
    expect(namesOf(await api(`${pods}?fieldSelector=status.phase%3DPending,spec.nodeName%3D`))).toEqual(["off"]);
    const events = "/api/v1/namespaces/pages/events";
    await created(events, [
      { metadata: { name: "e" }, involvedObject: { kind: "Pod", name: "on", namespace: "pages" } },
    ]);
    expect(namesOf(await api(`${events}?fieldSelector=involvedObject.name%3Don,involvedObject.kind%3DPod`))).toEqual([
      "e",
    ]);
    expect(namesOf(await api(`${events}?fieldSelector=involvedObject.name%3Doff`))).toEqual([]);
    expect(
      (await api("/apis/certificates.k8s.io/v1/certificatesigningrequests?fieldSelector=spec.signerName%3Dx")).status,
    ).toBe(200);
    expect(namesOf(await api("/api/v1/namespaces?fieldSelector=status.phase%3DTerminating"))).toEqual([]);
    expect((await api("/api/v1/nodes?fieldSelector=spec.unschedulable%3Dtrue")).status).toBe(200);
  });

  it.each([
    ["fieldSelector=data.a%3D1", '"data.a" is not a known field selector: only "metadata.name", "metadata.namespace"'],
    ["fieldSelector=metadata.name%3Ea", "metadata.name>a"],
    ["labelSelector=app%20is%20even", "unable to parse requirement: found 'is', expected: in, notin"],
    ["labelSelector=a%20in%20()%2C%3D", ""],
    ["labelSelector=-a%3Db", "-a"],
  ])("are 400 where they cannot be read: %s", async (query, part) => {
    const reply = await api(`${pages}?${query}`);
    expect(reply.status).toBe(400);
    expect(reply.json()).toMatchObject({ reason: "BadRequest", message: expect.stringContaining(part) as unknown });
  });
});
