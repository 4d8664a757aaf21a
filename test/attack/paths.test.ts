import * as fc from "fast-check";
import type { ClientHttp2Session } from "node:http2";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openHttp2, openTls, parseReply, requestBytes, sendHttp2, speak, type Dial } from "../kits/wire.ts";
import { call, startAttackedHub, type AttackedHub } from "./attacked-hub.ts";

const marker = "closed-marker-5c1e";

let hub: AttackedHub;
let session: ClientHttp2Session;
let guest: Dial;
/** Texts that no reply to the guest may ever hold: what is in the closed namespace, by content and by uid. */
let forbidden: readonly string[];

beforeAll(async () => {
  hub = await startAttackedHub();
  const make = async (path: string, body: object): Promise<string> => {
    const reply = await call(hub, hub.admin, { path, body });
    expect([path, reply.status]).toEqual([path, 201]);
    return (reply.json["metadata"] as { readonly uid: string }).uid;
  };
  const rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces";
  const guestSubject = [{ kind: "User", name: "guest", apiGroup: "rbac.authorization.k8s.io" }];
  const roleRef = (kind: string, name: string): object => ({ apiGroup: "rbac.authorization.k8s.io", kind, name });
  await make("/api/v1/namespaces", { metadata: { name: "open" } });
  const closed = await make("/api/v1/namespaces", { metadata: { name: "closed", labels: { say: marker } } });
  await make("/api/v1/namespaces/open/secrets", { metadata: { name: "mine" }, stringData: { a: "b" } });
  await make("/api/v1/namespaces/closed/secrets", { metadata: { name: "public" } });
  const secret = await make("/api/v1/namespaces/closed/secrets", {
    metadata: { name: "private", labels: { say: marker } },
    stringData: { a: marker },
  });
  const config = await make("/api/v1/namespaces/closed/configmaps", {
    metadata: { name: "private" },
    data: { a: marker },
  });
  // Everything in one namespace, and everything about one Secret in another.
  await make(`${rbac}/open/rolebindings`, {
    metadata: { name: "all" },
    subjects: guestSubject,
    roleRef: roleRef("ClusterRole", "cluster-admin"),
  });
  const role = await make(`${rbac}/closed/roles`, {
    metadata: { name: "one" },
    rules: [{ apiGroups: [""], resources: ["secrets"], resourceNames: ["public"], verbs: ["*"] }],
  });
  await make(`${rbac}/closed/rolebindings`, {
    metadata: { name: "one" },
    subjects: guestSubject,
    roleRef: roleRef("Role", "one"),
  });
  guest = hub.as("guest");
  session = await openHttp2(hub.target, guest);
  forbidden = [marker, Buffer.from(marker).toString("base64"), closed, secret, config, role];
});
afterAll(async () => {
  session.destroy();
  await hub.close();
});

/** What the guest gets to see of a reply; of a stream, what is there at once. */
function peek(
  method: string,
  path: string,
  body?: string,
): Promise<{ readonly status: number; readonly text: string }> {
  return new Promise((resolve) => {
    const stream = session.request(
      { ":method": method, ":path": path, ...(body === undefined ? {} : { "content-type": "application/json" }) },
      { endStream: body === undefined },
    );
    let status = 0;
    const chunks: Buffer[] = [];
    stream.on("response", (headers) => {
      status = headers[":status"] ?? 0;
      // A watch begins with what exists; whatever it sends at once is here before the answer to a ping.
      if (headers["content-length"] === undefined) session.ping(() => session.ping(() => stream.close()));
    });
    stream.on("data", (chunk: Buffer) => chunks.push(chunk));
    stream.on("error", () => undefined);
    stream.once("close", () => resolve({ status, text: Buffer.concat(chunks).toString() }));
    if (body !== undefined) stream.end(body);
  });
}

function leaks(text: string): readonly string[] {
  return forbidden.filter((one) => text.includes(one));
}

