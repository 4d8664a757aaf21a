import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { fakeIo } from "../../test/kits/fake-io.ts";
import { replayedRequests, type NotReplayed } from "./replayed-requests.ts";
import { replayTally } from "./replay.ts";

let dir: string;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "pratique-logs-"));
});

afterAll(() => rm(dir, { recursive: true, force: true }));

function line(auditID: string, stage = "ResponseComplete", decision = "allow", second = "00"): string {
  return JSON.stringify({
    kind: "Event",
    apiVersion: "audit.k8s.io/v1",
    auditID,
    stage,
    requestURI: "/api/v1/pods",
    verb: "list",
    user: { username: "ann" },
    objectRef: { resource: "pods", apiVersion: "v1" },
    requestReceivedTimestamp: `2026-11-21T05:00:${second}.000000Z`,
    annotations: { "authorization.k8s.io/decision": decision },
  });
}

async function replayed(
  ...logs: readonly (string | Uint8Array)[]
): Promise<{ readonly ids: readonly string[]; readonly left: NotReplayed }> {
  const files = logs.map((_, index) => join(dir, `${index}.log`));
  for (const [index, text] of logs.entries()) await writeFile(files[index] ?? "", text);
  const left: NotReplayed = { undecided: 0, repeated: 0, unreadable: 0, firstUnreadable: undefined };
  const ids: string[] = [];
  for await (const { auditId } of replayedRequests(files, { ...fakeIo(), cwd: dir }, left)) ids.push(auditId);
  return { ids, left };
}

describe("the requests of audit logs", () => {
  test("count once, whatever stages and files tell of them", async () => {
    const first = [line("a", "RequestReceived"), line("w", "ResponseStarted"), line("a")].join("\n");
    const { ids, left } = await replayed(`${first}\n`, `${line("w")}\n${line("a")}\n${line("b")}`);
    expect(ids).toEqual(["w", "a", "b"]);
    expect(left).toMatchObject({ repeated: 2, unreadable: 0 });
  });

  test("cannot be hidden by a client that gives all of its requests one id", async () => {
    const { ids } = await replayed([line("a"), line("a", "ResponseComplete", "allow", "01")].join("\n"));
    expect(ids).toEqual(["a", "a"]);
  });

  test("are read from packed files, also from several packed one after the other", async () => {
    const packed = Buffer.concat([gzipSync(`${line("a")}\n`), gzipSync(`${line("b")}\n`)]);
    expect((await replayed(packed)).ids).toEqual(["a", "b"]);
  });

  test("are found between lines that are none, which are counted and named", async () => {
    const huge = `{"kind":"${"x".repeat(17 << 20)}"}`;
    const { ids, left } = await replayed(`${line("a")}\n\nnonsense\n${huge}\n${line("b", "Panic")}\n{"kind":"Ev`);
    expect(ids).toEqual(["a", "b"]);
    expect(left.unreadable).toBe(3);
    expect(left.firstUnreadable).toMatch(/0\.log:3$/);
  });

  test("leave out what nobody decided", async () => {
    expect((await replayed(line("a", "ResponseComplete", ""))).left.undecided).toBe(1);
    expect((await replayed("")).ids).toEqual([]);
  });

  test("cannot be read from a packed file that is broken, which is told", async () => {
    const broken = gzipSync(`${line("a")}\n`.repeat(500)).subarray(0, 60);
    await expect(replayed(broken)).rejects.toThrow(/the compressed file .*0\.log is cut off/);
  });

  test("never make it throw, whatever the bytes", async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 300 }), async (bytes) => {
        // What begins like gzip may be broken.
        const { ids } = await replayed(bytes[0] === 0x1f ? bytes.subarray(1) : bytes);
        expect(ids).toEqual([]);
      }),
      { numRuns: 50 },
    );
  });
});

describe("the tally of changes", () => {
  const request = (user: string, time: string): Parameters<ReturnType<typeof replayTally>["add"]>[0] => ({
    attributes: {
      user: { username: user, groups: [] },
      verb: "get",
      group: "",
      version: "v1",
      resource: "pods",
      subresource: "",
      namespace: "default",
      name: `web-${time}`,
      path: undefined,
    },
    impersonatedBy: undefined,
    wasAllowed: true,
    before: "b",
    beforeBy: "RBAC",
    by: "RBAC",
    why: "w",
    time,
    auditId: `id-${time}`,
  });

  test("counts by user and rule and not by name, the largest first, with the first and the last time", () => {
    const tally = replayTally(10);
    for (const [user, time] of [
      ["ann", "1"],
      ["bea", "5"],
      ["bea", "4"],
    ] as const)
      tally.add(request(user, time));
    expect(tally.changes()).toMatchObject([
      { user: "bea", count: 2, first: "4", last: "5", auditID: "id-5" },
      { user: "ann", count: 1 },
    ]);
  });

  test("keeps no more kinds than it was told, and counts the others", () => {
    const tally = replayTally(2);
    for (let at = 0; at < 50; at += 1) tally.add(request(`u${at}`, "1"));
    tally.add(request("u0", "2"));
    expect(tally.changes().map(({ user, count }) => [user, count])).toEqual([
      ["u0", 2],
      ["u1", 1],
    ]);
    expect(tally.others()).toEqual({ "now refused": 48, "now allowed": 0 });
  });
});
