import { once } from "node:events";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { systemClock } from "../../src/host/system-clock.ts";
import type { Clock } from "../../src/apimachinery/clock.ts";
import {
  openHttp2,
  openTls,
  parseReply,
  protocols,
  requestBytes,
  send,
  sendHttp2,
  speak,
  type Dial,
  type Protocol,
  type WireReply,
} from "../kits/wire.ts";
import { call, startAttackedHub, type AttackedHub } from "./attacked-hub.ts";

/** A clock that can be put forward, which ends the sleeps that are then over. */
function jumpingClock(): { readonly clock: Clock; readonly jump: (ms: number) => void } {
  let ahead = 0;
  const sleeps = new Set<{ readonly due: number; readonly end: () => void }>();
  const now = (): number => systemClock.now() + ahead;
  return {
    clock: {
      now,
      sleep: async (ms, signal) => {
        const early = new AbortController();
        const sleep = { due: now() + ms, end: () => early.abort() };
        sleeps.add(sleep);
        await systemClock.sleep(ms, signal === undefined ? early.signal : AbortSignal.any([signal, early.signal]));
        sleeps.delete(sleep);
      },
    },
    jump: (ms) => {
      ahead += ms;
      for (const { due, end } of sleeps) if (due <= now()) end();
    },
  };
}

const { clock, jump } = jumpingClock();
const watchesOfOne = 100;
/** An eighth of the places of their level. */
const bodiesOfOne = 5;
let hub: AttackedHub;
let mallory: Dial;
let jane: Dial;
let node: Dial;
const releases: (() => void)[] = [];

beforeAll(async () => {
  hub = await startAttackedHub({ clock, maxRequestsInflight: 100, maxWatchesPerUser: watchesOfOne });
  mallory = hub.as("mallory", "people");
  jane = hub.as("jane", "people");
  node = hub.as("system:node:one", "system:nodes");
  await call(hub, hub.admin, {
    path: "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    body: {
      metadata: { name: "fairness" },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin" },
      subjects: ["people", "system:nodes"].map((name) => ({
        kind: "Group",
        name,
        apiGroup: "rbac.authorization.k8s.io",
      })),
    },
  });
  await call(hub, hub.admin, { path: leases, body: { metadata: { name: "one" }, spec: {} } });
});
/** Whatever was done, all places are free again. */
afterEach(() => settled());
afterAll(() => hub.close());

async function settled(): Promise<void> {
  for (const release of releases.splice(0)) release();
  await expect.poll(() => metric("apiserver_flowcontrol_current_inqueue_requests")).toBe(0);
  await expect.poll(() => metric("pratique_request_bodies")).toBe(0);
}

/** Where each node renews the one that bears its name. */
const leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
const maps = "/api/v1/namespaces/default/configmaps";
const json = [["content-type", "application/json"]] as const;

/** The sum over all labels. */
async function metric(name: string): Promise<number> {
  const { text } = await send(hub.target, { path: "/metrics" }, hub.admin);
  const lines = text.split("\n").filter((line) => line.startsWith(`${name}{`));
  expect(lines.length).toBeGreaterThan(0);
  return lines.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
}

/** What everybody else does meanwhile. */
async function statusesOfOthers(over: Protocol): Promise<readonly number[]> {
  const asJane = { ...jane, over };
  const renewal = {
    method: "PATCH",
    path: `${leases}/one`,
    body: { spec: { holderIdentity: "one" } },
    type: "application/merge-patch+json",
  };
  const each = async (): Promise<readonly number[]> => {
    const replies = await Promise.all([
      call(hub, asJane, { path: maps }),
      call(hub, asJane, { path: `${maps}?dryRun=All`, body: { metadata: { name: "x" } } }),
      call(hub, { ...node, over }, renewal),
      call(hub, asJane, { path: "/apis" }),
      call(hub, { over }, { path: "/readyz" }),
    ]);
    return replies.map(({ status }) => status);
  };
  return (await Promise.all([each(), each(), each()])).flat();
}

const allServed = [1, 2, 3].flatMap(() => [200, 201, 200, 200, 200]);

function expectTooMany(reply: WireReply | undefined): void {
  expect(reply?.status).toBe(429);
  expect(reply?.text).toBe("Too many requests, please try again later.");
  expect(reply?.headers.get("retry-after")).toBe("1");
  expect(reply?.headers.get("content-type")).toBe("text/plain; charset=utf-8");
}

/** Requests whose bodies never come. */
async function slowBodies(count: number, over: Protocol): Promise<void> {
  if (over === "HTTP/2") {
    const session = await openHttp2(hub.target, mallory);
    releases.push(() => session.destroy());
    for (let index = 0; index < count; index += 1) {
      session
        .request({ ":method": "POST", ":path": maps, "content-type": "application/json" })
        .on("error", () => undefined);
    }
    return;
  }
  for (let index = 0; index < count; index += 1) {
    const socket = await openTls(hub.target, "http/1.1", mallory);
    releases.push(() => socket.destroy());
    socket.write(
      `POST ${maps} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{`,
    );
  }
}

