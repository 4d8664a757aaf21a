import { createHash } from "node:crypto";
import { once } from "node:events";
import type { ClientHttp2Session } from "node:http2";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { eventually } from "../kits/peers-process.ts";
import { openHttp2, openTls, requestBytes, sendHttp2 } from "../kits/wire.ts";
import { call, startAttackedHub, type AttackedHub } from "./attacked-hub.ts";

const megabyte = 1024 * 1024;
const count = 12;
const path = "/api/v1/namespaces/default/configmaps";
const watch = `${path}?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=600`;
const meta = "g=meta.k8s.io;v=v1";
const forms = [
  ["a watch in JSON", watch, "application/json"],
  ["a watch in protobuf", watch, "application/vnd.kubernetes.protobuf;stream=watch"],
  ["a watch as Tables with objects", `${watch}&includeObject=Object`, `application/json;as=Table;${meta}`],
  ["a list in JSON", path, "application/json"],
  ["a list in protobuf", path, "application/vnd.kubernetes.protobuf"],
  ["a list as a Table with objects", `${path}?includeObject=Object`, `application/json;as=Table;${meta}`],
  ["an object as a Table with it", `${path}/large-0?includeObject=Object`, `application/json;as=Table;${meta}`],
] as const;

let hub: AttackedHub;
let observer: ClientHttp2Session;

beforeAll(async () => {
  hub = await startAttackedHub();
  observer = await openHttp2(hub.target, hub.admin);
  for (let index = 0; index < count; index += 1) {
    // Characters of one, two and four bytes.
    const data = { text: `${index} é𝄞 `.repeat(80_000) };
    const body = { metadata: { name: `large-${index}`, labels: { large: "yes" } }, data };
    const { status, text } = await call(hub, hub.admin, { path, body });
    if (status !== 201) throw new RangeError(text);
  }
});

afterAll(async () => {
  observer.destroy();
  await hub.close();
});

async function unreadBytes(): Promise<number> {
  const { text } = await sendHttp2(observer, { path: "/metrics" });
  return Number(/^pratique_unread_response_bytes (\d+)$/m.exec(text)?.[1]);
}

/** What waits once it does not change any more. */
async function settledBytes(): Promise<number> {
  let [before, still] = [-1, 0];
  return eventually("what waits does not change", async () => {
    const now = await unreadBytes();
    still = now === before ? still + 1 : 0;
    before = now;
    return still >= 5 ? now : undefined;
  });
}

describe.each(forms)("answers that are not read: %s", (_what, asked, accept) => {
  it("take a bounded share of one user on a hundred streams of one connection, and nothing when that is gone", async () => {
    const session = await openHttp2(hub.target, hub.admin);
    for (let stream = 0; stream < 100; stream += 1) {
      session.request({ ":path": asked, accept }).on("error", () => undefined);
    }
    await eventually("something waits", async () => (await unreadBytes()) > 0 || undefined);
    const most = await settledBytes();
    expect(most).toBeGreaterThan(0);
    expect(most).toBeLessThanOrEqual(16 * megabyte + 100 * 64 * 1024);
    session.destroy();
    await eventually("nothing waits", async () => (await unreadBytes()) === 0 || undefined);
  });
});

/** The events of a watch in JSON up to the bookmark behind the initial ones. */
function eventsIn(
  text: string,
): readonly { readonly type: string; readonly object: Readonly<Record<string, unknown>> }[] {
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as never);
}

describe("a client that reads slowly", () => {
  it("is sent every event of a watch whole and in order, and what happens meanwhile behind them", async () => {
    const stream = observer.request({ ":path": watch });
    const chunks: Buffer[] = [];
    await once(stream, "response");
    const renamed = await call(hub, hub.admin, {
      method: "PATCH",
      path: `${path}/large-0`,
      type: "application/merge-patch+json",
      body: { metadata: { labels: { changed: "yes" } } },
    });
    expect(renamed.status).toBe(200);
    // All of it is long, and what is looked for is in what comes last.
    const isEnough = (): boolean =>
      Buffer.concat(chunks.slice(-200)).includes('"changed":"yes"') && chunks.at(-1)?.at(-1) === 0x0a;
    for await (const chunk of stream) {
      chunks.push(chunk as Buffer);
      await new Promise((resolve) => void setImmediate(resolve));
      if (chunks.length % 50 === 0 && isEnough()) break;
      if (chunks.length > 1 && (chunk as Buffer).at(-1) === 0x0a && isEnough()) break;
    }
    stream.close();
    const events = eventsIn(Buffer.concat(chunks).toString());
    const listed = await call(hub, hub.admin, { path });
    const items = listed.json["items"] as readonly {
      readonly metadata: { readonly name: string; readonly resourceVersion: string };
    }[];
    const large = items.filter(({ metadata }) => metadata.name.startsWith("large-"));
    const added = events.filter(
      ({ type, object }) => type === "ADDED" && JSON.stringify(object).includes('"large":"yes"'),
    );
    expect(added.map(({ object }) => (object["metadata"] as { readonly name: string }).name)).toEqual(
      large.map(({ metadata }) => metadata.name),
    );
    expect(added.slice(1).map(({ object }) => ({ ...object, kind: undefined, apiVersion: undefined }))).toMatchObject(
      large.slice(1).map((item) => ({ ...item, kind: undefined, apiVersion: undefined })),
    );
    const types = events.map(({ type }) => type);
    expect(types.indexOf("BOOKMARK")).toBe(items.length);
    expect(types.slice(items.length + 1)).toEqual(["MODIFIED"]);
  });

  it.each(forms.filter(([what]) => !what.startsWith("a watch")))(
    "is sent the same bytes: %s",
    async (_what, asked, accept) => {
      const at = await sendHttp2(observer, { path: asked, headers: [["accept", accept]] });
      const socket = await openTls(hub.target, "http/1.1", hub.admin);
      socket.write(requestBytes({ path: asked, headers: [["accept", accept]] }));
      const chunks: Buffer[] = [];
      for await (const chunk of socket) {
        chunks.push(chunk as Buffer);
        await new Promise((resolve) => void setImmediate(resolve));
      }
      const all = Buffer.concat(chunks);
      expect(at.status).toBe(200);
      expect(withoutAges(bodyOf(all))).toBe(withoutAges(at.body));
    },
  );
});

/** An object grows older between two answers. */
function withoutAges(body: Buffer): string {
  return createHash("sha256")
    .update(body.toString("latin1").replaceAll(/"(?:\d+[smh])+"/g, ""))
    .digest("hex");
}

function bodyOf(reply: Buffer): Buffer {
  const start = reply.indexOf("\r\n\r\n") + 4;
  if (!/transfer-encoding: chunked/i.test(reply.subarray(0, start).toString("latin1"))) return reply.subarray(start);
  const parts: Buffer[] = [];
  for (let at = start; ;) {
    const end = reply.indexOf("\r\n", at);
    const size = Number.parseInt(reply.subarray(at, end).toString("latin1"), 16);
    if (!(size > 0)) return Buffer.concat(parts);
    parts.push(reply.subarray(end + 2, end + 2 + size));
    at = end + 2 + size + 2;
  }
}
