import type { ClientHttp2Session } from "node:http2";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { eventually } from "../kits/peers-process.ts";
import { openHttp2, openTls, requestBytes, sendHttp2, type WireReply } from "../kits/wire.ts";
import { call, clientOf, startAttackedHub, type ApiReply, type AttackedHub } from "./attacked-hub.ts";

const maps = "/api/v1/namespaces/default/configmaps";
/** Far longer than any test: a watch that ends was ended by the hub. */
const forLong = "watch=true&timeoutSeconds=31536000";

let hub: AttackedHub;
const sessions: ClientHttp2Session[] = [];

beforeAll(async () => {
  hub = await startAttackedHub();
});
afterAll(async () => {
  for (const session of sessions) session.destroy();
  await hub.close();
});

const asAdmin = (method: string, path: string, body?: object): Promise<ApiReply> =>
  call(hub, hub.admin, { method, path, body });

async function mayReadMaps(subject: object, name: string): Promise<void> {
  const body = {
    metadata: { name },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "view" },
    subjects: [subject],
  };
  const path = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings";
  expect((await asAdmin("POST", path, body)).status).toBe(201);
}

const user = (name: string): object => ({ kind: "User", apiGroup: "rbac.authorization.k8s.io", name });

/** A watch that has begun; `ended` resolves with the whole reply once the hub has ended it. */
async function openWatch(token: string): Promise<{ readonly ended: Promise<WireReply> }> {
  const session = await openHttp2(hub.target);
  sessions.push(session);
  const before = await watches();
  const ended = sendHttp2(session, { path: `${maps}?${forLong}`, headers: [["authorization", `Bearer ${token}`]] });
  await eventually("the watch has begun", async () => (await watches()) > before || undefined);
  return { ended };
}

async function watches(): Promise<number> {
  const { text } = await call(hub, hub.admin, { path: "/metrics" });
  const lines = text.split("\n").filter((line) => line.startsWith("apiserver_longrunning_requests{"));
  return lines.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
}

describe("a watch ends with the token that it was opened with", () => {
  const id = "aaaaaa";
  const path = "/api/v1/namespaces/kube-system/secrets";
  const secret = {
    metadata: { name: `bootstrap-token-${id}` },
    type: "bootstrap.kubernetes.io/token",
    stringData: { "token-id": id, "token-secret": "0123456789abcdef", "usage-bootstrap-authentication": "true" },
  };

  test("when a bootstrap token is deleted", async () => {
    await mayReadMaps(user(`system:bootstrap:${id}`), "bootstrap");
    expect((await asAdmin("POST", path, secret)).status).toBe(201);
    const { ended } = await openWatch(`${id}.0123456789abcdef`);
    expect((await asAdmin("DELETE", `${path}/${secret.metadata.name}`)).status).toBe(200);
    expect((await ended).status).toBe(200);
  });

  test("when a bootstrap token is given another secret", async () => {
    expect((await asAdmin("POST", path, secret)).status).toBe(201);
    const { ended } = await openWatch(`${id}.0123456789abcdef`);
    const changed = { ...secret, stringData: { ...secret.stringData, "token-secret": "fedcba9876543210" } };
    expect((await asAdmin("PUT", `${path}/${secret.metadata.name}`, changed)).status).toBe(200);
    expect((await ended).status).toBe(200);
  });

  test("when the Secret of a ServiceAccount's token is deleted", async () => {
    const secrets = "/api/v1/namespaces/default/secrets";
    await asAdmin("POST", "/api/v1/namespaces/default/serviceaccounts", { metadata: { name: "robot" } });
    await mayReadMaps({ kind: "ServiceAccount", namespace: "default", name: "robot" }, "robot");
    const annotations = { "kubernetes.io/service-account.name": "robot" };
    const body = { metadata: { name: "robot-token", annotations }, type: "kubernetes.io/service-account-token" };
    expect((await asAdmin("POST", secrets, body)).status).toBe(201);
    const token = await eventually("the token", async () => {
      const { json } = await asAdmin("GET", `${secrets}/robot-token`);
      return (json as { readonly data?: { readonly token?: string } }).data?.token;
    });
    const { ended } = await openWatch(Buffer.from(token, "base64").toString("latin1"));
    expect((await asAdmin("DELETE", `${secrets}/robot-token`)).status).toBe(200);
    expect((await ended).status).toBe(200);
  });
});

test("a watch ends with the certificate that it was opened with, however long the client asks for", async () => {
  await mayReadMaps(user("brief"), "brief");
  // On a busy machine the shortest may have ended before it is shown.
  for (const seconds of [4, 20, 40]) {
    const dial = clientOf(hub.authority, { commonName: "brief", notAfter: Date.now() + seconds * 1000 });
    const session = await openHttp2(hub.target, dial);
    sessions.push(session);
    const { status } = await sendHttp2(session, { path: `${maps}?${forLong}` });
    if (status === 401) continue;
    expect(status).toBe(200);
    return;
  }
  expect.unreachable("no certificate was good for long enough to open a watch");
}, 90_000);

test("a watch behind another one on its HTTP/1.1 connection ends with the connection", async () => {
  const before = await watches();
  const socket = await openTls(hub.target, "http/1.1", hub.admin);
  const watch = requestBytes({ path: `${maps}?${forLong}`, headers: [["Connection", "keep-alive"]] });
  socket.write(Buffer.concat([watch, watch]));
  await expect.poll(watches).toBe(before + 2);
  socket.destroy();
  await expect.poll(watches).toBe(before);
});
