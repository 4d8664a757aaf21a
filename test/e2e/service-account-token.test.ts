import { createLocalJWKSet, jwtVerify, type JSONWebKeySet } from "jose";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ApiObject } from "../../src/apimachinery/object.ts";
import { apiClient, type ApiClient } from "../kits/api-client.ts";
import { startTestHub, type TestHub } from "../kits/hub.ts";
import type { Kubectl, Run } from "../kits/kubectl.ts";
import { peerSuite } from "../kits/peers.ts";

let hub: TestHub;
let admin: ApiClient;
let kubectl: Kubectl;

const accounts = "/api/v1/namespaces/default/serviceaccounts";
const podOf = (name: string, serviceAccountName: string): ApiObject => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, namespace: "default" },
  spec: { serviceAccountName, containers: [{ name: "c", image: "i" }] },
});
const post = (path: string, body: object) => admin(path, { method: "POST", body });
const ask = (account: string, body: object = {}) => post(`${accounts}/${account}/token`, body);

async function tokenOf(account: string, spec: object = {}): Promise<string> {
  const reply = await ask(account, { spec });
  return (reply.json()["status"] as { readonly token: string }).token;
}

async function account(name: string): Promise<void> {
  const made = await post(accounts, { metadata: { name } });
  if (made.status !== 201) throw new TypeError(made.text);
}

function claimsOf(token: string): Record<string, unknown> {
  return JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString()) as Record<string, unknown>;
}

/** Who the hub takes the bearer of a token for, or the code it answers. */
async function whois(token: string): Promise<unknown> {
  const client = apiClient(hub, { token });
  const reply = await client("/apis/authentication.k8s.io/v1/selfsubjectreviews", { method: "POST", body: {} });
  client.close();
  return reply.status === 201 ? (reply.json()["status"] as { readonly userInfo: unknown }).userInfo : reply.status;
}

beforeAll(async () => {
  hub = await startTestHub({ serviceAccountMaxTokenExpirationSeconds: 24 * 3600 });
  admin = apiClient(hub);
  kubectl = hub.kubectl;
  await account("robot");
});

afterAll(async () => {
  admin.close();
  await hub.close();
});

