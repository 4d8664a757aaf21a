import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { cp, mkdir, readFile, readlink, rm, symlink, writeFile } from "node:fs/promises";
import { join as joinPath } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { join } from "../../src/agent/join/join.ts";
import { JoinError } from "../../src/credentials/join-error.ts";
import { readStoredCertificate } from "../../src/credentials/storage/stored-certificate.ts";
import { requestAccess } from "../../src/agent/access/request-access.ts";
import { tokenClaims } from "../../src/credentials/proof/token-claims.ts";
import { wallClock } from "../../src/host/system-clock.ts";
import { commands } from "../../src/cli/commands.ts";
import { processIo } from "../../src/cli/process-io.ts";
import { runProgram } from "../../src/cli/program.ts";
import type { Clock } from "../../src/apimachinery/clock.ts";
import { apiClient, type ApiClient } from "../kits/api-client.ts";
import { startTestHub, type TestHub } from "../kits/hub.ts";
import { programRun } from "../kits/program-run.ts";
import { eventually } from "../kits/peers-process.ts";

const hour = 3_600_000;
const day = 24 * hour;
const access = "/apis/access.pratique.dev/v1alpha1";
const requests = "/apis/certificates.k8s.io/v1/certificatesigningrequests";

let ahead = 0;
/** The time of hub and machines, which goes on by leaps. What is encrypted between them lives by the real one. */
const time: Clock = { now: () => Date.now() + ahead, sleep: wallClock.sleep };
/** The machine's own: short pauses are passed over, deadlines of calls are what they are, and longer ones never come. */
const hasty: Clock = {
  now: time.now,
  sleep: (ms, signal) => {
    if (ms === 10_000 || ms === 30_000 || ms >= 900_000) return wallClock.sleep(ms, signal);
    if (ms < 30_000) ahead += ms;
    return wallClock.sleep(20, signal);
  },
};

const absences = ["1 hour", "25 hours", "91 days", "366 days"] as const;
type Absence = (typeof absences)[number];
const lengths: Readonly<Record<Absence, number>> = {
  "1 hour": hour,
  "25 hours": 25 * hour,
  "91 days": 91 * day,
  "366 days": 366 * day,
};

/** The cells of a table of the page, by the first column and the heading of another. */
function documented(heading: string): (row: RegExp, absence: Absence) => string {
  const page = readFileSync(new URL("../../docs/recovery.md", import.meta.url), "utf8");
  const section = page.split(`### ${heading}\n`)[1]?.split("\n#")[0] ?? "";
  const lines = section.split("\n").filter((line) => line.startsWith("|"));
  const cells = (line = ""): readonly string[] =>
    line
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim());
  return (row, absence) => {
    const line = lines.slice(2).find((one) => row.test(cells(one)[0] ?? ""));
    return cells(line)[cells(lines[0]).indexOf(absence)] ?? "";
  };
}

interface Agent {
  readonly err: () => string;
  readonly stop: () => Promise<number>;
}

function agent(dir: string): Agent {
  let err = "";
  const stop = new AbortController();
  const io = {
    ...processIo(),
    clock: hasty,
    interrupted: () => stop.signal,
    stdout: { write: () => undefined, isTty: false },
    stderr: { write: (text: string) => void (err += text), isTty: false },
  };
  const ended = runProgram(commands, ["agent", "--dir", dir], io);
  return {
    err: () => err,
    stop: () => {
      stop.abort();
      return ended;
    },
  };
}

interface Stage {
  readonly hub: TestHub;
  readonly ops: ApiClient;
  readonly close: () => Promise<void>;
}

async function stage(recovery: object | undefined): Promise<Stage> {
  ahead = 0;
  const hub = await startTestHub({
    clock: time,
    users: { ops: ["system:masters"] },
    clusterSigningDurationSeconds: 86_400,
    servingApproval: { providers: ["inventory"] },
  });
  const ops = apiClient(hub, { token: hub.token("ops") });
  const post = async (path: string, body: object): Promise<void> => {
    expect([path, (await ops(path, { method: "POST", body })).status]).toEqual([path, 201]);
  };
  await post("/api/v1/namespaces", { metadata: { name: "vms" } });
  const spec = { namespace: "vms", tokenSeconds: 7200, ...(recovery === undefined ? {} : { recovery }) };
  await post(`${access}/accessprofiles`, { metadata: { name: "vm" }, spec });
  if (recovery !== undefined) {
    await post(`${access}/recoverypolicies`, { metadata: { name: "all" }, spec: { nodeNames: ["*"], ...recovery } });
  }
  const data = Object.fromEntries(absences.map((one) => [nodeOf(one), `${nodeOf(one)}.example`]));
  const map = { metadata: { name: "pratique-node-inventory" }, data };
  await post("/api/v1/namespaces/kube-system/configmaps", map);
  for (const one of absences) await post("/api/v1/nodes", { metadata: { name: nodeOf(one) } });
  return {
    hub,
    ops,
    close: async () => {
      ops.close();
      await hub.close();
    },
  };
}

