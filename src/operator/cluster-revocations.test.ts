import { afterEach, describe, expect, test } from "vitest";
import { ConnectionError } from "../client/client.ts";
import { StatusError } from "../apimachinery/status.ts";
import type { LogEntry } from "../apimachinery/log-entry.ts";
import { credentialRevocations } from "../apis/credential-revocation.ts";
import { memoryApi, type MemoryApi } from "../../test/kits/memory-api.ts";
import { fakeClock, settled, type FakeClock } from "../../test/kits/fake-clock.ts";
import { clusterRevocations, type ClusterRevocations } from "./watched-revocations.ts";

type Reply = { readonly status: number; readonly json?: unknown } | Error;

let life = new AbortController();
afterEach(() => life.abort());

const list = (...names: readonly string[]): Reply => ({
  status: 200,
  json: { kind: "APIResourceList", resources: names.map((name) => ({ name })) },
});
const served = list("accessrequests", "credentialrevocations");
const absent: Reply = { status: 404 };

interface World {
  readonly api: MemoryApi;
  readonly clock: FakeClock;
  readonly logged: LogEntry[];
  /** Undefined while nothing is known. */
  readonly found: () => ClusterRevocations | "stopped" | undefined;
}

/** Discovery gives these replies in turn, the last one for good. */
function world(replies: readonly Reply[], prepare: (api: MemoryApi) => void = () => undefined): World {
  life = new AbortController();
  const clock = fakeClock();
  const api = memoryApi({ clock });
  prepare(api);
  const logged: LogEntry[] = [];
  const left = [...replies];
  const raw = async (method: string, path: string) => {
    expect(`${method} ${path}`).toBe("GET /apis/access.pratique.dev/v1alpha1");
    const reply = left.length > 1 ? left.shift() : left[0];
    if (reply === undefined || reply instanceof Error) throw reply ?? new Error("no reply");
    const body = Buffer.from(reply.json === undefined ? "nothing" : JSON.stringify(reply.json));
    return { status: reply.status, headers: {}, body };
  };
  let found: ClusterRevocations | "stopped" | undefined;
  const log = (entry: LogEntry): void => void logged.push(entry);
  void clusterRevocations({ client: { ...api.client, raw }, clock, log, signal: life.signal }).then(
    (answer) => (found = answer ?? "stopped"),
  );
  return { api, clock, logged, found: () => found };
}

function known({ found }: World): ClusterRevocations {
  const answer = found();
  if (answer === undefined || answer === "stopped") throw new Error("nothing is known");
  return answer;
}

async function revoke({ api }: World, user: string): Promise<void> {
  const { group, version, kind } = credentialRevocations;
  await api.client.create(credentialRevocations, {
    apiVersion: `${group}/${version}`,
    kind,
    metadata: { name: "r" },
    spec: { user },
  });
  await settled();
}

const ann = { username: "ann", groups: [] };

describe("what is revoked on a cluster", () => {
  test("is what its revocations say, as they come and go", async () => {
    const here = world([served]);
    await settled();
    expect(known(here).isRevoked(ann)).toBe(false);
    await revoke(here, "ann");
    expect(known(here).isRevoked(ann)).toBe(true);
    expect(known(here).isRevoked({ username: "ann2", groups: ["ann"] })).toBe(false);
    await here.api.client.delete(credentialRevocations, { name: "r" });
    await settled();
    expect(known(here).isRevoked(ann)).toBe(false);
  });

  test.each([
    ["a cluster without the group", absent],
    ["a cluster with an older definition of the group", list("accessrequests")],
  ])("is nothing on %s, which the log says", async (_title, reply) => {
    const here = world([reply]);
    await settled();
    expect(known(here).isRevoked(ann)).toBe(false);
    expect(here.logged.map(({ reason }) => reason)).toEqual(["RevocationsNotServed"]);
    await here.clock.advance(120_000);
    expect(known(here).outdated.aborted).toBe(false);
  });

  test("is asked anew once the definition is installed", async () => {
    const here = world([absent, absent, served]);
    await settled();
    await here.clock.advance(60_000);
    expect(known(here).outdated.aborted).toBe(true);
  });

  test.each([
    ["cannot be reached", new ConnectionError("ECONNREFUSED", "down")],
    ["refuses to tell", { status: 403 }],
    ["is not ready", { status: 503 }],
    ["answers something that is not JSON", { status: 200 }],
    ["answers something else", { status: 200, json: {} }],
  ])("is not known while the API %s, so that nobody acts", async (_title, reply) => {
    const here = world([reply, reply, served]);
    await settled();
    expect(here.found()).toBeUndefined();
    expect(here.logged).toEqual([
      expect.objectContaining({
        level: "warn",
        reason: "RevocationsUnavailable",
        meanwhile: "nothing is approved or issued",
      }),
    ]);
    await here.clock.advance(60_000);
    expect(known(here).isRevoked(ann)).toBe(false);
  });

  test("is not known while they may not be read", async () => {
    const refused = new StatusError("Forbidden", "credentialrevocations.access.pratique.dev is forbidden");
    const here = world([served], (api) => {
      api.failNext("list", credentialRevocations, refused);
    });
    await settled();
    expect(here.found()).toBeUndefined();
    expect(here.logged).toEqual([
      expect.objectContaining({ meanwhile: "nothing is approved or issued", error: refused.message }),
    ]);
    await here.clock.advance(60_000);
    expect(known(here).isRevoked(ann)).toBe(false);
  });

  test("is not waited for after the end", async () => {
    const here = world([new ConnectionError("ECONNREFUSED", "down")]);
    await settled();
    life.abort();
    await settled();
    expect(here.found()).toBe("stopped");
  });
});
