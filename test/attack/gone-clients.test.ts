import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import type { ClientHttp2Session } from "node:http2";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bootstrapKubeconfig } from "../../src/client/build-kubeconfig.ts";
import { startJsonService, type JsonService, type ServiceReply } from "../kits/json-service.ts";
import { eventually } from "../kits/peers-process.ts";
import {
  openHttp2,
  openTls,
  protocols,
  requestBytes,
  sendHttp2,
  type Protocol,
  type WireRequest,
} from "../kits/wire.ts";
import { call, startAttackedHub, type AttackedHub } from "./attacked-hub.ts";

const path = "/api/v1/namespaces/default/configmaps";
const watchPath = `${path}?watch=true&timeoutSeconds=3000`;
const allow: ServiceReply = { body: { status: { allowed: true } } };

let hub: AttackedHub;
let observer: ClientHttp2Session;
/** Decides on the requests of users without rights. */
let authorizer: JsonService;
let decide: () => ServiceReply | Promise<ServiceReply> = () => allow;
let dir: string;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "pratique-gone-"));
  authorizer = await startJsonService(() => decide());
  const configFile = join(dir, "authorizer.yaml");
  const target = { server: authorizer.url, ca: { pem: authorizer.caPem }, token: "t" };
  await writeFile(configFile, bootstrapKubeconfig(target));
  hub = await startAttackedHub({
    authorizationModes: ["RBAC", "Webhook"],
    authorizationWebhook: { configFile, version: "v1", authorizedMs: 0, unauthorizedMs: 0 },
  });
  observer = await openHttp2(hub.target, hub.admin);
  for (let index = 0; index < 12; index += 1) {
    const body = { metadata: { name: `large-${index}` }, data: { text: "x".repeat(900_000) } };
    const { status, text } = await call(hub, hub.admin, { path, body });
    if (status !== 201) throw new RangeError(text);
  }
});

afterAll(async () => {
  observer.destroy();
  await hub.close();
  await authorizer.close();
  await rm(dir, { recursive: true, force: true });
});

/** The sum of a metric over the lines whose labels hold all of these texts. */
async function metric(name: string, ...labels: readonly string[]): Promise<number> {
  const { text } = await sendHttp2(observer, { path: "/metrics" });
  return text
    .split("\n")
    .filter((line) => line.startsWith(name) && labels.every((label) => line.includes(label)))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" "))), 0);
}

const requests = (verb: string): Promise<number> =>
  metric("apiserver_request_total{", `verb="${verb}"`, '"configmaps"');
const unread = (): Promise<number> => metric("pratique_unread_response_bytes ");

/** Makes a request as a user on whom the webhook decides; returns how its client goes. */
async function begin(protocol: Protocol, asked: string): Promise<() => void> {
  const bearer = `Bearer ${hub.tokens.nobody}`;
  if (protocol === "HTTP/2") {
    const session = await openHttp2(hub.target);
    session.request({ ":path": asked, authorization: bearer }).on("error", () => undefined);
    return () => session.destroy();
  }
  const socket = await openTls(hub.target, "http/1.1");
  socket.write(requestBytes({ path: asked, headers: [["Authorization", bearer]] }));
  return () => void socket.destroy();
}

describe.each(protocols)("a client over %s that goes before its request is decided on", (protocol) => {
  it.each([
    ["WATCH", watchPath],
    ["LIST", path],
  ])("leaves nothing behind: %s", async (verb, asked) => {
    const ended = await requests(verb);
    let release = (): void => undefined;
    const isAsked = new Promise<void>((resolve) => {
      decide = async () => {
        resolve();
        await new Promise<void>((released) => (release = released));
        return allow;
      };
    });
    const connections = await metric("pratique_connections ");
    const leave = await begin(protocol, asked);
    await isAsked;
    leave();
    await eventually("the hub has seen it go", async () =>
      (await metric("pratique_connections ")) <= connections ? true : undefined,
    );
    release();
    await eventually("the request has ended", async () => ((await requests(verb)) > ended ? true : undefined), 10);
    expect(await unread()).toBe(0);
    expect(await metric("apiserver_longrunning_requests{")).toBe(0);
  });
});

describe("a client of HTTP/1.1 that sends requests without waiting for answers, and goes", () => {
  const body = JSON.stringify({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "a" },
    data: { text: "x".repeat(100_000) },
  });
  it.each([
    ["WATCH", { path: watchPath }],
    ["LIST", { path }],
    [
      "POST",
      { method: "POST", path: `${path}?dryRun=All`, headers: [["Content-Type", "application/json"]] as const, body },
    ],
  ])("leaves nothing behind: %s", async (verb, asked) => {
    const ended = await requests(verb);
    const socket = await openTls(hub.target, "http/1.1", hub.admin);
    socket.pause();
    const all = [{ path }, asked, asked].map(({ headers = [], ...one }: WireRequest) =>
      requestBytes({ ...one, headers: [["Connection", "keep-alive"], ...headers] }),
    );
    socket.write(Buffer.concat(all));
    await eventually("an answer waits", async () => ((await unread()) > 0 ? true : undefined));
    socket.destroy();
    await once(socket, "close");
    await eventually("all have ended", async () => ((await requests(verb)) >= ended + 2 ? true : undefined), 10);
    await eventually("nothing waits", async () => ((await unread()) === 0 ? true : undefined), 10);
    expect(await metric("apiserver_longrunning_requests{")).toBe(0);
  });
});
