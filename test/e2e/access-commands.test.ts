import { randomBytes } from "node:crypto";
import { mkdtemp, readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { JoinEvent } from "../../src/agent/join/join-event.ts";
import { requestAccess, type AccessGranted } from "../../src/agent/access/request-access.ts";
import { wallClock } from "../../src/host/system-clock.ts";
import { commands } from "../../src/cli/commands.ts";
import { processIo } from "../../src/cli/process-io.ts";
import { runProgram } from "../../src/cli/program.ts";
import { pairingWords } from "../../src/trust/pairing-words.ts";
import { apiClient, type ApiClient } from "../kits/api-client.ts";
import { startTestHub, type TestHub } from "../kits/hub.ts";

let hub: TestHub;
let admin: ApiClient;
const group = "/apis/access.pratique.dev/v1alpha1";
const rbac = "/apis/rbac.authorization.k8s.io/v1";

beforeAll(async () => {
  hub = await startTestHub({ users: { ada: ["approvers"], ben: ["approvers"], eve: [] } });
  admin = apiClient(hub);
  const post = async (path: string, body: object): Promise<void> => {
    expect((await admin(path, { method: "POST", body })).status).toBe(201);
  };
  const view = [{ apiGroups: [""], resources: ["pods"], verbs: ["get", "list"] }];
  const approver = [
    {
      apiGroups: ["access.pratique.dev"],
      resources: ["accessrequests", "accessrequests/status"],
      verbs: ["get", "list", "patch"],
    },
    { apiGroups: ["access.pratique.dev"], resources: ["accessprofiles"], verbs: ["get", "list", "approve"] },
  ];
  await post("/api/v1/namespaces", { metadata: { name: "vms" } });
  await post(`${rbac}/clusterroles`, { metadata: { name: "viewer" }, rules: view });
  await post(`${rbac}/clusterroles`, { metadata: { name: "approver" }, rules: approver });
  await post(`${rbac}/clusterrolebindings`, {
    metadata: { name: "approver" },
    subjects: [{ kind: "Group", name: "approvers", apiGroup: "rbac.authorization.k8s.io" }],
    roleRef: { kind: "ClusterRole", name: "approver", apiGroup: "rbac.authorization.k8s.io" },
  });
  const roles = [{ kind: "ClusterRole", name: "viewer" }];
  const annotations = { "access.pratique.dev/is-default-profile": "true" };
  await post(`${group}/accessprofiles`, { metadata: { name: "pods", annotations }, spec: { namespace: "vms", roles } });
  await post(`${group}/accessprofiles`, { metadata: { name: "two" }, spec: { namespace: "vms", roles, approvers: 2 } });
});

afterAll(async () => {
  admin.close();
  await hub.close();
});

interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

const process = processIo();

/** Runs a command line of `who` against the hub. */
async function pratique(who: string, ...words: readonly string[]): Promise<Ran> {
  const written = { out: "", err: "" };
  const kubeconfig = who === "admin" ? hub.kubeconfig : await hub.kubeconfigOf(who);
  const io = {
    ...process,
    env: { KUBECONFIG: kubeconfig },
    stdout: { write: (text: string) => void (written.out += text), isTty: false },
    stderr: { write: (text: string) => void (written.err += text), isTty: false },
  };
  return { code: await runProgram(commands, words, io), ...written };
}

interface Machine {
  readonly dir: string;
  /** What it shows its owner. */
  readonly words: string;
  /** The line that an approver types, as the machine shows it. */
  readonly line: Promise<string>;
  readonly granted: Promise<AccessGranted>;
}

/** A machine that has asked and waits. */
async function machine(name: string, profile?: string, folder?: string): Promise<Machine> {
  const dir = folder ?? (await mkdtemp(join(hub.dir, `${name}-`)));
  let showLine: (line: string) => void;
  const line = new Promise<string>((show) => (showLine = show));
  return new Promise((resolve, reject) => {
    const granted = requestAccess(
      {
        endpoint: hub.url,
        pins: [],
        profile,
        name,
        hostname: name,
        claims: { rack: "7" },
        dir,
        waitMs: 60_000,
        discoveryTimeoutMs: 10_000,
        clock: {
          now: wallClock.now,
          sleep: (ms, signal) => wallClock.sleep(ms <= 2000 ? Math.min(ms, 50) : ms, signal),
        },
        random: (size) => randomBytes(size),
        userAgent: "test",
      },
      (event: JoinEvent) => {
        if (event.kind === "waiting-for-access") showLine(event.commands[0] ?? "");
        if (event.kind === "access-asked") resolve({ dir, words: event.words.join(" "), line, granted });
      },
    );
    granted.catch(reject);
  });
}

/** A machine that waits, and to whose request somebody has given labels. */
async function labelled(name: string, labels: object): Promise<void> {
  await machine(name);
  const type = "application/merge-patch+json";
  await admin(`${group}/accessrequests/${name}`, { method: "PATCH", type, body: { metadata: { labels } } });
}

describe("pratique approve --words", () => {
  it("lets a machine in whose words agree, and the decision says so", async () => {
    const { words, granted } = await machine("vm-words");
    // The hub looks at the proof once the request is there.
    await expect
      .poll(async () => (await pratique("ada", "pending")).out)
      .toMatch(/^.*accessrequest\/vm-words.* proven /m);
    const seen = await pratique("ada", "pending");
    expect(seen.out).toMatch(/accessrequest\/vm-words +\S+ +pods +vms: ClusterRole\/viewer +0 of 1 +127\.0\.0\.1 /);
    expect(seen.out).toMatch(/ proven +0 +hostname=vm-words,rack=7\n/);
    expect(seen.err).toContain(
      "note: certificate requests are not visible with this credential: certificatesigningrequests.certificates.k8s.io is forbidden",
    );
    const ran = await pratique("ada", "approve", "accessrequest/vm-words", "--words", words, "--wait", "20s");
    expect(ran).toMatchObject({ code: 0, err: "" });
    expect(ran.out).toMatch(
      /^accessrequest\/vm-words approved\nThe words agree: [^\n]+\naccessrequest\/vm-words issued, valid until 20\d\d-[^\n]+Z\n$/,
    );
    const { tokenFile } = await granted;
    const client = apiClient(hub, { token: await readFile(tokenFile, "utf8") });
    expect((await client("/api/v1/namespaces/vms/pods")).status).toBe(200);
    client.close();
    const { status } = (await admin(`${group}/accessrequests/vm-words`)).object();
    expect(status).toMatchObject({ decisions: [{ user: "ada", verdict: "Approved", words: "Compared" }] });
  });

  it("keeps out a machine that saw the CA of somebody between", async () => {
    const { dir } = await machine("vm-between");
    const asked = JSON.parse(await readFile(join(dir, "request.json"), "utf8")) as Parameters<typeof pairingWords>[0];
    const words = (await pairingWords({ ...asked, caPin: `sha256:${"ab".repeat(32)}` })).join(" ");
    const ran = await pratique("ada", "approve", "areq/vm-between", "--words", words);
    expect(ran).toMatchObject({ code: 4, out: "" });
    expect(ran.err).toContain("the connection between the machine and the hub may be intercepted");
    const { status } = (await admin(`${group}/accessrequests/vm-between`)).object();
    expect(status).not.toHaveProperty("accepted");
    expect(status).not.toHaveProperty("decisions");
    expect((await pratique("ada", "deny", "areq/vm-between", "--reason", "the words differ")).code).toBe(0);
  });
});

describe("a machine that requests access", () => {
  it("shows the line with its words, which approves it as it stands", async () => {
    const { words, line, granted } = await machine("vm-line");
    const [, ...typed] = (await line).split(/ (?=(?:[^"]*"[^"]*")*[^"]*$)/);
    expect(typed).toEqual(["approve", "accessrequest/vm-line", "--words", `"${words}"`]);
    const ran = await pratique("ada", ...typed.map((word) => word.replaceAll('"', "")));
    expect(ran).toMatchObject({ code: 0, out: expect.stringContaining("The words agree") as unknown });
    await granted;
  });

  it("resumes its request although the profile takes no new ones meanwhile, and is told of another profile", async () => {
    const type = "application/merge-patch+json";
    const limit = async (networks: readonly string[] | null): Promise<void> => {
      const body = { spec: { sourceNetworks: networks } };
      expect((await admin(`${group}/accessprofiles/pods`, { method: "PATCH", type, body })).status).toBe(200);
    };
    const { dir, granted } = await machine("vm-resumed");
    await limit(["192.0.2.0/24"]);
    const again = await machine("vm-resumed", undefined, dir);
    await expect(machine("vm-resumed", "two", dir)).rejects.toThrow(
      'the request vm-resumed of this machine is for the default profile and cannot be changed; to request profile "two", give another --name',
    );
    await limit(null);
    await pratique("ada", "approve", "areq/vm-resumed");
    await Promise.all([granted, again.granted]);
  });

  it.each([
    ["denied", "deny", [], "the request vm-denied was denied: not ours; to request access again, give another --name"],
    [
      "revoked",
      "revoke",
      ["approve"],
      "the access of vm-revoked was revoked: not ours; to request access again, give another --name",
    ],
  ])("is told what to do once it was %s", async (word, verb, before, message) => {
    const name = `vm-${word}`;
    const { dir, granted } = await machine(name);
    for (const first of before) await pratique("ada", first, `areq/${name}`);
    if (before.length > 0) await granted;
    expect((await pratique("ada", verb, `areq/${name}`, "--reason", "not ours")).code).toBe(0);
    const again = await machine(name, undefined, dir);
    await expect(again.granted).rejects.toThrow(message);
    const other = await machine(`${name}-2`, undefined, dir);
    await pratique("ada", "approve", `areq/${name}-2`, "--words", other.words);
    await other.granted;
  });
});

describe("pratique approve without words", () => {
  it("prints the words that the machine shows", async () => {
    const { words, granted } = await machine("vm-quiet");
    const ran = await pratique("ada", "approve", "areq/vm-quiet");
    expect(ran.err).toContain(`The machine must show: "${words}"`);
    await granted;
  });

  it("counts the people that the profile wants", async () => {
    const { granted } = await machine("vm-two", "two");
    const first = await pratique("ada", "approve", "areq/vm-two");
    expect(first.out).toBe("accessrequest/vm-two approved by you, 1 of 2: 1 other approver must approve it as well\n");
    const again = await pratique("ada", "approve", "areq/vm-two");
    expect(again).toMatchObject({ code: 7, out: "" });
    expect(again.err).toContain("ada approved it already; 2 different approvers must");
    expect((await pratique("ben", "pending")).out).toContain(
      'needs 2 different approvers and has 1 (approved by "ada")',
    );
    expect((await pratique("ben", "approve", "areq/vm-two")).out).toBe("accessrequest/vm-two approved\n");
    await granted;
  });

  it("is refused to somebody who may not", async () => {
    await machine("vm-eve");
    // What a decision is bound to: this very request, and not one that takes its name.
    const type = "application/merge-patch+json";
    const body = {
      metadata: { uid: "00000000-0000-4000-8000-000000000000", resourceVersion: "1" },
      status: { accepted: true },
    };
    const other = await admin(`${group}/accessrequests/vm-eve/status`, { method: "PATCH", type, body });
    expect([other.status, other.text]).toEqual([422, expect.stringContaining("metadata.uid")]);
    expect(await pratique("eve", "approve", "areq/vm-eve")).toMatchObject({ code: 4, out: "" });
    expect(await pratique("eve", "pending")).toMatchObject({ code: 4, out: "" });
    await pratique("admin", "deny", "areq/vm-eve");
  });
});

describe("many machines", () => {
  it("are let in by their labels, in a dry run first, and revoked together", async () => {
    await labelled("vm-a", { rack: "7" });
    await labelled("vm-b", { rack: "7" });
    await labelled("vm-c", { rack: "8" });
    const wrong = await pratique("ada", "approve", "accessrequest", "-l", "rack=7", "--expect", "3");
    expect(wrong).toMatchObject({ code: 7, out: "" });
    const dry = await pratique("ada", "approve", "accessrequest", "-l", "rack=7", "--expect", "2", "--dry-run");
    expect(dry.code).toBe(0);
    expect(dry.out).toContain("accessrequest/vm-a approved (dry run)\n  vm-a: profile pods; grants vms:");
    expect((await pratique("ada", "pending")).out).toContain("accessrequest/vm-a");
    const ran = await pratique("ada", "approve", "areq", "-l", "rack=7", "--expect", "2", "--wait", "20s");
    expect(ran.code).toBe(0);
    expect(ran.out).toMatch(/^accessrequest\/vm-a approved\naccessrequest\/vm-b approved\n/);
    expect(ran.out).toContain("accessrequest/vm-b issued");
    expect((await pratique("ada", "pending")).out).toContain("accessrequest/vm-c");
    const back = await pratique("ada", "revoke", "-l", "rack=7", "--expect", "2", "--reason", "moved");
    expect(back.out).toBe("accessrequest/vm-a revoked\naccessrequest/vm-b revoked\n");
    await pratique("ada", "deny", "areq/vm-c");
  });
});

describe("pratique revoke", () => {
  it("cuts a machine off", async () => {
    const { granted } = await machine("vm-stolen");
    expect((await pratique("ada", "revoke", "vm-stolen")).code).toBe(7);
    await pratique("ada", "approve", "areq/vm-stolen");
    const { tokenFile } = await granted;
    const client = apiClient(hub, { token: await readFile(tokenFile, "utf8") });
    expect((await client("/api/v1/namespaces/vms/pods")).status).toBe(200);
    const ran = await pratique("ada", "revoke", "accessrequest/vm-stolen", "--reason", "stolen");
    expect(ran).toMatchObject({ code: 0, out: "accessrequest/vm-stolen revoked\n" });
    const stream = await admin.stream(`${group}/accessrequests?watch=true&fieldSelector=metadata.name=vm-stolen`);
    while (!JSON.stringify((await stream.next()).object).includes('"type":"Revoked","status":"True"'));
    stream.close();
    expect((await client("/api/v1/namespaces/vms/pods")).status).toBe(401);
    client.close();
  });
});
