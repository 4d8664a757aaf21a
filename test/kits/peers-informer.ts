import { connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { rm, writeFile } from "node:fs/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Clock } from "../../src/apimachinery/clock.ts";
import { systemClock } from "../../src/host/system-clock.ts";
import { openLmdb } from "../../src/storage/lmdb.ts";
import { apiClient, type ApiClient } from "./api-client.ts";
import { startTestHub } from "./hub.ts";
import { freePort } from "./peers-kube.ts";
import { eventually } from "./peers-process.ts";

/** A hub behind a line that can be cut, with somebody who writes ConfigMaps, for clients that must miss nothing. */
export interface InformerStage {
  /** The address at which clients find the hub: the line. */
  readonly url: string;
  readonly ca: () => string;
  readonly dir: string;
  /** A file with the bearer token of one who may read ConfigMaps. */
  readonly tokenFile: string;
  /** Puts a new token there, good for ten minutes. */
  readonly renewToken: () => Promise<void>;
  /** So many rounds of creating, updating and deleting; gives the names that were created. */
  readonly write: (rounds: number) => Promise<readonly string[]>;
  /** Ends all connections of clients; with `down`, new ones are refused until `up`. */
  readonly cut: (then?: "down") => void;
  readonly up: () => void;
  /** Stops the hub and starts it on the same data and port; between, all history is forgotten if so wished. */
  readonly restart: (history: "keep" | "compact") => Promise<void>;
  /** Lets so many seconds pass for the hub. */
  readonly advance: (seconds: number) => void;
  /** `sequence@resourceVersion` of all that is there, by name. */
  readonly truth: () => Promise<Readonly<Record<string, string>>>;
  readonly close: () => Promise<void>;
}

const maps = "/api/v1/namespaces/watched/configmaps";
const account = "/api/v1/namespaces/default/serviceaccounts";
const readers = "/apis/rbac.authorization.k8s.io/v1/namespaces/watched";

/** Starts it all. */
async function informerStage(): Promise<InformerStage> {
  let ahead = 0;
  const clock: Clock = { now: () => Date.now() + ahead, sleep: systemClock.sleep };
  // A port that nobody is given while the hub is down.
  let hub = await startTestHub({ clock, securePort: await freePort() });
  let admin = apiClient(hub);
  const { port, dir } = hub;
  const line = await cuttableLine(port);
  const { write, must } = writer(() => admin);
  await must("POST", "/api/v1/namespaces", { metadata: { name: "watched" } });
  await must("POST", account, { metadata: { name: "watcher" } });
  await must("POST", `${readers}/roles`, {
    metadata: { name: "reader" },
    rules: [{ apiGroups: [""], resources: ["configmaps"], verbs: ["get", "list", "watch"] }],
  });
  await must("POST", `${readers}/rolebindings`, {
    metadata: { name: "reader" },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "reader" },
    subjects: [{ kind: "ServiceAccount", name: "watcher", namespace: "default" }],
  });
  const tokenFile = join(dir, "token");
  const renewToken = async (): Promise<void> => {
    const made = await must("POST", `${account}/watcher/token`, { spec: { expirationSeconds: 600 } });
    await writeFile(tokenFile, (made["status"] as { readonly token: string }).token, { mode: 0o600 });
  };
  await renewToken();
  return {
    url: `https://127.0.0.1:${line.port}`,
    ca: () => hub.ca,
    dir,
    write,
    cut: line.cut,
    up: line.up,
    tokenFile,
    renewToken,
    restart: async (history) => {
      admin.close();
      await hub.close("keep");
      if (history === "compact") await forgetHistory(hub.dataDir);
      hub = await startTestHub({ dir, securePort: port, clock });
      admin = apiClient(hub);
    },
    advance: (seconds) => void (ahead += seconds * 1000),
    truth: async () => {
      const items = (await admin(maps)).items();
      return Object.fromEntries(
        items.map(({ metadata, ...rest }) => [
          metadata.name ?? "",
          `${sequenceOf(rest["data"])}@${metadata.resourceVersion ?? ""}`,
        ]),
      );
    },
    close: async () => {
      admin.close();
      await line.close();
      await hub.close();
      await rm(dir, { recursive: true, force: true });
    },
  };
}

function sequenceOf(data: unknown): string {
  return (data as Readonly<Record<string, string>> | undefined)?.["seq"] ?? "";
}

/** What the hub's compaction does in the course of days of writing. */
async function forgetHistory(dataDir: string): Promise<void> {
  const store = await openLmdb({ dir: join(dataDir, "store") });
  await store.compact(await store.currentRevision());
  await store.close();
}

function writer(admin: () => ApiClient): {
  readonly write: InformerStage["write"];
  readonly must: (method: string, path: string, body?: object) => Promise<Readonly<Record<string, unknown>>>;
} {
  let [made, sequence] = [0, 0];
  const body = (number: number): object => ({
    metadata: { name: `w-${number}` },
    data: { seq: String((sequence += 1)) },
  });

  async function must(method: string, path: string, body?: object): Promise<Readonly<Record<string, unknown>>> {
    const reply = await admin()(path, { method, ...(body === undefined ? {} : { body }) });
    if (reply.status >= 300) throw new Error(`${method} ${path}: ${reply.text}`);
    return reply.json();
  }

  /** Each round makes one and changes the one before; each third removes the one before that. */
  async function round(): Promise<string> {
    made += 1;
    await must("POST", maps, body(made));
    if (made > 1) await must("PUT", `${maps}/w-${made - 1}`, body(made - 1));
    if (made % 3 === 0) await must("DELETE", `${maps}/w-${made - 2}`);
    return `w-${made}`;
  }

  return {
    must,
    write: async (rounds) => {
      const names: string[] = [];
      for (let each = 0; each < rounds; each += 1) names.push(await round());
      return names;
    },
  };
}