describe("the subresource token of a ServiceAccount", () => {
  it("is in discovery, in OpenAPI, and in nothing else", async () => {
    const { resources } = (await admin("/api/v1")).json() as { resources: readonly { readonly name: string }[] };
    expect(resources.find(({ name }) => name === "serviceaccounts/token")).toEqual({
      name: "serviceaccounts/token",
      singularName: "",
      namespaced: true,
      group: "authentication.k8s.io",
      version: "v1",
      kind: "TokenRequest",
      verbs: ["create"],
    });
    const aggregated = await admin("/api", {
      accept: "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
    });
    expect(aggregated.text).toContain(
      '{"subresource":"token","responseKind":{"group":"authentication.k8s.io","version":"v1","kind":"TokenRequest"},"verbs":["create"]}',
    );
    const path = "/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token";
    const { paths } = (await admin("/openapi/v3/api/v1")).json() as { paths: Record<string, object> };
    expect(paths[path]).toMatchObject({
      post: {
        operationId: "createCoreV1NamespacedServiceAccountToken",
        "x-kubernetes-group-version-kind": { group: "authentication.k8s.io", kind: "TokenRequest", version: "v1" },
      },
    });
    const group = await admin("/apis/authentication.k8s.io/v1");
    expect(group.text).not.toContain("tokenrequests");
    expect((await post("/apis/authentication.k8s.io/v1/namespaces/default/tokenrequests", {})).status).toBe(404);
  });

  it("answers 201 with the token, its end, and what it was made from", async () => {
    const reply = await ask("robot", { kind: "TokenRequest", apiVersion: "authentication.k8s.io/v1" });
    expect(reply.status).toBe(201);
    const { status, ...request } = reply.json() as { status: { token: string; expirationTimestamp: string } };
    expect(request).toEqual({
      kind: "TokenRequest",
      apiVersion: "authentication.k8s.io/v1",
      metadata: { name: "robot", namespace: "default", creationTimestamp: expect.any(String) as string },
      spec: { audiences: ["https://kubernetes.default.svc"], expirationSeconds: 3600, boundObjectRef: null },
    });
    const claims = claimsOf(status.token);
    expect(claims).toMatchObject({
      iss: "https://kubernetes.default.svc",
      aud: ["https://kubernetes.default.svc"],
      sub: "system:serviceaccount:default:robot",
    });
    expect(Math.abs(Date.parse(status.expirationTimestamp) / 1000 - Number(claims["exp"]))).toBeLessThanOrEqual(1);
    await expect(whois(status.token)).resolves.toMatchObject({
      username: "system:serviceaccount:default:robot",
      groups: ["system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"],
      extra: { "authentication.kubernetes.io/credential-id": [`JTI=${String(claims["jti"])}`] },
    });
  });

  it("answers in YAML and protobuf too, and as a table", async () => {
    const body = { spec: { expirationSeconds: 600 } };
    const asking = (accept: string) => admin(`${accounts}/robot/token`, { method: "POST", body, accept });
    expect((await asking("application/yaml")).text).toContain("kind: TokenRequest\n");
    const binary = await asking("application/vnd.kubernetes.protobuf");
    expect([binary.status, binary.body.subarray(0, 4).toString("latin1")]).toEqual([201, "k8s\u0000"]);
    expect(binary.body.toString("latin1")).toMatch(/TokenRequest.*eyJ/s);
  });

  it.each([
    ["a missing account", `${accounts}/none/token`, {}, 404, 'serviceaccounts "none" not found'],
    [
      "a missing namespace",
      "/api/v1/namespaces/none/serviceaccounts/robot/token",
      {},
      404,
      'namespaces "none" not found',
    ],
    [
      "too short a life",
      `${accounts}/robot/token`,
      { spec: { expirationSeconds: 5 } },
      422,
      'TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: 5: may not specify a duration less than 10 minutes',
    ],
    [
      "another namespace",
      `${accounts}/robot/token`,
      { metadata: { namespace: "kube-system" } },
      400,
      "the namespace of the provided object does not match the namespace sent on the request",
    ],
    [
      "another kind",
      `${accounts}/robot/token`,
      { kind: "ServiceAccount", apiVersion: "v1" },
      400,
      'ServiceAccount in version "v1" cannot be handled as a TokenRequest: converting (v1.ServiceAccount) to (authentication.TokenRequest): unknown conversion',
    ],
    [
      "what is no audience",
      `${accounts}/robot/token`,
      { spec: { audiences: [1] } },
      400,
      'TokenRequest in version "v1" cannot be handled as a TokenRequest',
    ],
  ])("refuses %s", async (_name, path, body, ...[code, message]) => {
    const reply = await post(path, body);
    expect([reply.status, reply.json()["code"]]).toEqual([code, code]);
    expect(reply.json()["message"]).toContain(message);
  });

  it.each(["GET", "PUT", "PATCH", "DELETE"])("knows no %s", async (method) => {
    const body = method === "GET" || method === "DELETE" ? undefined : {};
    const reply = await admin(`${accounts}/robot/token`, { method, ...(body === undefined ? {} : { body }) });
    expect(reply.status).toBe(405);
  });

  it("warns where it gives less than was asked for", async () => {
    const reply = await ask("robot", { spec: { expirationSeconds: 100_000 } });
    expect(reply.headers["warning"]).toBe('299 - "requested expiration of 100000 seconds shortened to 86400 seconds"');
    expect((reply.json()["spec"] as { expirationSeconds: number }).expirationSeconds).toBe(86_400);
  });

  it("is for those only who may create it for that account", async () => {
    const token = await tokenOf("robot");
    const robot = apiClient(hub, { token });
    const refused = await robot(`${accounts}/default/token`, { method: "POST", body: {} });
    expect([refused.status, refused.json()["message"]]).toEqual([
      403,
      'serviceaccounts "default" is forbidden: User "system:serviceaccount:default:robot" cannot create resource "serviceaccounts/token" in API group "" in the namespace "default"',
    ]);
    robot.close();
  });
});