test("the guest sees what is the guest's, and the admin what is not", async () => {
  expect((await peek("GET", "/api/v1/namespaces/open/secrets/mine")).status).toBe(200);
  expect((await peek("GET", "/api/v1/namespaces/open")).status).toBe(200);
  expect((await peek("GET", "/api/v1/namespaces/closed/secrets/public")).status).toBe(200);
  expect((await peek("GET", "/api/v1/namespaces/closed/secrets?fieldSelector=metadata.name%3Dpublic")).status).toBe(
    200,
  );
  expect(
    (await peek("GET", "/api/v1/namespaces/closed/secrets?watch=true&fieldSelector=metadata.name%3Dpublic")).status,
  ).toBe(200);
  const admin = await call(hub, hub.admin, { path: "/api/v1/namespaces/closed/secrets" });
  expect(leaks(admin.text)).not.toEqual([]);
});

/** Ways to ask for one thing and be served another, if the hub let them. */
const tricks: readonly (readonly [method: string, path: string])[] = [
  // A namespace's name in the place of authorization, another one in the place of the object.
  ["GET", "/api/v1/namespaces/open/namespaces/closed"],
  ["GET", "/api/v1/namespaces/open/namespaces"],
  ["DELETE", "/api/v1/namespaces/open/namespaces/closed?dryRun=All"],
  ["DELETE", "/api/v1/namespaces/open/namespaces?dryRun=All"],
  ["GET", "/api/v1/namespaces/open/namespaces/closed/status"],
  ["PUT", "/api/v1/namespaces/open/namespaces/closed/finalize?dryRun=All"],
  ["GET", "/api/v1/namespaces/open/nodes"],
  ["GET", "/apis/rbac.authorization.k8s.io/v1/namespaces/open/clusterroles/cluster-admin"],
  ["GET", "/apis/rbac.authorization.k8s.io/v1/namespaces/open/clusterroles"],
  ["GET", "/apis/certificates.k8s.io/v1/namespaces/open/certificatesigningrequests"],
  // A name in the path for authorization, the whole namespace for the answer.
  ["GET", "/api/v1/namespaces/closed/secrets/public?watch=true"],
  ["GET", "/api/v1/namespaces/closed/secrets/public?watch=1&fieldSelector=metadata.name%3Dprivate"],
  ["GET", "/api/v1/namespaces/closed/secrets/public?fieldSelector=metadata.name%3Dprivate"],
  ["LIST", "/api/v1/namespaces/closed/secrets/public"],
  ["list", "/api/v1/namespaces/closed/secrets/public"],
  ["WATCH", "/api/v1/namespaces/closed/secrets/public"],
  ["WATCH", "/api/v1/namespaces/closed/secrets/public?fieldSelector=metadata.name%3Dprivate"],
  ["DELETECOLLECTION", "/api/v1/namespaces/closed/secrets/public?dryRun=All"],
  ["DeleteCollection", "/api/v1/namespaces/closed/secrets/public?dryRun=All"],
  // A selector that says one name for authorization and means another.
  [
    "GET",
    "/api/v1/namespaces/closed/secrets?fieldSelector=metadata.name%3Dpublic&fieldSelector=metadata.name%3Dprivate",
  ],
  ["GET", "/api/v1/namespaces/closed/secrets?fieldSelector=metadata.name%3Dpublic&fieldSelector="],
  ["GET", "/api/v1/namespaces/closed/secrets?fieldSelector=metadata.name%21%3Dpublic"],
  ["GET", "/api/v1/namespaces/closed/secrets?fieldSelector=metadata.name%3D%3Dpublic,metadata.name%3Dprivate"],
  ["GET", "/api/v1/namespaces/closed/secrets?fieldSelector=metadata.namespace%3Dclosed,metadata.name%21%3Dpublic"],
  ["GET", "/api/v1/namespaces/closed/secrets?fieldselector=metadata.name%3Dpublic"],
  ["GET", "/api/v1/namespaces/closed/secrets?watch=true&fieldSelector=metadata.name%3Dpublic&resourceVersion=x"],
  ["GET", "/api/v1/secrets?fieldSelector=metadata.name%3Dpublic"],
  ["GET", "/api/v1/secrets?fieldSelector=metadata.namespace%3Dopen"],
  ["DELETE", "/api/v1/namespaces/closed/secrets?dryRun=All"],
  ["DELETE", "/api/v1/namespaces/closed/secrets?dryRun=All&fieldSelector=metadata.name%21%3Dpublic"],
  // Dots, slashes and their encodings.
  ["GET", "/api/v1/namespaces/open/../closed/secrets"],
  ["GET", "/api/v1/namespaces/open/secrets/../../closed/secrets"],
  ["GET", "/api/v1/namespaces/open/%2e%2e/closed/secrets/private"],
  ["GET", "/api/v1/namespaces/open%2f..%2fclosed/secrets/private"],
  ["GET", "/api/v1/namespaces/open%2F%2E%2E%2Fclosed/secrets/private"],
  ["GET", "/api/v1/namespaces/closed%2Fsecrets%2Fprivate"],
  ["GET", "/api/v1/namespaces/open/secrets/..%2f..%2fclosed%2fsecrets%2fprivate"],
  ["GET", "/api/v1/namespaces/open/secrets/%252e%252e%252fclosed"],
  ["GET", "/api/v1/namespaces/closed/secrets/./private"],
  ["GET", "/api/v1/namespaces/closed/secrets/public/../private"],
  ["GET", "/api/v1/namespaces/closed/secrets/public%00/../private"],
  ["GET", "/api/v1/namespaces/closed/secrets/public;/private"],
  ["GET", "/api/v1/namespaces/closed/secrets/public?/private"],
  ["GET", "/api/v1/namespaces/open;x/../closed/secrets"],
  ["GET", "/api/v1/namespaces/closed;/secrets"],
  ["GET", "/api/v1/namespaces/closed/secrets;a=b"],
  ["GET", "/api/v1/namespaces/closed/secrets/private;a=b"],
  ["GET", "//api/v1/namespaces/closed/secrets"],
  ["GET", "/api//v1///namespaces/closed/secrets/"],
  ["GET", "/api/v1/namespaces/closed/secrets/private/"],
  ["GET", "/api/v1/namespaces/closed/secrets/private//"],
  ["GET", "/api/v1/namespaces//closed/secrets"],
  ["GET", "/api/v1/namespaces//secrets"],
  ["GET", "/api/v1//secrets"],
  ["GET", "/./api/v1/namespaces/closed/secrets"],
  ["GET", "/version/../api/v1/namespaces/closed/secrets"],
  ["GET", "/version/%2e%2e/api/v1/secrets"],
  ["GET", "/healthz/../metrics"],
  ["GET", "/openapi/../metrics"],
  ["GET", "/api/../metrics"],
  ["GET", "/apis/..%2fmetrics"],
  ["GET", "/API/v1/namespaces/closed/secrets"],
  ["GET", "/api/V1/namespaces/closed/secrets"],
  ["GET", "/api/v1/NAMESPACES/closed/secrets"],
  ["GET", "/api/v1/namespaces/CLOSED/secrets"],
  ["GET", "/api/v1/namespaces/closed/SECRETS"],
  ["GET", "/api/v1/namespaces/closed/Secrets/private"],
  ["GET", "/api/v1/namespaces/closed/secret/private"],
  ["GET", "/apis//v1/namespaces/closed/secrets"],
  ["GET", "/apis/core/v1/namespaces/closed/secrets"],
  ["GET", "/apis/v1/namespaces/closed/secrets"],
  ["GET", "/apis/%20/v1/namespaces/closed/secrets"],
  ["GET", "/api/v1/watch/namespaces/closed/secrets"],
  ["GET", "/api/v1/watch/secrets"],
  ["GET", "/api/v1/proxy/namespaces/closed/secrets/private"],
  ["GET", "/api/v1/namespaces/closed/secrets/private/status"],
  ["GET", "/api/v1/namespaces/closed/secrets/private/constructor"],
  ["GET", "/api/v1/namespaces/closed/secrets/private/__proto__"],
  ["GET", "/api/v1/namespaces/closed/secrets/public/private"],
  ["GET", "/api/v1/namespaces/open/secrets/mine/namespaces/closed"],
  ["GET", "/api/v1/namespaces/closed/status"],
  ["PUT", "/api/v1/namespaces/closed/finalize?dryRun=All"],
  ["GET", "/api/v1/namespaces/closed?namespace=open"],
  ["GET", "/api/v1/namespaces/closed/secrets?namespace=open"],
  ["GET", "/api/v1/namespaces/closed/secrets/private#open"],
  ["GET", "https://localhost/api/v1/namespaces/closed/secrets"],
  ["GET", "http://open/api/v1/namespaces/closed/secrets"],
  ["HEAD", "/api/v1/namespaces/closed/secrets"],
  ["OPTIONS", "/api/v1/namespaces/closed/secrets"],
  ["TRACE", "/api/v1/namespaces/closed/secrets"],
  ["constructor", "/api/v1/namespaces/closed/secrets"],
  ["__proto__", "/api/v1/namespaces/closed/secrets"],
  ["toString", "/api/v1/namespaces/closed/secrets/public"],
];

