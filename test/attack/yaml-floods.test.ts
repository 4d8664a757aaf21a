import { once } from "node:events";
import { constants, type ClientHttp2Session } from "node:http2";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openHttp2, openTls, requestBytes, sendHttp2, type WireReply } from "../kits/wire.ts";
import { call, startAttackedHub, type AttackedHub } from "./attacked-hub.ts";

const configMaps = "/api/v1/namespaces/default/configmaps";
const yaml = "application/yaml";

let hub: AttackedHub;
let jane: ClientHttp2Session;
let john: ClientHttp2Session;

beforeAll(async () => {
  hub = await startAttackedHub();
  const binding = {
    metadata: { name: "floods" },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "edit" },
    subjects: [{ kind: "Group", name: "people", apiGroup: "rbac.authorization.k8s.io" }],
  };
  await call(hub, hub.admin, { path: "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", body: binding });
  const large = { metadata: { name: "large" }, data: { text: "a line\n".repeat(140_000) } };
  const made = await call(hub, hub.admin, { path: configMaps, body: large });
  if (made.status !== 201) throw new RangeError(made.text);
  [jane, john] = await Promise.all([
    openHttp2(hub.target, hub.as("jane", "people")),
    openHttp2(hub.target, hub.as("john", "people")),
  ]);
});
afterAll(async () => {
  jane.destroy();
  john.destroy();
  await hub.close();
});

/** YAML that takes the thread some tens of milliseconds, and is no large body. */
const costly = `metadata: {name: costly, labels: {${Array.from({ length: 3000 }, (_, index) => `l${index}: v`).join(", ")}}}`;

function create(session: ClientHttp2Session, body: string): Promise<WireReply> {
  const headers = [["content-type", yaml]] as const;
  return sendHttp2(session, { method: "POST", path: `${configMaps}?dryRun=All`, headers, body });
}

function busyOf(replies: readonly WireReply[]): readonly WireReply[] {
  return replies.filter(({ status }) => status === 429);
}

describe("the YAML of one client that would keep the thread busy", () => {
  test("is answered with 429 beyond 16 texts, and another client is served meanwhile", async () => {
    const flood = Array.from({ length: 48 }, () => create(jane, costly));
    const other = create(john, `${costly.slice(0, 1500).replace(/, [^,]*$/, "")}}}`);
    const replies = await Promise.all(flood);
    expect((await other).status).toBe(201);
    const busy = busyOf(replies);
    expect(busy.length).toBeGreaterThan(0);
    expect(replies.length - busy.length).toBeGreaterThanOrEqual(16);
    expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([201, 429]));
    expect(new Set(busy.map(({ headers }) => headers.get("retry-after")))).toEqual(new Set(["1"]));
    expect(JSON.parse(busy[0]?.text ?? "")).toMatchObject({
      reason: "TooManyRequests",
      message:
        "too many YAML texts of this client wait to be read or written; try again later, or use application/json",
    });
  });

  test("is answered with 429 beyond 8 Mi characters, however few texts they are", async () => {
    const accept = [["accept", yaml]] as const;
    const get = (session: ClientHttp2Session): Promise<WireReply> =>
      sendHttp2(session, { path: `${configMaps}/large`, headers: accept });
    // As many texts as one client may have.
    const flood = Array.from({ length: 16 }, () => get(jane));
    const other = get(john);
    const replies = await Promise.all(flood);
    expect((await other).status).toBe(200);
    const busy = busyOf(replies);
    expect(busy.length).toBeGreaterThan(0);
    expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([200, 429]));
    expect(busy[0]?.text).toContain("too many YAML texts of this client");
  });
});

describe("a list in YAML for which the thread has no room behind its first part", () => {
  const list = `${configMaps}?labelSelector=listed`;

  beforeAll(async () => {
    const data = { text: "a line\n".repeat(140_000) };
    // More than the buffers of a connection hold, so that most of it is not encoded before the client reads on.
    for (let index = 0; index < 16; index += 1) {
      const body = { metadata: { name: `listed-${index}`, labels: { listed: "" } }, data };
      const made = await call(hub, hub.admin, { path: configMaps, body });
      if (made.status !== 201) throw new RangeError(made.text);
    }
  });

  /** Keeps the places of a client taken until `ended`. */
  async function floodUntil(ended: Promise<unknown>): Promise<void> {
    let goesOn = true;
    void ended.finally(() => (goesOn = false));
    const sender = async (): Promise<void> => {
      while (goesOn) await create(jane, costly);
    };
    await Promise.all(Array.from({ length: 40 }, sender));
  }

  const line = expect.objectContaining({
    level: "warn",
    reason: "AnswerBrokenOff",
    request: expect.stringContaining(`list ${configMaps} by "jane"`),
    error: expect.stringContaining("too many YAML texts of this client"),
  });

  test("ends with a reset that says error in HTTP/2, and a log line with reason and request", async () => {
    const session = await openHttp2(hub.target, hub.as("jane", "people"));
    const stream = session.request({ ":path": list, accept: yaml });
    stream.on("error", () => undefined);
    await once(stream, "response");
    const closed = new Promise((resolve) => stream.once("close", resolve));
    const flooded = floodUntil(closed);
    await create(jane, costly);
    stream.resume();
    await flooded;
    expect(stream.rstCode).toBe(constants.NGHTTP2_INTERNAL_ERROR);
    expect(hub.log).toContainEqual(line);
    session.destroy();
  });

  test("ends without its last chunk in HTTP/1.1", async () => {
    const before = hub.log.length;
    const socket = await openTls(hub.target, "http/1.1", hub.as("jane", "people"));
    socket.write(requestBytes({ path: list, headers: [["accept", yaml]] }));
    await once(socket, "readable");
    const closed = once(socket, "close");
    const flooded = floodUntil(closed);
    await create(jane, costly);
    const chunks: Buffer[] = [];
    socket.on("data", (chunk: Buffer) => chunks.push(chunk));
    await flooded;
    const text = Buffer.concat(chunks).toString("latin1");
    expect(text).toContain("HTTP/1.1 200");
    expect(text.endsWith("0\r\n\r\n")).toBe(false);
    expect(hub.log.slice(before)).toContainEqual(line);
  });
});