describe("a token ends", () => {
  it("with its account, at once, and does not come back with another one of that name", async () => {
    await account("brief");
    const token = await tokenOf("brief");
    await expect(whois(token)).resolves.toMatchObject({ username: "system:serviceaccount:default:brief" });
    await admin(`${accounts}/brief`, { method: "DELETE" });
    await expect(whois(token)).resolves.toBe(401);
    await account("brief");
    await expect(whois(token)).resolves.toBe(401);
    await expect(whois(await tokenOf("brief"))).resolves.toMatchObject({
      username: "system:serviceaccount:default:brief",
    });
  });

  it.each([
    ["Secret", "/api/v1/namespaces/default/secrets", { metadata: { name: "bound" } }],
    ["Node", "/api/v1/nodes", { metadata: { name: "bound" } }],
    ["Pod", "/api/v1/namespaces/default/pods", podOf("bound", "robot")],
  ])("with the %s that it is bound to", async (kind, path, object) => {
    expect((await post(path, object)).status).toBe(201);
    const token = await tokenOf("robot", { boundObjectRef: { kind, apiVersion: "v1", name: "bound" } });
    await expect(whois(token)).resolves.toMatchObject({ username: "system:serviceaccount:default:robot" });
    const gone = await admin(`${path}/bound`, { method: "DELETE", body: { gracePeriodSeconds: 0 } });
    expect(gone.status).toBe(200);
    await expect(whois(token)).resolves.toBe(401);
    await post(path, object);
    await expect(whois(token)).resolves.toBe(401);
  });

  it("at the API where it is meant for another service", async () => {
    await expect(whois(await tokenOf("robot", { audiences: ["vault"] }))).resolves.toBe(401);
    await expect(whois(await tokenOf("robot", { audiences: ["https://kubernetes.default.svc/"] }))).resolves.toBe(401);
    const both = await tokenOf("robot", { audiences: ["vault", "https://kubernetes.default.svc"] });
    await expect(whois(both)).resolves.toMatchObject({ username: "system:serviceaccount:default:robot" });
  });
});

describe("a Secret of type kubernetes.io/service-account-token", () => {
  const secretsPath = "/api/v1/namespaces/default/secrets";

  it("is filled with a token, which holds until the Secret or the account is deleted", async () => {
    await account("legacy");
    const watch = await admin.stream(`${secretsPath}?watch=true&fieldSelector=metadata.name=legacy-token`);
    const made = await post(secretsPath, {
      metadata: { name: "legacy-token", annotations: { "kubernetes.io/service-account.name": "legacy" } },
      type: "kubernetes.io/service-account-token",
    });
    expect(made.status).toBe(201);
    let data: Readonly<Record<string, string>> = {};
    while (data["token"] === undefined) data = ((await watch.next()).object["data"] ?? {}) as typeof data;
    watch.close();
    const text = (key: string): string => Buffer.from(data[key] ?? "", "base64").toString();
    expect([text("namespace"), text("ca.crt")]).toEqual(["default", hub.ca]);
    expect(claimsOf(text("token"))).not.toHaveProperty("exp");
    expect(await whois(text("token"))).toEqual({
      username: "system:serviceaccount:default:legacy",
      uid: expect.any(String) as string,
      groups: ["system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"],
    });
    await admin(`${secretsPath}/legacy-token`, { method: "DELETE" });
    expect(await whois(text("token"))).toBe(401);
  });

  it("is never made unasked", async () => {
    const all = await admin("/api/v1/secrets?fieldSelector=type=kubernetes.io/service-account-token");
    expect(all.items()).toEqual([]);
  });
});