const segments = `api apis v1 rbac.authorization.k8s.io namespaces open closed secrets configmaps roles nodes clusterroles
  public private mine one status finalize watch proxy . .. %2e%2e %2F ; %00 SECRETS closed%2Fsecrets __proto__ constructor`;
const starts = `/api/v1/ /api/v1/namespaces/ /api/v1/namespaces/open/ /api/v1/namespaces/closed/secrets/
  /apis/rbac.authorization.k8s.io/v1/namespaces/open/`;
const methods = "GET HEAD PUT PATCH DELETE LIST WATCH DELETECOLLECTION CREATE UPDATE list toString";
const parameters = `watch=true watch=false fieldSelector=metadata.name%3Dpublic fieldSelector=metadata.name%3Dprivate limit=1
  fieldSelector=metadata.namespace%3Dopen labelSelector=say resourceVersion=0 timeoutSeconds=1 namespace=open includeObject=Object`;

function words(text: string): readonly string[] {
  return text.split(/\s+/);
}

/** Paths that ask for the one Secret in the end, which the guest may have. */
function granted(path: string): boolean {
  return /^\/api\/v1\/namespaces\/closed\/secrets(\?.*metadata\.name%3D|\/public\?)/.test(path);
}

function refused(status: number): boolean {
  return status >= 400 && status < 500;
}

