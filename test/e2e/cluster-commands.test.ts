import { docsSection } from "../kits/walk-through.ts";
import { readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { commands } from "../../src/cli/commands.ts";
import { processIo } from "../../src/cli/process-io.ts";
import { runProgram } from "../../src/cli/program.ts";
import type { ApiClient } from "../kits/api-client.ts";
import {
  clustersPath,
  csrsPath,
  reportStatus,
  startClusterStage,
  type AskedCertificate,
  type ClusterStage,
} from "../kits/cluster-stage.ts";

const rbac = "/apis/rbac.authorization.k8s.io/v1";
const joined = "ManagedClusterJoined";

let stage: ClusterStage;
const world = processIo();

beforeAll(async () => {
  stage = await startClusterStage({ users: { ann: [], acc: [], one: [], none: [], stranger: [] } });
  await bind("ann", "open-cluster-management:approver");
  await bind("acc", "open-cluster-management:accepter");
  await bind("stranger", "open-cluster-management:bootstrap");
});

afterAll(async () => {
  await stage.close();
});

interface Running {
  readonly out: () => string;
  readonly err: () => string;
  /** Sets its clock on. */
  readonly skip: (ms: number) => void;
  readonly interrupt: () => void;
  readonly done: Promise<{ readonly code: number; readonly out: string; readonly err: string }>;
}

/** A command line of somebody that is under way. Its pauses are shorter than it thinks. */
function started(who: string, ...words: readonly string[]): Promise<Running> {
  return startedProgram(who, ["cluster", ...words]);
}

async function startedProgram(who: string, words: readonly string[]): Promise<Running> {
  const written = { out: "", err: "" };
  const stop = new AbortController();
  let skipped = 0;
  const kubeconfig = who === "admin" ? stage.hub.kubeconfig : await stage.hub.kubeconfigOf(who);
  const io = {
    ...world,
    cwd: stage.hub.dir,
    env: { KUBECONFIG: kubeconfig },
    clock: {
      now: () => world.clock.now() + skipped,
      sleep: async (ms: number, signal?: AbortSignal) => {
        // An agent tells the hub the time, and its deadline is none of its pauses.
        const isAgent = words.includes("join") || words[0] === "klusterlet";
        await world.clock.sleep(isAgent && ms > 5000 ? ms : Math.min(ms, 20), signal);
        // Faster than it thinks by ten, and no more: what it waits for takes real time.
        if (!isAgent) skipped += Math.min(ms, 200);
      },
    },
    stdout: { write: (text: string) => void (written.out += text), isTty: false },
    stderr: { write: (text: string) => void (written.err += text), isTty: false },
    interrupted: () => stop.signal,
  };
  const done = runProgram(commands, words, io).then((code) => ({ code, ...written }));
  return {
    out: () => written.out,
    err: () => written.err,
    skip: (ms) => void (skipped += ms),
    interrupt: () => stop.abort(),
    done,
  };
}

/** A command line, to its end. */
async function cluster(
  who: string,
  ...words: readonly string[]
): Promise<{ readonly code: number; readonly out: string; readonly err: string }> {
  return (await started(who, ...words)).done;
}

async function told(running: Running, pattern: RegExp): Promise<void> {
  let over = false;
  void running.done.then(() => (over = true));
  while (!pattern.test(running.err())) {
    if (over) throw new Error(`it ended without ${pattern}: ${running.err()}`);
    await new Promise((next) => setTimeout(next, 5));
  }
}

async function bind(user: string, role: string): Promise<void> {
  const apiGroup = "rbac.authorization.k8s.io";
  const body = {
    metadata: { name: `commands-${user}` },
    subjects: [{ kind: "User", name: user, apiGroup }],
    roleRef: { kind: "ClusterRole", name: role, apiGroup },
  };
  expect((await stage.admin(`${rbac}/clusterrolebindings`, { method: "POST", body })).status).toBe(201);
}

/** A cluster and its request, as an agent makes them. */
async function asked(
  name: string,
  options: AskedCertificate = {},
): Promise<{ readonly csr: string; enter(): Promise<ApiClient> }> {
  await stage.create(name);
  const sent = await stage.request(name, options);
  return {
    csr: sent.name,
    enter: async () => {
      const agent = await stage.issued(sent);
      await stage.cluster(name);
      expect((await beat(agent, name)).status).toBe(200);
      await reportStatus(agent, name, {
        conditions: [{ type: joined }, { type: "ManagedClusterConditionAvailable" }],
        version: { kubernetes: "v1.36.0" },
      });
      return agent;
    },
  };
}

async function beat(agent: ApiClient, name: string): Promise<{ readonly status: number }> {
  const path = `/apis/coordination.k8s.io/v1/namespaces/${name}/leases/managed-cluster-lease`;
  for (;;) {
    const reply = await agent(path);
    if (reply.status !== 200) continue;
    const stored = reply.object();
    const spec = { ...(stored["spec"] as object), renewTime: new Date().toISOString().replace("Z", "000Z") };
    return agent(path, { method: "PUT", body: { ...stored, spec } });
  }
}

describe("pratique cluster token", () => {
  it("writes a file for its owner with an identity that may only request, and prints how long it is valid", async () => {
    const made = await cluster("admin", "token", "--bootstrap-kubeconfig", "first.kubeconfig", "--ttl", "10m");
    expect([made.code, made.err]).toEqual([0, expect.stringContaining("leads other machines to themselves")]);
    const path = join(stage.hub.dir, "first.kubeconfig");
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    const id = /system:bootstrap:([a-z0-9]{6}), for 10m/.exec(made.out)?.[1] ?? "";
    expect(made.out).toContain(`pratique token delete ${id}`);
    const token = /token: (\S+)/.exec(await readFile(path, "utf8"))?.[1] ?? "";
    expect(made.out + made.err).not.toContain(token);
    const secret = (await stage.admin(`/api/v1/namespaces/kube-system/secrets/bootstrap-token-${id}`)).object();
    const data = secret["data"] as Readonly<Record<string, string>>;
    expect(Object.keys(data).filter((key) => key.startsWith("usage"))).toEqual(["usage-bootstrap-authentication"]);
    const again = await cluster("admin", "token", "--bootstrap-kubeconfig", "first.kubeconfig");
    expect([again.code, again.err]).toEqual([7, "error: first.kubeconfig exists; --force replaces it\n"]);
  });

  it("gives a token of the original's account, with its end, and the rule for named clusters", async () => {
    const words = ["--identity", "service-account", "--clusters", "edge-*,lab", "--server", "https://hub.example:6443"];
    const made = await cluster("admin", "token", "--bootstrap-kubeconfig", "-", ...words);
    expect(made.code).toBe(0);
    expect(made.out).toContain("server: https://hub.example:6443");
    expect(made.err).toContain("  - user: system:serviceaccount:open-cluster-management:agent-registration-bootstrap");
    expect(made.err).toContain('    clusters: ["edge-*", "lab"]');
    expect(made.err).toContain("for 60m");
  });

  it("ends with 4 for somebody who may not make one", async () => {
    const refused = await cluster("none", "token", "--bootstrap-kubeconfig", "refused.kubeconfig");
    expect([refused.code, refused.err]).toEqual([4, expect.stringContaining("secrets")]);
    await expect(stat(join(stage.hub.dir, "refused.kubeconfig"))).rejects.toThrow("ENOENT");
  });
});

describe("pratique cluster accept", () => {
  it("waits for the request of the agent, approves it, and waits until the agent has joined", async () => {
    const accepting = await started("admin", "accept", "alpha");
    await told(accepting, /alpha: waiting for the cluster to be registered/);
    const agent = await asked("alpha");
    await told(accepting, /alpha: waiting for agent a1b2c to come in/);
    await agent.enter();
    const { code, out } = await accepting.done;
    expect(code).toBe(0);
    expect(out).toMatch(
      /^alpha: csr\/alpha-\w+ approved, of agent a1b2c with key SHA256:\S+, asked for by booter\nalpha: accepted\nalpha: joined: agent a1b2c has come in, it is available\n$/,
    );
    const again = await cluster("admin", "accept", "alpha", "--wait=false");
    expect([again.code, again.out]).toEqual([0, expect.stringContaining("alpha: accepted already")]);
  });

  it("does nothing where several agents ask, until one is named", async () => {
    const first = await asked("beta", { agent: "aaaaa" });
    const second = await stage.request("beta", { agent: "bbbbb" });
    const refused = await cluster("admin", "accept", "beta");
    expect(refused.code).toBe(7);
    expect(refused.err).toContain('2 agents ask in its name: "aaaaa", "bbbbb"');
    expect(refused.err).toContain(`agent id "aaaaa"  csr/${first.csr}`);
    expect((await stage.admin(`${clustersPath}/beta`)).object()["spec"]).toMatchObject({ hubAcceptsClient: false });
    const named = await cluster("admin", "accept", "beta", "--agent-id", "aaaaa", "--wait=false");
    expect([named.code, named.out]).toEqual([0, expect.stringContaining(`csr/${first.csr} approved`)]);
    const other = (await stage.admin(`${csrsPath}/${second.name}`)).object();
    expect(other["status"] ?? {}).toEqual({});
  });

  it("does nothing where one id has two keys, since all requesters can read ids", async () => {
    const first = await asked("copied");
    await stage.request("copied");
    const refused = await cluster("admin", "accept", "copied", "--agent-id", "a1b2c");
    expect([refused.code, refused.err]).toEqual([7, expect.stringContaining("asked with 2 different keys")]);
    expect(refused.err).toContain("--request CSR");
    const named = await cluster("admin", "accept", "copied", "--request", first.csr, "--wait=false");
    expect([named.code, named.out]).toEqual([0, expect.stringContaining(`csr/${first.csr} approved`)]);
  });

  it("does nothing for a new agent of a cluster that has one, until it is named", async () => {
    await (await stageJoined("taken")).enter();
    await stage.cluster(
      "taken",
      ({ metadata }) => metadata.annotations?.["registration.pratique.dev/agents"] !== undefined,
    );
    const newcomer = await stage.request("taken", { agent: "n3wag" });
    const refused = await cluster("admin", "accept", "taken");
    expect([refused.code, refused.err]).toEqual([
      7,
      expect.stringContaining('belongs to a cluster that has an agent: "a1b2c"'),
    ]);
    const named = await started("admin", "accept", "taken", "--agent-id", "n3wag");
    await told(named, /waiting for a heartbeat of agent n3wag/);
    await beat(await stage.issued(newcomer), "taken");
    expect(await named.done).toMatchObject({
      code: 0,
      out: expect.stringContaining("agent n3wag is heard again") as string,
    });
  });

  it("waits for no heartbeat of a revoked agent without saying who asks in its place", async () => {
    await (await stageJoined("again")).enter();
    await stage.cluster(
      "again",
      ({ metadata }) => metadata.annotations?.["registration.pratique.dev/agents"] !== undefined,
    );
    expect((await cluster("admin", "deny", "again")).code).toBe(0);
    const waiting = await started("admin", "accept", "again", "--timeout", "2h");
    await told(waiting, /waiting for a heartbeat of agent a1b2c\n/);
    const newcomer = await stage.request("again", { agent: "n3wag" });
    await told(waiting, /; agent n3wag asks in its name: .*pratique cluster accept again --agent-id n3wag\n/);
    expect((await cluster("admin", "accept", "again", "--agent-id", "n3wag", "--wait=false")).code).toBe(0);
    await beat(await stage.issued(newcomer), "again");
    expect(await waiting.done).toMatchObject({ code: 0 });
  });

  it("does nothing for a request of somebody whom nobody gave a bootstrap identity", async () => {
    await stage.create("strange");
    await stage.request("strange", {}, stage.as("stranger"));
    const refused = await cluster("admin", "accept", "strange");
    expect([refused.code, refused.err]).toEqual([
      7,
      expect.stringContaining('"stranger", who asks, is no bootstrap identity'),
    ]);
    expect(refused.err).toContain('it was made by "booter"');
  });

  it("says what is missing where it is not to wait, and ends with 5 when time is up", async () => {
    const missing = await cluster("admin", "accept", "nobody", "--wait=false");
    expect([missing.code, missing.err]).toEqual([
      5,
      expect.stringContaining("nobody: missing the cluster to be registered"),
    ]);
    await asked("slow");
    const late = await cluster("admin", "accept", "slow", "--timeout", "8s");
    expect([late.code, late.err]).toEqual([5, expect.stringContaining("slow: the time is up, still waiting for")]);
  });

  it("ends at once when it is interrupted, and what was decided stays", async () => {
    await asked("stopped");
    const running = await started("admin", "accept", "stopped");
    await told(running, /to come in/);
    running.interrupt();
    expect((await running.done).code).toBe(130);
    expect((await stage.admin(`${clustersPath}/stopped`)).object()["spec"]).toMatchObject({ hubAcceptsClient: true });
  });

  it("lets several in at once, and the exit is that of one that failed", async () => {
    const agents = [await asked("many-a"), await asked("many-b")];
    const running = await started("admin", "accept", "many-a", "many-b", "many-c", "--timeout", "30m");
    for (const agent of agents) await agent.enter();
    // Nobody comes for the third.
    const names = ["many-a", "many-b"];
    await expect.poll(() => names.filter((name) => running.out().includes(`${name}: joined`))).toEqual(names);
    running.skip(1_800_000);
    const { code, out } = await running.done;
    expect(code).toBe(5);
    for (const name of ["many-a", "many-b"]) expect(out).toContain(`${name}: joined`);
  });
});

/** A cluster that was let in, whose agent has still to come. */
async function stageJoined(name: string): Promise<Awaited<ReturnType<typeof asked>>> {
  const agent = await asked(name);
  expect((await cluster("admin", "accept", name, "--wait=false")).code).toBe(0);
  return agent;
}

describe("the two decisions by command", () => {
  it("are of two people, and each is told what is left to the other", async () => {
    const agent = await asked("split");
    const ann = await started("ann", "accept", "split");
    await told(ann, /left to a user who may accept the cluster/);
    await told(ann, /waiting for it to be accepted by a user with that right/);
    const acc = await started("acc", "accept", "split");
    await agent.enter();
    const [first, second] = [await ann.done, await acc.done];
    expect([first.code, second.code]).toEqual([0, 0]);
    expect(first.out).toMatch(/csr\/\S+ approved[\s\S]*joined/);
    expect(second.out).toMatch(/no certificate request was looked at\nsplit: accepted\n[\s\S]*joined/);
  });

  it("end with 4 where the other half stays undone, and nothing comes of one half", async () => {
    const agent = await asked("alone");
    const ann = await cluster("ann", "accept", "alone", "--timeout", "5s");
    expect([ann.code, ann.err]).toEqual([4, expect.stringContaining("your half is done, the other is left to")]);
    expect((await stage.admin(`${csrsPath}/${agent.csr}`)).object()["status"]).toMatchObject({
      conditions: [{ type: "Approved", reason: "PratiqueApprove" }],
    });
    expect((await stage.admin(`${clustersPath}/alone`)).object()["spec"]).toMatchObject({ hubAcceptsClient: false });
  });

  it("are refused to somebody who has neither", async () => {
    await asked("neither");
    const role = {
      apiGroups: ["cluster.open-cluster-management.io"],
      resources: ["managedclusters"],
      verbs: ["get", "patch"],
    };
    const csrs = { apiGroups: ["certificates.k8s.io"], resources: ["certificatesigningrequests"], verbs: ["list"] };
    await stage.admin(`${rbac}/clusterroles`, {
      method: "POST",
      body: { metadata: { name: "commands-none" }, rules: [role, csrs] },
    });
    await bind("none", "commands-none");
    const { code, err } = await cluster("none", "accept", "neither");
    expect([code, err]).toEqual([4, expect.stringContaining("you may do neither half of letting it in")]);
  });

  it("are of one cluster where the right names it", async () => {
    const only = (resourceNames: readonly string[]): object => ({
      apiGroups: ["register.open-cluster-management.io"],
      resources: ["managedclusters/accept"],
      verbs: ["update"],
      resourceNames,
    });
    const rules = [
      { apiGroups: ["cluster.open-cluster-management.io"], resources: ["managedclusters"], verbs: ["get", "patch"] },
      only(["own"]),
    ];
    await stage.admin(`${rbac}/clusterroles`, { method: "POST", body: { metadata: { name: "commands-one" }, rules } });
    await bind("one", "commands-one");
    for (const name of ["own", "own-too"]) await asked(name);
    const { code, out, err } = await cluster("one", "accept", "own", "own-too", "--wait=false");
    expect(code).toBe(4);
    expect(out).toContain("own: accepted\n");
    expect(out).not.toContain("own-too: accepted");
    expect(err).toContain("own-too: your half is done, the other is left to a user who may accept the cluster");
  });
});

describe("pratique cluster deny", () => {
  it("turns away what asks, with the reason, and leaves the cluster unaccepted", async () => {
    const { csr } = await asked("unknown");
    const { code, out } = await cluster("admin", "deny", "unknown", "--reason", "who is that");
    expect([code, out]).toEqual([0, expect.stringContaining(`unknown: csr/${csr} denied, of agent a1b2c`)]);
    expect((await stage.admin(`${csrsPath}/${csr}`)).object()["status"]).toMatchObject({
      conditions: [{ type: "Denied", message: "who is that" }],
    });
  });

  it("is told by accept, which waits for no request that the agent makes only when the denied one is deleted", async () => {
    const { csr } = await asked("regretted");
    expect((await cluster("admin", "deny", "regretted")).code).toBe(0);
    const { code, err } = await cluster("admin", "accept", "regretted", "--timeout", "2h");
    expect([code, err]).toEqual([7, expect.stringContaining(`csr/${csr} of agent "a1b2c" with key SHA256:`)]);
    expect(err).toContain(`was denied. A denied request cannot be approved`);
    expect(err).toContain(`\nDelete it: kubectl delete csr ${csr}\n`);
    expect((await stage.cluster("regretted", () => true))["spec"]).toMatchObject({ hubAcceptsClient: false });
    expect((await stage.admin(`${csrsPath}/${csr}`, { method: "DELETE" })).status).toBe(200);
    await stage.request("regretted");
    const next = /^Then accept the new request of the agent: pratique cluster (accept .*)$/m.exec(err)?.[1] ?? "";
    const again = await cluster("admin", ...next.split(" "), "--wait=false");
    expect([again.code, again.out]).toEqual([0, expect.stringContaining("regretted: accepted\n")]);
  });

  it("shuts a cluster out, waits until its rights are gone, and says what became of its certificates", async () => {
    const agent = await (await stageJoined("shut")).enter();
    await stage.cluster(
      "shut",
      ({ metadata }) => metadata.annotations?.["registration.pratique.dev/agents"] !== undefined,
    );
    const { code, out } = await cluster("admin", "deny", "shut", "--reason", "stolen");
    expect([code, out]).toEqual([
      0,
      "shut: denied\nshut: its rights are gone\nshut: the certificate of agent a1b2c is revoked\n",
    ]);
    expect((await agent(`${clustersPath}/shut`)).status).toBe(401);
    const list = await cluster("admin", "list", "-o", "json");
    expect(JSON.parse(list.out)).toContainEqual(
      expect.objectContaining({ name: "shut", denied: true, deniedBecause: "stolen" }),
    );
  });

  it("ends with 6 for a name that nobody has", async () => {
    expect((await cluster("admin", "deny", "never")).code).toBe(6);
  });
});

describe("pratique cluster list", () => {
  it("shows who is in, how it is, and which agent holds a certificate", async () => {
    await (await stageJoined("shown")).enter();
    await stage.create("waits");
    await stage.cluster(
      "shown",
      ({ metadata }) => metadata.annotations?.["registration.pratique.dev/agents"] !== undefined,
    );
    const { code, out } = await cluster("admin", "list");
    expect(code).toBe(0);
    expect(out).toMatch(/^NAME +ACCEPTED +JOINED +AVAILABLE +VERSION +HEARTBEAT +AGENT ID +SET +AGE\n/);
    expect(out).toMatch(/^shown +yes +yes +True +v1\.36\.0 +\d+s ago +a1b2c +default +\d+s$/m);
    expect(out).toMatch(/^waits +no +no +<none> +<unknown> +<none> +<none> +default +\d+s$/m);
  });

  it("does without heartbeats for somebody who may not see them", async () => {
    const { code, err } = await cluster("acc", "list");
    expect([code, err]).toEqual([0, "note: heartbeats are not shown, since you may not list leases\n"]);
  });
});

describe("pratique cluster detach", () => {
  it("waits until nothing of the cluster is left on the hub", async () => {
    await (await stageJoined("parting")).enter();
    const { code, out, err } = await cluster("admin", "detach", "parting");
    expect([code, out]).toEqual([0, "parting: being detached\nparting: detached\n"]);
    expect(err).toContain("its agent is not stopped by this");
    for (const path of [`${clustersPath}/parting`, "/api/v1/namespaces/parting"]) {
      expect([path, (await stage.admin(path)).status]).toEqual([path, 404]);
    }
  });

  it("says what a silent spoke holds, and goes without it when it is told to", async () => {
    await (await stageJoined("lost")).enter();
    const path = "/apis/addon.open-cluster-management.io/v1beta1/namespaces/lost/managedclusteraddons";
    const addOn = {
      apiVersion: "addon.open-cluster-management.io/v1beta1",
      kind: "ManagedClusterAddOn",
      metadata: { name: "stuck", finalizers: ["example.com/agent"] },
      spec: {},
    };
    expect((await stage.admin(path, { method: "POST", body: addOn })).status).toBe(201);
    const waiting = await started("admin", "detach", "lost", "--timeout", "10m");
    await told(waiting, /1 managedclusteraddons are left/);
    waiting.interrupt();
    expect((await waiting.done).code).toBe(130);
    const forced = await cluster("admin", "detach", "lost", "--force");
    expect([forced.code, forced.out]).toEqual([0, "lost: already being detached\nlost: detached\n"]);
  });

  it("leaves a namespace that was there before, and says so", async () => {
    await stage.admin("/api/v1/namespaces", { method: "POST", body: { metadata: { name: "elder" } } });
    await stageJoined("elder");
    await stage.cluster("elder");
    const { code, out } = await cluster("admin", "detach", "elder");
    expect([code, out]).toEqual([0, expect.stringContaining("elder: its namespace stays")]);
  });

  it("ends with 6 for a name that nobody has", async () => {
    expect((await cluster("admin", "detach", "never")).code).toBe(6);
  });
});

describe("pratique pending", () => {
  it("shows clusters with both decisions, stale requests and what needs care, and their requests once", async () => {
    const { csr } = await asked("due", { agent: "aaaaa" });
    await stage.request("due", { agent: "bbbbb" });
    await stage.create("calm");
    const written = { out: "" };
    const io = {
      ...world,
      env: { KUBECONFIG: stage.hub.kubeconfig },
      stdout: { write: (text: string) => void (written.out += text), isTty: false },
    };
    expect(await runProgram(commands, ["pending"], io)).toBe(0);
    expect(written.out).toMatch(
      /^! +managedcluster\/due +\d+s +aaaaa,bbbbb +pending +pending +booter +1 +SHA256:\S+$/m,
    );
    expect(written.out).toMatch(/^ +managedcluster\/calm +\d+s +<unknown> +not asked for +pending +booter +0 /m);
    expect(written.out).toContain('  managedcluster/due\n    2 agents ask in its name: "aaaaa", "bbbbb"\n');
    expect(written.out).not.toContain(`csr/${csr}`);
  });
});

describe("pratique cluster join", () => {
  const spoke = (name: string): readonly string[] => [
    "--bootstrap-kubeconfig",
    `${name}.kubeconfig`,
    "--cluster-name",
    name,
    "--dir",
    name,
  ];

  /** The file that a spoke needs, as the command on the hub writes it. */
  async function given(name: string): Promise<void> {
    expect((await cluster("admin", "token", "--bootstrap-kubeconfig", `${name}.kubeconfig`)).code).toBe(0);
  }

  it("says what it waits for and what to type on the hub, and ends once the cluster is available", async () => {
    await given("real");
    const joining = await started("none", "join", ...spoke("real"));
    await told(joining, /waiting for .*\. On the hub, compare the agent id/);
    const id =
      /compare the agent id (\S+), then: pratique cluster accept real --agent-id \1/.exec(joining.err())?.[1] ?? "";
    const wrong = await cluster("admin", "accept", "real", "--agent-id", "other", "--wait=false");
    expect([wrong.code, wrong.err]).toEqual([5, expect.stringContaining(`there are requests of "${id}"`)]);
    const accepting = await started("admin", "accept", "real", "--agent-id", id);
    const { code, out } = await joining.done;
    expect(code).toBe(0);
    expect(out).toContain(`The cluster real has joined ${stage.hub.url} with agent ${id}, and is available.`);
    expect(out).toContain("  pratique klusterlet --bootstrap-kubeconfig real.kubeconfig --cluster-name real");
    const accepted = await accepting.done;
    expect([accepted.code, accepted.out]).toEqual([0, expect.stringContaining(`agent ${id} has come in`)]);
    const again = await cluster("none", "join", ...spoke("real"));
    expect([again.code, again.out]).toEqual([0, expect.stringContaining(`with agent ${id}`)]);
  });

  it("loses nothing when it is interrupted, and goes on later as the same agent with the same request", async () => {
    await given("undecided");
    const first = await started("none", "join", ...spoke("undecided"));
    await told(first, /On the hub, compare/);
    first.interrupt();
    const ended = await first.done;
    expect(ended.code).toBe(130);
    expect(ended.err).toMatch(
      /stopped while waiting for an approver to approve the certificate and an approver to accept the cluster/,
    );
    const id = /accept undecided --agent-id (\S+)/.exec(ended.err)?.[1] ?? "";
    const joining = await started("none", "join", ...spoke("undecided"));
    await told(joining, /had asked for a certificate/);
    expect((await cluster("admin", "accept", "undecided", "--agent-id", id)).code).toBe(0);
    expect((await joining.done).code).toBe(0);
  });

  it("joins without a person where the rule that the token command printed is in force", async () => {
    const made = await cluster("admin", "token", "--bootstrap-kubeconfig", "auto.kubeconfig", "--clusters", "auto-*");
    const rule = made.out.slice(made.out.indexOf("  - user:"));
    const file = join(stage.hub.dir, "registration.yaml");
    await writeFile(file, `apiVersion: pratique.dev/v1alpha1\nkind: ClusterRegistration\nautoApproval:\n${rule}`);
    const { readClusterRegistration } = await import("../../src/config-files/cluster-registration.ts");
    expect(await readClusterRegistration(file)).toEqual([
      { user: expect.stringMatching(/^system:bootstrap:[a-z0-9]{6}$/) as string, clusters: ["auto-*"], rejoin: false },
    ]);
  });
});

describe("docs/managed-clusters.md", () => {
  it("says what to type, from the token to the end", async () => {
    const { setup } = await docsSection("managed-clusters.md", "Join a cluster");
    const [token, join = "", pending, accept = "", klusterlet = "", list, detach, ...more] = setup;
    expect(more).toEqual([]);
    const typed = (text: string | undefined): Promise<Running> => {
      const [program, ...words] = (text ?? "").split(/ +/);
      expect(program).toBe("pratique");
      return startedProgram("admin", words);
    };
    expect(await (await typed(token)).done).toMatchObject({ code: 0 });
    const joining = await typed(join);
    await told(joining, /On the hub, compare the agent id/);
    const id = /compare the agent id (\S+),/.exec(joining.err())?.[1] ?? "";
    const shown = (await (await typed(pending)).done).out;
    expect(shown).toMatch(new RegExp(`managedcluster/east +\\S+ +${id} +pending +pending`));
    const accepted = await (await typed(accept.replace("ID", id))).done;
    expect([accepted.code, accepted.out]).toEqual([0, expect.stringContaining("east: joined")]);
    const { code, out } = await joining.done;
    expect([code, out]).toEqual([0, expect.stringContaining(klusterlet)]);
    const agent = await typed(klusterlet);
    await told(agent, /reason=ClusterAccepted/);
    expect((await (await typed(list)).done).out).toMatch(new RegExp(`^east +yes +yes .* ${id} +default`, "m"));
    expect(await (await typed(detach)).done).toMatchObject({
      code: 0,
      out: expect.stringContaining("east: detached") as string,
    });
    agent.interrupt();
    expect(await agent.done).toMatchObject({ code: 0 });
  });
});

it("a server without managed clusters is told apart from one without clusters", async () => {
  const { startTestHub } = await import("../kits/hub.ts");
  const plain = await startTestHub();
  try {
    let err = "";
    const io = {
      ...world,
      env: { KUBECONFIG: plain.kubeconfig },
      stderr: { write: (text: string) => void (err += text), isTty: false },
    };
    expect(await runProgram(commands, ["cluster", "list"], io)).toBe(1);
    expect(err).toContain("serves no managed clusters");
  } finally {
    await plain.close();
  }
});
