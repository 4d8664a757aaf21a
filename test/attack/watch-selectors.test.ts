import { once } from "node:events";
import type { ClientHttp2Session, ClientHttp2Stream } from "node:http2";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { openHttp2, sendHttp2 } from "../kits/wire.ts";
import { call, startAttackedHub, type AttackedHub } from "./attacked-hub.ts";

const path = "/api/v1/namespaces/default/configmaps";
const watches = 40;
/** A value that stands in the labels of one object and nowhere else. */
const mark = "read-once-for-all";

let hub: AttackedHub;
let session: ClientHttp2Session;

beforeAll(async () => {
  hub = await startAttackedHub();
  session = await openHttp2(hub.target, hub.admin);
  const labels = Object.fromEntries(Array.from({ length: 4_000 }, (_, index) => [`label-${index}`, mark]));
  const { status, text } = await call(hub, hub.admin, {
    path,
    body: { metadata: { name: "labelled", labels }, data: { text: "x".repeat(70_000) } },
  });
  if (status !== 201) throw new RangeError(text);
});

afterAll(async () => {
  session.destroy();
  await hub.close();
});

async function openWatch(labelSelector: string): Promise<ClientHttp2Stream> {
  const stream = session.request({ ":path": `${path}?watch=true&labelSelector=${encodeURIComponent(labelSelector)}` });
  stream.on("error", () => undefined);
  await once(stream, "response");
  return stream;
}

describe("many watches with label selectors on an object with thousands of labels", () => {
  it("read the labels of one change once for all watches, not once for each", async () => {
    for (let index = 0; index < watches; index += 1) await openWatch(`label-0=other-${index}`);
    // Watches are woken in the order in which they began: once this one has its event, all others have looked at theirs.
    const last = await openWatch("label-0");
    const parse = vi.spyOn(JSON, "parse");
    try {
      const event = once(last, "data");
      const patched = await sendHttp2(session, {
        method: "PATCH",
        path: `${path}/labelled`,
        headers: [["content-type", "application/merge-patch+json"]],
        body: '{"data":{"more":"1"}}',
      });
      expect(patched.status).toBe(200);
      await event;
      const reads = parse.mock.calls.filter(([text]) => typeof text === "string" && text.includes(mark)).length;
      // The write itself reads the object some times: what is stored, what it becomes, what is answered.
      expect(reads).toBeLessThan(watches / 2);
    } finally {
      parse.mockRestore();
    }
  });
});