describe("a trick in method or path never gets what is not the guest's", () => {
  test.each(tricks)("over HTTP/2: %s %s", async (method, path) => {
    const { status, text } = await peek(method, path);
    expect(leaks(text)).toEqual([]);
    // 0: HTTP/2 has reset the stream, as with a path that is a whole URL.
    expect(status === 0 || granted(path) ? 404 : status).toSatisfy(refused);
  });

  test.each(tricks.filter(([method]) => /^[A-Z]+$/.test(method)))("over HTTP/1.1: %s %s", async (method, path) => {
    const { status, text } = parseReply(
      await speak(await openTls(hub.target, "http/1.1", guest), requestBytes({ method, path })),
    );
    expect(leaks(text)).toEqual([]);
    expect(granted(path) ? 404 : status).toSatisfy(refused);
  });

  test("nor does any mixture of methods, segments and parameters", async () => {
    const segment = fc.constantFrom(...words(segments), "");
    const start = fc.constantFrom("/", ...words(starts));
    const method = fc.constantFrom(...words(methods));
    const parameter = fc.constantFrom(...words(parameters));
    await fc.assert(
      fc.asyncProperty(
        method,
        start,
        fc.array(segment, { maxLength: 6 }),
        fc.array(parameter, { maxLength: 3 }),
        async (verb, head, tail, query) => {
          const { status, text } = await peek(verb, `${head}${tail.join("/")}?${[...query, "dryRun=All"].join("&")}`);
          expect(leaks(text)).toEqual([]);
          expect(status).toBeGreaterThanOrEqual(200);
          expect(status).toBeLessThan(500);
        },
      ),
      { numRuns: 1500, seed: 20261121 },
    );
  });
});