describe.each(protocols)("over %s", (over) => {
  test("bodies of one user that do not come leave places for all others, and the user's own wait no longer than 15 s", async () => {
    await slowBodies(over === "HTTP/2" ? 500 : 60, over);
    await expect.poll(() => metric("pratique_request_bodies")).toBe(bodiesOfOne);
    expect(await statusesOfOthers(over)).toEqual(allServed);
    const own = send(hub.target, { method: "POST", path: maps, headers: json, body: "{}" }, { ...mallory, over });
    await expect
      .poll(() => metric("apiserver_flowcontrol_current_inqueue_requests"))
      .toBe((over === "HTTP/2" ? 500 : 60) - bodiesOfOne + 1);
    expect((await call(hub, { ...mallory, over }, { path: maps })).status).toBe(200);
    const refused = await metric("apiserver_flowcontrol_rejected_requests_total");
    jump(15_001);
    expectTooMany(await own);
    expect(await metric("apiserver_flowcontrol_rejected_requests_total")).toBeGreaterThan(refused);
  });

  test("five thousand requests of one user leave room for all others; two thousand wait, no more", async () => {
    await slowBodies(bodiesOfOne, over);
    await expect.poll(() => metric("pratique_request_bodies")).toBe(bodiesOfOne);
    const flood = over === "HTTP/2" ? floodHttp2(mallory, write, 5) : floodHttp1(mallory, write, 5);
    await expect.poll(() => metric("apiserver_flowcontrol_current_inqueue_requests")).toBe(2000);
    expect(await statusesOfOthers(over)).toEqual(allServed);
    jump(15_001);
    const replies = await flood;
    expect(replies).toHaveLength(5000);
    for (const reply of replies) expectTooMany(reply);
  });

  test("a flood without credentials leaves room for those who have some", async () => {
    const request = { path: "/api/v1/namespaces/kube-public/configmaps/cluster-info" };
    const flood = over === "HTTP/2" ? floodHttp2({}, request, 1) : floodHttp1({}, request, 1);
    expect(await statusesOfOthers(over)).toEqual(allServed);
    const replies = await flood;
    expect(replies.every(({ status }) => status === 200 || status === 429)).toBe(true);
  });

  test("watches of one user are counted, and others may still watch", async () => {
    const wanted = over === "HTTP/2" ? 2000 : watchesOfOne + 20;
    const statuses = await (over === "HTTP/2" ? watchesHttp2(wanted) : watchesHttp1(wanted));
    expect(statuses.filter((status) => status === 200)).toHaveLength(watchesOfOne);
    expect(statuses.filter((status) => status === 429)).toHaveLength(wanted - watchesOfOne);
    expect(await statusesOfOthers(over)).toEqual(allServed);
    const brief = { path: `${leases}?watch=true&timeoutSeconds=1` };
    const watched = await send(hub.target, brief, { ...jane, over });
    expect(watched.status).toBe(200);
    for (const release of releases.splice(0)) release();
    await expect.poll(() => metric("apiserver_longrunning_requests")).toBe(0);
    const again = await send(hub.target, brief, { ...mallory, over });
    expect(again.status).toBe(200);
  });
});

const write = {
  method: "POST",
  path: maps,
  headers: json,
  body: JSON.stringify({ metadata: { generateName: "m-" } }),
};

async function floodHttp2(
  dial: Dial,
  request: Parameters<typeof sendHttp2>[1],
  thousands: number,
): Promise<readonly WireReply[]> {
  const sessions = await Promise.all(Array.from({ length: thousands }, () => openHttp2(hub.target, dial)));
  releases.push(...sessions.map((session) => () => session.destroy()));
  return Promise.all(sessions.flatMap((session) => Array.from({ length: 1000 }, () => sendHttp2(session, request))));
}

/** Requests that do not wait for replies. */
async function floodHttp1(
  dial: Dial,
  request: Parameters<typeof requestBytes>[0],
  thousands: number,
): Promise<readonly WireReply[]> {
  const headers = request.headers ?? [];
  const one = requestBytes({ ...request, headers: [...headers, ["Connection", "keep-alive"]] });
  const last = requestBytes(request);
  const sockets = await Promise.all(
    Array.from({ length: thousands * 20 }, () => openTls(hub.target, "http/1.1", dial)),
  );
  const answers = await Promise.all(
    sockets.map((socket) => speak(socket, Buffer.concat([...Array.from({ length: 49 }, () => one), last]))),
  );
  return answers.flatMap((bytes) =>
    bytes
      .toString("latin1")
      .split(/(?=HTTP\/1\.1 \d{3} )/)
      .map((reply) => parseReply(Buffer.from(reply, "latin1"))),
  );
}

async function watchesHttp2(count: number): Promise<readonly number[]> {
  const sessions = await Promise.all(
    Array.from({ length: Math.ceil(count / 500) }, () => openHttp2(hub.target, mallory)),
  );
  releases.push(...sessions.map((session) => () => session.destroy()));
  return Promise.all(
    sessions.flatMap((session) =>
      Array.from({ length: 500 }, async () => {
        const stream = session.request({ ":path": `${leases}?watch=true` }).on("error", () => undefined);
        const [headers] = (await once(stream, "response")) as [{ readonly ":status": number }];
        stream.resume();
        return headers[":status"];
      }),
    ),
  );
}

async function watchesHttp1(count: number): Promise<readonly number[]> {
  const statuses: number[] = [];
  for (let index = 0; index < count; index += 1) {
    const socket = await openTls(hub.target, "http/1.1", mallory);
    releases.push(() => socket.destroy());
    socket.write(requestBytes({ path: `${leases}?watch=true` }));
    const [bytes] = (await once(socket, "data")) as [Buffer];
    statuses.push(Number(/^HTTP\/1\.1 (\d{3})/.exec(bytes.toString("latin1"))?.[1]));
  }
  return statuses;
}