function nodeOf(absence: Absence): string {
  return `node-${absence.replace(" ", "-")}`;
}

async function bootstrapToken({ ops }: Stage, ttlSeconds: number | undefined): Promise<string> {
  const [id, secret] = [randomBytes(3).toString("hex"), randomBytes(8).toString("hex")];
  const stringData = {
    "token-id": id,
    "token-secret": secret,
    "usage-bootstrap-authentication": "true",
    "usage-bootstrap-signing": "true",
    "auth-extra-groups": "system:bootstrappers:kubeadm:default-node-token",
    ...(ttlSeconds === undefined ? {} : { expiration: new Date(time.now() + ttlSeconds * 1000).toISOString() }),
  };
  const body = { metadata: { name: `bootstrap-token-${id}` }, type: "bootstrap.kubernetes.io/token", stringData };
  const { status } = await ops("/api/v1/namespaces/kube-system/secrets", { method: "POST", body });
  expect(status).toBe(201);
  return `${id}.${secret}`;
}

interface JoinPlan {
  readonly dir: string;
  readonly nodeName: string;
  readonly token: string;
  readonly serving?: boolean;
  readonly untilAsked?: boolean;
}

/** Joins; with `untilAsked` the machine goes off when its request is made, before any answer. */
async function joined({ hub }: Stage, plan: JoinPlan): Promise<string> {
  const { dir, nodeName, token, serving = false, untilAsked = false } = plan;
  const off = new AbortController();
  const names = { names: [`${nodeName}.example`], addresses: [] };
  try {
    const { outcome } = await join(
      {
        discovery: { kind: "token", endpoint: hub.url, token, pins: [hub.hub.caPin] },
        nodeName,
        certDir: joinPath(dir, "pki"),
        kubeconfig: joinPath(dir, "kubelet.conf"),
        ...(serving ? { serving: names } : {}),
        clock: hasty,
        signal: off.signal,
      },
      (event) => {
        if (untilAsked && event.kind === "request-created") off.abort();
      },
    );
    return outcome;
  } catch (error) {
    if (error instanceof JoinError) return error.code;
    throw error;
  }
}

async function joinedAs(outcome: string, at: Stage, plan: JoinPlan): Promise<void> {
  expect(await joined(at, plan)).toBe(outcome);
}

async function inUse(dir: string, which: "client" | "server"): Promise<number> {
  const text = await readFile(joinPath(dir, "pki", `kubelet-${which}-current.pem`), "utf8");
  return readStoredCertificate(text)?.notAfter ?? 0;
}

async function tokenEnd(dir: string): Promise<number> {
  return tokenClaims(await readFile(joinPath(dir, "token"), "utf8"))?.expiresAt ?? 0;
}

async function soon(holds: () => boolean | Promise<boolean>, told: () => string = () => ""): Promise<void> {
  try {
    await eventually("what the page says", async () => (await holds()) || undefined);
  } catch (error) {
    throw new Error(`it never came; the agent says: ${told()}`, { cause: error });
  }
}

interface RequestObject {
  readonly metadata: { readonly name: string };
  readonly spec: { readonly username?: string };
  readonly status?: {
    readonly accepted?: boolean;
    readonly conditions?: readonly { readonly type: string; readonly reason: string; readonly message: string }[];
    readonly evidence?: { readonly returning?: object };
  };
}

async function listed({ ops }: Stage, path: string): Promise<readonly RequestObject[]> {
  return (await ops(path)).items() as unknown as readonly RequestObject[];
}