/** The paths that anonymous may GET, all of them. */
const publicPaths: readonly string[] = ["/healthz", "/livez", "/readyz", "/version", "/version/"];

test("anonymous may read health, version and cluster-info, and nothing else", async () => {
  const known = await call(hub, hub.admin, { path: "/" });
  const listed = (known.json["paths"] as readonly string[]).concat(
    "/version/",
    "/",
    "/healthz/ping",
    "/readyz/store",
    "/livez/ping",
    "/openapi",
    "/metrics/slis",
    "/debug/pprof",
    "/logs",
    "/.well-known/openid-configuration",
    "/openid/v1/jwks",
  );
  expect(listed.length).toBeGreaterThan(20);
  const open: string[] = [];
  for (const path of listed) {
    const { status } = await call(hub, {}, { path });
    expect([path, status]).toEqual([path, publicPaths.includes(path) ? 200 : 403]);
    if (status === 200) open.push(path);
  }
  expect(open.sort()).toEqual([...publicPaths].sort());
});

/** There is no access request of that name, and what was sent is none. */
function answerTo(asked: { readonly method: string; readonly name: string; readonly isObject: boolean }): number {
  if (asked.name === "configmaps" && asked.isObject) return asked.method === "GET" ? 200 : 403;
  if (asked.isObject) return asked.name === "accessrequests" && asked.method === "GET" ? 404 : 403;
  return asked.name.split("/", 1)[0] === "accessrequests" && asked.method === "POST" ? 400 : 403;
}

test("anonymous may do nothing with any resource but read cluster-info by its name, and ask for access", async () => {
  const groups = await call(hub, hub.admin, { path: "/apis" });
  const versions = (
    groups.json["groups"] as readonly { readonly preferredVersion: { readonly groupVersion: string } }[]
  ).map(({ preferredVersion }) => `/apis/${preferredVersion.groupVersion}`);
  let asked = 0;
  for (const base of ["/api/v1", ...versions]) {
    const { json } = await call(hub, hub.admin, { path: base });
    for (const { name, namespaced } of json["resources"] as readonly {
      readonly name: string;
      readonly namespaced: boolean;
    }[]) {
      const [plural, subresource] = name.split("/");
      const place = namespaced ? `${base}/namespaces/kube-public` : base;
      const object = `${place}/${plural}/cluster-info${subresource === undefined ? "" : `/${subresource}`}`;
      for (const [method, path] of [
        ["GET", object],
        ["PUT", object],
        ["PATCH", object],
        ["DELETE", object],
        ["GET", `${place}/${plural}`],
        ["GET", `${place}/${plural}?watch=true`],
        ["POST", `${place}/${plural}`],
        ["DELETE", `${place}/${plural}`],
      ] as const) {
        const { status } = await call(hub, {}, { method, path });
        expect([method, path, status]).toEqual([method, path, answerTo({ method, name, isObject: path === object })]);
        asked += 1;
      }
    }
  }
  expect(asked).toBeGreaterThan(100);
});

test("nothing of the closed namespace was changed by any of this", async () => {
  const reply = await sendHttp2(await openHttp2(hub.target, hub.admin), { path: "/api/v1/namespaces/closed/secrets" });
  const { items } = JSON.parse(reply.text) as {
    readonly items: readonly { readonly metadata: { readonly name: string } }[];
  };
  expect(items.map(({ metadata }) => metadata.name)).toEqual(["private", "public"]);
});
