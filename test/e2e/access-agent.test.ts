import { randomBytes } from "node:crypto";
import { mkdtemp, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { requestAccess } from "../../src/agent/access/request-access.ts";
import { wallClock } from "../../src/host/system-clock.ts";
import { commands } from "../../src/cli/commands.ts";
import { processIo } from "../../src/cli/process-io.ts";
import { runProgram } from "../../src/cli/program.ts";
import type { Clock } from "../../src/apimachinery/clock.ts";
import { apiClient, type ApiClient } from "../kits/api-client.ts";
import { startTestHub, type TestHub } from "../kits/hub.ts";

const group = "/apis/access.pratique.dev/v1alpha1";
const rbac = "/apis/rbac.authorization.k8s.io/v1";
const minute = 60_000;

let ahead = 0;
/** The time of hub and machine, which the tests set forward. */
const time: Clock = { now: () => Date.now() + ahead, sleep: wallClock.sleep };
/** The machine's own: pauses after failures are skipped, long waits are looked at often, deadlines of calls are what they are. */
const hasty: Clock = {
  now: time.now,
  sleep: (ms, signal) => {
    if (ms === 10_000 || ms === 30_000) return wallClock.sleep(ms, signal);
    if (ms < 10_000) ahead += ms;
    return wallClock.sleep(Math.min(ms, 20), signal);
  },
};

let hub: TestHub;
let admin: ApiClient;
const world = processIo();

beforeAll(async () => {
  hub = await startTestHub({ clock: time });
  admin = apiClient(hub);
  const post = async (path: string, body: object): Promise<void> => {
    expect((await admin(path, { method: "POST", body })).status).toBe(201);
  };
  const rules = [{ apiGroups: [""], resources: ["pods"], verbs: ["list"] }];
  await post("/api/v1/namespaces", { metadata: { name: "vms" } });
  await post(`${rbac}/clusterroles`, { metadata: { name: "viewer" }, rules });
  const roles = [{ kind: "ClusterRole", name: "viewer" }];
  await post(`${group}/accessprofiles`, { metadata: { name: "pods" }, spec: { namespace: "vms", roles } });
});

afterAll(async () => {
  admin.close();
  await hub.close();
});

async function decide(name: string, status: object): Promise<void> {
  const type = "application/merge-patch+json";
  const reply = await admin(`${group}/accessrequests/${name}/status`, { method: "PATCH", type, body: { status } });
  expect(reply.status).toBe(200);
}

/** A machine that was let in, by its folder. */
async function machine(name: string): Promise<string> {
  const dir = await mkdtemp(join(hub.dir, `${name}-`));
  await requestAccess(
    {
      endpoint: hub.url,
      pins: [hub.hub.caPin],
      profile: "pods",
      name,
      hostname: name,
      dir,
      waitMs: minute,
      discoveryTimeoutMs: 10_000,
      clock: hasty,
      random: (size) => randomBytes(size),
      userAgent: "test",
    },
    (event) => {
      if (event.kind === "waiting-for-access") void decide(name, { accepted: true });
    },
  );
  return dir;
}

interface Agent {
  readonly err: () => string;
  readonly out: () => string;
  readonly stop: () => void;
  readonly ended: Promise<number>;
}

function agent(...words: readonly string[]): Agent {
  const written = { out: "", err: "" };
  const stop = new AbortController();
  const io = {
    ...world,
    clock: hasty,
    interrupted: () => stop.signal,
    stdout: { write: (text: string) => void (written.out += text), isTty: false },
    stderr: { write: (text: string) => void (written.err += text), isTty: false },
  };
  const ended = runProgram(commands, ["agent", ...words], io);
  return { err: () => written.err, out: () => written.out, stop: () => stop.abort(), ended };
}

async function until<T>(read: () => Promise<T> | T, holds: (value: T) => boolean): Promise<T> {
  for (;;) {
    const value = await read();
    if (holds(value)) return value;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

const tokenIn = (dir: string): Promise<string> => readFile(join(dir, "token"), "utf8");

async function statusWith(token: string): Promise<number> {
  const client = apiClient(hub, { token });
  const { status } = await client("/api/v1/namespaces/vms/pods");
  client.close();
  return status;
}

describe("pratique agent", () => {
  it("renews before the end, so that there is always a token that is good, and says what it does", async () => {
    const dir = await machine("vm-kept");
    const first = await tokenIn(dir);
    const running = agent("--dir", dir);
    await until(running.err, (text) => text.includes("scheduled the renewal of the token"));
    expect(running.err()).toMatch(
      / INFO {2}scheduled the renewal of the token reason=RenewalScheduled file=\S+ account=vms\/vm-kept validUntil=\S+Z renewsAt=/,
    );
    ahead += 40 * minute;
    // The hub may be busy for a moment with what forty minutes have made due.
    await expect.poll(() => agent("--dir", dir, "--status").ended).toBe(0);
    expect(await tokenIn(dir)).toBe(first);
    ahead += 15 * minute;
    const second = await until(
      () => tokenIn(dir),
      (token) => token !== first,
    );
    expect([await statusWith(first), await statusWith(second)]).toEqual([200, 200]);
    expect((await stat(join(dir, "token"))).mode & 0o777).toBe(0o600);
    ahead += 10 * minute;
    expect([await statusWith(first), await statusWith(second)]).toEqual([401, 200]);
    ahead += 45 * minute;
    const third = await until(
      () => tokenIn(dir),
      (token) => token !== second,
    );
    expect(await statusWith(third)).toBe(200);
    running.stop();
    expect(await running.ended).toBe(0);
    expect(running.err()).toContain("renewed the token reason=CredentialRenewed file=");
    expect(running.err()).not.toContain(third.slice(-20));
  });

  it("is told the end by the hub's refusal, says what to do, and ends with code 4", async () => {
    const dir = await machine("vm-off");
    const running = agent("--dir", dir);
    await until(running.err, (text) => text.includes("scheduled the renewal of the token"));
    await decide("vm-off", { revoked: true });
    const token = await tokenIn(dir);
    await until(
      () => statusWith(token),
      (status) => status === 401,
    );
    ahead += 55 * minute;
    expect(await running.ended).toBe(4);
    expect(running.err()).toContain("error: the hub does not accept the token (401)");
    expect(running.err()).toContain(`pratique request ${hub.url} --dir ${dir}`);
    const status = agent("--dir", dir, "--status");
    expect(await status.ended).toBe(4);
    expect(status.out()).toContain("The credential is of no use");
  });

  it("asks again by itself where it may, under another name, and works on once people have agreed", async () => {
    const dir = await machine("vm-again");
    const first = await tokenIn(dir);
    await decide("vm-again", { revoked: true });
    await until(
      () => statusWith(first),
      (status) => status === 401,
    );
    ahead += 55 * minute;
    const running = agent("--dir", dir, "--ask-again");
    const [, name = ""] = await until(
      () => /requested access: (?:")?accessrequest\/(vm-again-[a-z0-9]{5})/.exec(running.err()) ?? [],
      (found) => found.length > 1,
    );
    await until(running.err, (text) => text.includes("waiting for approval of access"));
    await expect
      .poll(async () => (await admin(`${group}/accessrequests/${name}`)).object())
      .toMatchObject({ spec: { profile: "pods" }, status: { evidence: { possession: "Proven" } } });
    await decide(name, { accepted: true });
    const second = await until(
      () => tokenIn(dir),
      (token) => token !== first,
    );
    expect(await statusWith(second)).toBe(200);
    await until(running.err, (text) => text.includes(`account=vms/${name}`));
    running.stop();
    expect(await running.ended).toBe(0);
  });

  it("renews once when it is time, and else leaves the token alone", async () => {
    const dir = await machine("vm-once");
    const first = await tokenIn(dir);
    expect(await agent("--dir", dir, "--once").ended).toBe(0);
    expect(await tokenIn(dir)).toBe(first);
    ahead += 43 * minute;
    expect(await agent("--dir", dir, "--once").ended).toBe(0);
    const second = await tokenIn(dir);
    expect(second).not.toBe(first);
    expect(await statusWith(second)).toBe(200);
  });

  it("says where there is nothing to keep", async () => {
    const running = agent("--dir", join(hub.dir, "nothing"));
    expect(await running.ended).toBe(6);
    expect(running.err()).toContain("ask for access with pratique request");
  });
});