describe("issuer discovery", () => {
  it("publishes what verifies the tokens, to every ServiceAccount and to nobody unknown", async () => {
    const token = await tokenOf("robot");
    const robot = apiClient(hub, { token });
    const configuration = await robot("/.well-known/openid-configuration");
    expect([
      configuration.status,
      configuration.headers["content-type"],
      configuration.headers["cache-control"],
    ]).toEqual([200, "application/json", "public, max-age=3600"]);
    expect(configuration.json()).toEqual({
      issuer: "https://kubernetes.default.svc",
      jwks_uri: `${hub.url}/openid/v1/jwks`,
      response_types_supported: ["id_token"],
      subject_types_supported: ["public"],
      id_token_signing_alg_values_supported: ["ES256"],
    });
    const set = await robot("/openid/v1/jwks");
    expect([set.status, set.headers["content-type"], set.headers["cache-control"]]).toEqual([
      200,
      "application/jwk-set+json",
      "public, max-age=3600",
    ]);
    const { payload } = await jwtVerify(token, createLocalJWKSet(set.json() as unknown as JSONWebKeySet), {
      issuer: "https://kubernetes.default.svc",
      audience: "https://kubernetes.default.svc",
      subject: "system:serviceaccount:default:robot",
    });
    expect(Number(payload.exp) - Number(payload.iat)).toBe(3600);
    robot.close();

    const anybody = apiClient(hub, "anonymous");
    for (const path of ["/.well-known/openid-configuration", "/openid/v1/jwks"]) {
      expect((await anybody(path)).status).toBe(403);
      expect((await admin(path, { method: "POST", body: {} })).status).toBe(405);
      expect((await admin("/")).json()["paths"]).toContain(path);
    }
    anybody.close();
    expect((await admin("/openid/v1")).status).toBe(404);
    expect((await admin("/.well-known/other")).status).toBe(404);
  });
});

describe("a review of a token", () => {
  const review = async (token: string, audiences?: readonly string[]): Promise<unknown> => {
    const spec = audiences === undefined ? { token } : { token, audiences };
    const reply = await post("/apis/authentication.k8s.io/v1/tokenreviews", { spec });
    return reply.json()["status"];
  };

  it("answers for the audiences it asks about, and names those that fit", async () => {
    const token = await tokenOf("robot", { audiences: ["vault", "registry"] });
    const user = { username: "system:serviceaccount:default:robot" };
    expect(await review(token, ["registry", "other"])).toMatchObject({
      authenticated: true,
      user,
      audiences: ["registry"],
    });
    expect(await review(token, ["vault", "registry"])).toMatchObject({ audiences: ["vault", "registry"] });
    expect(await review(await tokenOf("robot"))).toMatchObject({
      authenticated: true,
      user: { ...user, groups: ["system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"] },
      audiences: ["https://kubernetes.default.svc"],
    });
  });

  it("says no, and why, for any other", async () => {
    const token = await tokenOf("robot", { audiences: ["vault"] });
    const unfit = '[invalid bearer token, token audiences ["vault"] is invalid for the target audiences';
    expect(await review(token)).toEqual({ user: {}, error: `${unfit} ["https://kubernetes.default.svc"]]` });
    expect(await review(token, ["other"])).toEqual({ user: {}, error: `${unfit} ["other"]]` });
    expect(await review("nonsense", ["other"])).toEqual({ user: {}, error: "invalid bearer token" });
    await account("short");
    const orphan = await tokenOf("short", { audiences: ["vault"] });
    await admin(`${accounts}/short`, { method: "DELETE" });
    expect(await review(orphan, ["vault"])).toEqual({
      user: {},
      error: '[invalid bearer token, serviceaccounts "short" not found]',
    });
  });
});