/** A person looks at what waits, and lets the node in. */
async function letBack(at: Stage, node: string): Promise<void> {
  const mine = (await listed(at, requests)).filter(
    ({ spec, status }) =>
      spec.username === `pratique:returning:system:node:${node}` && status?.conditions?.length === 1,
  );
  expect(mine.map(({ status }) => status?.conditions?.[0]?.message)).toEqual([
    expect.stringContaining(`system:node:${node} comes back`),
  ]);
  expect(mine[0]?.status?.conditions?.[0]?.message).toContain("known since");
  const shown = await printed(at, "pending");
  expect(shown).toContain("These come back:\n");
  expect(shown).toMatch(new RegExp(`csr/${mine[0]?.metadata.name}: system:node:${node} comes back.*known since`));
  const conditions = [{ type: "Approved", status: "True", reason: "ByHand", message: "it is ours" }];
  const type = "application/merge-patch+json";
  const path = `${requests}/${mine[0]?.metadata.name}/approval`;
  expect((await at.ops(path, { method: "PATCH", type, body: { status: { conditions } } })).status).toBe(200);
}

/** What became of a node's certificates. A person at the hub approves what waits, and nobody touches the machine. */
async function nodeOutcome(at: Stage, dir: string, node: string): Promise<readonly [client: string, serving: string]> {
  const running = agent(dir);
  const good = async (which: "client" | "server"): Promise<boolean> => (await inUse(dir, which)) > time.now();
  try {
    if (await good("client")) {
      await soon(() => running.err().includes("scheduled the renewal of the client certificate"));
      return ["continues", (await good("server")) ? "continues" : "lost"];
    }
    await soon(async () => (await good("client")) || running.err().includes("waiting for recovery"), running.err);
    const waits = !(await good("client"));
    if (waits) {
      await letBack(at, node);
    }
    await soon(() => good("client"), running.err);
    await soon(() => good("server"), running.err);
    const outcome = waits ? "waits for an approver" : "recovers";
    return [outcome, outcome];
  } finally {
    expect(await running.stop()).toBe(0);
  }
}

/** What a command prints for whoever has every right. */
async function printed({ hub }: Stage, ...words: readonly string[]): Promise<string> {
  const run = programRun([...words, "--kubeconfig", await hub.kubeconfigOf("ops")], ahead);
  expect([await run.done, run.err()]).toEqual([0, ""]);
  return run.out();
}

async function accessOutcome(at: Stage, dir: string): Promise<string> {
  const { ops } = at;
  const before = (await listed(at, `${access}/accessrequests`)).map(({ metadata }) => metadata.name);
  const running = agent(dir);
  try {
    if ((await tokenEnd(dir)) > time.now()) {
      await soon(() => running.err().includes("scheduled the renewal of the token"));
      return "continues";
    }
    let asked: readonly RequestObject[] = [];
    await soon(async () => {
      asked = (await listed(at, `${access}/accessrequests`)).filter(({ metadata }) => !before.includes(metadata.name));
      const waits = asked[0]?.status?.conditions?.some(({ type }) => type === "Returning") === true;
      return waits || (await tokenEnd(dir)) > time.now();
    }, running.err);
    if ((await tokenEnd(dir)) > time.now()) return "recovers";
    expect(asked).toHaveLength(1);
    expect(asked[0]?.status?.evidence?.returning).toMatchObject({ times: 1 });
    expect(await printed(at, "pending")).toMatch(/accessrequest\/\S+: its key was approved once since .*, last as vm-/);
    const type = "application/merge-patch+json";
    const path = `${access}/accessrequests/${asked[0]?.metadata.name}/status`;
    expect((await ops(path, { method: "PATCH", type, body: { status: { accepted: true } } })).status).toBe(200);
    await soon(async () => (await tokenEnd(dir)) > time.now(), running.err);
    return "waits for an approver";
  } finally {
    await running.stop();
  }
}

const lanes = [
  { heading: "Without a policy", recovery: undefined, ttlSeconds: 86_400 },
  { heading: "With a policy of 100 days", recovery: { windowSeconds: 100 * 86_400 }, ttlSeconds: undefined },
] as const;