/** Passes bytes on to a port until it is cut. */
async function cuttableLine(to: number): Promise<{
  readonly port: number;
  readonly cut: InformerStage["cut"];
  readonly up: () => void;
  readonly close: () => Promise<void>;
}> {
  const sockets = new Set<Socket>();
  let down = false;
  const server = createServer((near) => {
    if (down) {
      near.destroy();
      return;
    }
    const far = connect(to, "127.0.0.1");
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(one);
      one
        .on("error", () => undefined)
        .on("close", () => {
          sockets.delete(one);
          other.destroy();
        });
      one.pipe(other);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const cut = (then?: "down"): void => {
    down = then === "down";
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: typeof address === "object" && address !== null ? address.port : 0,
    cut,
    up: () => void (down = false),
    close: async () => {
      cut("down");
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** One thing that an informer told, in its order; `refused` is a 401 after which it took a new token. */
export interface Report {
  readonly type: "add" | "update" | "delete" | "relist" | "refused";
  readonly name: string;
  readonly version: string;
}

/** What an informer of any language shows of itself. */
export interface Observed {
  readonly told: () => readonly Report[];
  /** `sequence@resourceVersion` of all that it holds, by name. */
  readonly cache: () => Readonly<Record<string, string>>;
  readonly stop: () => Promise<unknown>;
}

/** The tests that any informer passes; they go on from each other. */
export function informerTests(start: (stage: InformerStage) => Promise<Observed>): void {
  let stage: InformerStage;
  let informer: Observed;
  const count = (type: Report["type"]): number => informer.told().filter((one) => one.type === type).length;
  const told = (type: Report["type"]): readonly string[] =>
    informer.told().flatMap((one) => (one.type === type ? [one.name] : []));

  beforeAll(async () => {
    stage = await informerStage();
    await stage.write(5);
    informer = await start(stage);
  });

  afterAll(async () => {
    await informer?.stop();
    await stage?.close();
  });

  test("holds what was there before, and is told what comes", async () => {
    await agreed(stage, informer);
    const made = await stage.write(6);
    await agreed(stage, informer);
    expect(told("add")).toEqual(expect.arrayContaining([...made]));
    expect(count("relist")).toBe(1);
  });

  test("goes on where it was when the hub was stopped and started, without a new list", async () => {
    const made = [...(await stage.write(4))];
    await stage.restart("keep");
    made.push(...(await stage.write(5)));
    await agreed(stage, informer);
    expect(told("add")).toEqual(expect.arrayContaining(made));
    expect(count("relist")).toBe(1);
  });

  test("is told afterwards what it could not hear while the line was cut", async () => {
    const deleted = count("delete");
    stage.cut("down");
    const made = await stage.write(9);
    stage.up();
    await agreed(stage, informer);
    expect(told("add")).toEqual(expect.arrayContaining([...made]));
    expect(count("delete")).toBe(deleted + 3);
    expect(count("relist")).toBe(1);
  });

  test("lists again when the history of that time is gone, and holds what the hub holds", async () => {
    stage.cut("down");
    await stage.write(9);
    await stage.restart("compact");
    stage.up();
    await agreed(stage, informer);
    expect(count("relist")).toBe(2);
    const after = await stage.write(3);
    await agreed(stage, informer);
    expect(told("add")).toEqual(expect.arrayContaining([...Object.keys(await stage.truth()), ...after]));
  });

  test("goes on with a new token when its own has expired", async () => {
    const refused = count("refused");
    // Its ten minutes, and the minute by which clocks may differ.
    stage.advance(661);
    await stage.renewToken();
    stage.cut();
    const made = await stage.write(4);
    await agreed(stage, informer);
    expect(count("refused")).toBe(refused + 1);
    expect(told("add")).toEqual(expect.arrayContaining([...made]));
    expect(count("relist")).toBe(2);
  });

  test("was never told of a version older than one it knew, and was told of the end of all that is gone", async () => {
    const versions = new Map<string, number>();
    for (const { type, name, version } of informer.told()) {
      if (type !== "add" && type !== "update") continue;
      expect(Number(version), `${type} of ${name}`).toBeGreaterThan(versions.get(name) ?? 0);
      versions.set(name, Number(version));
    }
    expect(versions.size).toBeGreaterThan(30);
    const there = Object.keys(await stage.truth());
    expect(told("delete").toSorted()).toEqual([...versions.keys()].filter((name) => !there.includes(name)).toSorted());
  });
}

/** Waits until the informer holds what the hub holds. @throws Error with the difference when it never does. */
async function agreed(stage: InformerStage, informer: Observed): Promise<void> {
  const truth = sorted(await stage.truth());
  await eventually(`the informer to hold ${truth} and not ${sorted(informer.cache())}`, () =>
    sorted(informer.cache()) === truth ? true : undefined,
  );
}

function sorted(map: Readonly<Record<string, string>>): string {
  return JSON.stringify(Object.entries(map).sort(([a], [b]) => (a < b ? -1 : 1)));
}