peerSuite("kubectl", "kubectl create token", () => {
  const as = (token: string, ...args: readonly string[]): Promise<Run> =>
    kubectl(
      "--token",
      token,
      "--kubeconfig",
      "/dev/null",
      "--server",
      hub.url,
      "--certificate-authority",
      `${hub.dataDir}/pki/ca.crt`,
      ...args,
    );
  const create = async (...args: readonly string[]): Promise<string> =>
    (await kubectl.ok("create", "token", ...args)).trim();

  it("makes a token that says who it is, and may do what its account may", async () => {
    const token = await create("default");
    const { out } = await as(token, "auth", "whoami", "-o", "jsonpath={.status.userInfo.username}");
    expect(out).toBe("system:serviceaccount:default:default");
    const refused = await as(token, "get", "configmaps");
    expect([refused.code, refused.err]).toEqual([
      1,
      'Error from server (Forbidden): configmaps is forbidden: User "system:serviceaccount:default:default" cannot list resource "configmaps" in API group "" in the namespace "default"\n',
    ]);
    await kubectl.ok("create", "rolebinding", "reads", "--clusterrole=view", "--serviceaccount=default:default");
    const granted = await as(token, "get", "configmaps", "-o", "name");
    expect(granted).toMatchObject({ code: 0, out: "configmap/kube-root-ca.crt\n" });
  });

  it("asks for a life and an audience, and shows the reply whole", async () => {
    const shown = JSON.parse(
      await kubectl.ok("create", "token", "default", "--duration=10m", "--audience=a", "--audience=b", "-o", "json"),
    ) as { spec: object; status: { token: string; expirationTimestamp: string } };
    expect(shown.spec).toMatchObject({ audiences: ["a", "b"], expirationSeconds: 600 });
    const claims = claimsOf(shown.status.token);
    expect(claims["aud"]).toEqual(["a", "b"]);
    expect(Number(claims["exp"]) - Number(claims["iat"])).toBe(600);
    expect(await kubectl.ok("create", "token", "default", "--duration=10m", "-o", "yaml")).toMatch(
      /expirationTimestamp: "?\d{4}-/,
    );
    const long = await kubectl("create", "token", "default", "--duration=48h");
    expect(long.err).toContain("requested expiration of 172800 seconds shortened to 86400 seconds");
    const short = await kubectl("create", "token", "default", "--duration=1m");
    expect(short.err).toContain("may not specify a duration less than 10 minutes");
  });

  it("binds to an object, with which the token ends", async () => {
    await kubectl.with({ input: JSON.stringify(podOf("web", "default")) }).ok("create", "-f", "-");
    const uid = await kubectl.ok("get", "pod", "web", "-o", "jsonpath={.metadata.uid}");
    const bound = ["default", "--bound-object-kind", "Pod", "--bound-object-name", "web"] as const;
    const token = await create(...bound, "--bound-object-uid", uid);
    const who = await as(token, "auth", "whoami", "-o", "json");
    expect(JSON.parse(who.out)).toMatchObject({
      status: { userInfo: { extra: { "authentication.kubernetes.io/pod-name": ["web"] } } },
    });
    const wrong = await kubectl("create", "token", ...bound, "--bound-object-uid", "x");
    expect(wrong.err).toContain("the UID in the bound object reference (x) does not match the UID in record");
    await kubectl.ok("delete", "pod", "web", "--grace-period=0", "--force");
    const after = await as(token, "auth", "whoami");
    expect([after.code, after.err]).toEqual([1, "error: You must be logged in to the server (Unauthorized)\n"]);
  });

  it("makes tokens that the deletion of their account cuts off at once", async () => {
    await kubectl.ok("create", "serviceaccount", "doomed");
    const token = await create("doomed");
    expect((await as(token, "auth", "whoami")).code).toBe(0);
    await kubectl.ok("delete", "serviceaccount", "doomed");
    expect((await as(token, "auth", "whoami")).err).toContain("You must be logged in to the server (Unauthorized)");
  });
});