describe.each(lanes)("a machine that was off: $heading", ({ heading, recovery, ttlSeconds }) => {
  const cell = documented(heading);
  let at: Stage;
  const dirs = new Map<string, string>();
  const dirOf = (what: string): string => dirs.get(what) ?? "";
  const tokens = new Map<Absence, string>();

  beforeAll(async () => {
    at = await stage(recovery);
    const token = await bootstrapToken(at, undefined);
    for (const absence of absences) {
      for (const what of ["node", "access", "join"]) {
        const dir = joinPath(at.hub.dir, `${what} ${absence}`);
        await mkdir(dir);
        dirs.set(`${what} ${absence}`, dir);
      }
      const dir = dirOf(`node ${absence}`);
      await joinedAs("joined", at, { dir, nodeName: nodeOf(absence), token, serving: true });
      const first = agent(dir);
      await soon(() => first.err().includes("renewed the serving certificate"));
      await first.stop();
      await granted(absence);
      tokens.set(absence, await bootstrapToken(at, ttlSeconds));
      const late = {
        dir: dirOf(`join ${absence}`),
        nodeName: `late-${nodeOf(absence)}`,
        token: tokens.get(absence) ?? "",
      };
      await joinedAs("aborted", at, { ...late, untilAsked: true });
    }
  }, 180_000);
  afterAll(() => at.close());

  async function granted(absence: Absence): Promise<void> {
    const name = `vm-${absence.replace(" ", "-")}`;
    const { hub, ops } = at;
    await requestAccess(
      {
        endpoint: hub.url,
        pins: [hub.hub.caPin],
        profile: "vm",
        name,
        hostname: name,
        dir: dirOf(`access ${absence}`),
        waitMs: hour,
        discoveryTimeoutMs: 10_000,
        clock: hasty,
        random: (size) => randomBytes(size),
        userAgent: "test",
      },
      (event) => {
        if (event.kind !== "waiting-for-access") return;
        const type = "application/merge-patch+json";
        const body = { status: { accepted: true } };
        void ops(`${access}/accessrequests/${name}/status`, { method: "PATCH", type, body });
      },
    );
  }

  test.each(absences)(
    "for %s ends as the page says, and never where only somebody at the machine could help",
    async (absence) => {
      ahead = lengths[absence];
      const [client, serving] = await nodeOutcome(at, dirOf(`node ${absence}`), nodeOf(absence));
      expect(["client", client]).toEqual(["client", cell(/^client certificate/, absence)]);
      expect(["serving", serving]).toEqual(["serving", cell(/^serving certificate/, absence)]);
      const token = await accessOutcome(at, dirOf(`access ${absence}`));
      expect(["token", token]).toEqual(["token", cell(/^access token/, absence)]);
      const dir = dirOf(`join ${absence}`);
      const nodeName = `late-${nodeOf(absence)}`;
      const went = await joined(at, { dir, nodeName, token: tokens.get(absence) ?? "" });
      const join = went === "joined" ? "continues" : "token has expired";
      expect(["join", join, went]).toEqual(["join", cell(/^a join/, absence), went]);
      // Whoever makes another token needs nothing from the machine but the same command.
      if (went !== "joined") await joinedAs("joined", at, { dir, nodeName, token: await bootstrapToken(at, 3600) });
    },
    60_000,
  );
});

test("a machine that two hold is shown as cloned, with both certificates that are locked out", async () => {
  const at = await stage(undefined);
  try {
    const dir = joinPath(at.hub.dir, "one");
    await mkdir(dir);
    expect(await joined(at, { dir, nodeName: "two-of-it", token: await bootstrapToken(at, 3600) })).toBe("joined");
    const copy = joinPath(at.hub.dir, "other");
    await cp(dir, copy, { recursive: true });
    for (const path of ["kubelet.conf", joinPath("pki", "pratique-join.json")]) {
      const text = await readFile(joinPath(copy, path), "utf8");
      await writeFile(joinPath(copy, path), text.replaceAll(dir, copy));
    }
    const link = joinPath(copy, "pki", "kubelet-client-current.pem");
    const target = await readlink(link);
    await rm(link);
    await symlink(target.replace(dir, copy), link);
    ahead = 23 * hour;
    const right = agent(dir);
    await soon(() => right.err().includes("renewed the client certificate"), right.err);
    expect(await right.stop()).toBe(0);
    // Within a minute programs of one machine may still speak by the one before.
    ahead += 120_000;
    const thief = agent(copy);
    await soon(() => thief.err().includes("does not accept the client certificate (401)"), thief.err);
    expect(await thief.stop()).toBe(0);
    expect(await printed(at, "credentials")).toMatch(/! +system:node:two-of-it +client +CLONED/);
    expect((await printed(at, "revocations", "list")).match(/^clone-/gm)).toHaveLength(2);
  } finally {
    await at.close();
  }
}, 180_000);
