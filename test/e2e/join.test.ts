import { randomBytes, X509Certificate } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join as joinPath } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { join } from "../../src/agent/join/join.ts";
import type { JoinError } from "../../src/credentials/join-error.ts";
import type { JoinEvent } from "../../src/agent/join/join-event.ts";
import type { Discovery, Joined, JoinOptions } from "../../src/agent/join/join-options.ts";
import { certificateRequests, type RequestObject } from "../../src/credentials/request/certificate-request.ts";
import { privateFiles } from "../../src/host/private-files.ts";
import { wallClock } from "../../src/host/system-clock.ts";
import { commands } from "../../src/cli/commands.ts";
import { processIo } from "../../src/cli/process-io.ts";
import { runProgram } from "../../src/cli/program.ts";
import { bootstrapKubeconfig } from "../../src/client/build-kubeconfig.ts";
import { parseKubeconfig } from "../../src/client/kubeconfig.ts";
import { remoteClient, type RemoteClient } from "../../src/client/remote.ts";
import { resolveKubeconfig } from "../../src/client/resolve-kubeconfig.ts";
import { secrets } from "../../src/controllers/kinds.ts";
import { startHub } from "../../src/server/hub.ts";
import type { HubOptions } from "../../src/server/hub-options.ts";
import { credentialRevocations } from "../../src/apis/credential-revocation.ts";
import { formatToken, generateToken } from "../../src/trust/token.ts";
import { tokenSecret } from "../../src/trust/token-secret.ts";
import { apiClient } from "../kits/api-client.ts";
import { csrsPath } from "../kits/cluster-stage.ts";
import { startTestHub, type TestHub } from "../kits/hub.ts";
import { hastyClock } from "../kits/hasty-clock.ts";
import { freePort } from "../kits/peers-kube.ts";
import { eventually } from "../kits/peers-process.ts";
import { retryOnConflict } from "../kits/retry-on-conflict.ts";
import { failureOf, joinBench, type JoinBench } from "../kits/join-bench.ts";

const nodeGroup = "system:bootstrappers:kubeadm:default-node-token";

let auto: TestHub;
let manual: TestHub;
let bench: JoinBench;
const clients: RemoteClient[] = [];

beforeAll(async () => {
  [auto, manual] = await Promise.all([startTestHub(), startTestHub({ nodeAutoapprove: false })]);
});

afterAll(async () => {
  for (const client of clients) client.close();
  await Promise.all([auto.close(), manual.close()]);
});

/** A name that no other machine has: one that is in use is not approved automatically. */
let machine: string;
let machines = 0;

beforeEach(async () => {
  machine = `n${(machines += 1)}`;
  bench = await joinBench();
});

afterEach(() => bench.remove());

async function clientOf(path: string): Promise<RemoteClient> {
  const config = parseKubeconfig(await readFile(path, "utf8"), path);
  const resolved = await resolveKubeconfig(config, { readFile: (file) => readFile(file) });
  const client = remoteClient({ ...resolved, userAgent: "test", timeoutMs: 10_000, clock: wallClock });
  clients.push(client);
  return client;
}

/** What a test needs to know of a hub. */
type Reached = Pick<TestHub, "hub" | "port" | "kubeconfig">;

interface TokenWishes {
  readonly usages?: readonly string[];
  readonly groups?: readonly string[];
  /** In milliseconds, how long ago it was made; it lives for an hour. */
  readonly ageMs?: number;
}

/** Makes a token on the hub as `token create` does. */
async function tokenOf(hub: Reached, wishes: TokenWishes = {}): Promise<string> {
  const token = generateToken((size) => randomBytes(size));
  const { usages = ["signing", "authentication"], groups = usages.includes("authentication") ? [nodeGroup] : [] } =
    wishes;
  const now = Date.now() - (wishes.ageMs ?? 0);
  const admin = await clientOf(hub.kubeconfig);
  await admin.create(secrets, tokenSecret({ token, now, ttlSeconds: 3600, usages, groups, description: "" }));
  return formatToken(token);
}

async function discoveryOf(hub: Reached, wishes: TokenWishes = {}): Promise<Extract<Discovery, { kind: "token" }>> {
  const { hub: running, port } = hub;
  return { kind: "token", endpoint: `127.0.0.1:${port}`, token: await tokenOf(hub, wishes), pins: [running.caPin] };
}

type Overrides = Partial<JoinOptions> & { readonly onEvent?: (event: JoinEvent) => void };

async function run(discovery: Discovery, { onEvent, ...options }: Overrides = {}): Promise<Joined> {
  const { certDir, kubeconfig } = bench;
  const all = { discovery, nodeName: machine, certDir, kubeconfig, clock: wallClock, ...options };
  return join(all, (event) => {
    bench.events.push(event);
    onEvent?.(event);
  });
}

async function failure(discovery: Discovery, options?: Overrides): Promise<JoinError> {
  return failureOf(run(discovery, options));
}

/** Decides as the admin; anew where the hub has written why it leaves the request to people meanwhile. */
async function decide(kubeconfig: string, name: string, type: "Approved" | "Denied"): Promise<void> {
  const admin = await clientOf(kubeconfig);
  const condition = { type, status: "True", reason: "Test", message: "by hand" };
  const headers = { "content-type": "application/json" };
  const reply = await retryOnConflict(async () => {
    const request = await admin.get<RequestObject>(certificateRequests, { name });
    const changed = { ...request, status: { ...request.status, conditions: [condition] } };
    return admin.raw("PUT", `${csrsPath}/${name}/approval`, { headers, body: Buffer.from(JSON.stringify(changed)) });
  });
  expect(reply.status).toBe(200);
}

async function whoami(kubeconfig: string): Promise<unknown> {
  const client = await clientOf(kubeconfig);
  const body = Buffer.from(JSON.stringify({ apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" }));
  const reply = await client.raw("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", {
    body,
    headers: { "content-type": "application/json" },
  });
  return (JSON.parse(reply.body.toString()) as { readonly status: { readonly userInfo: unknown } }).status.userInfo;
}

describe("a hub that approves nodes by itself", () => {
  /** Its pauses take no time, so that it gives up by how often it asked. */
  const unknown: Overrides = { clock: hastyClock(), discoveryTimeoutMs: 10_000 };

  test("lets a machine in by a token, and its kubeconfig is the node's", async () => {
    const joined = await run(await discoveryOf(auto));
    expect(joined).toMatchObject({ outcome: "joined", server: auto.url });
    expect(await whoami(bench.kubeconfig)).toMatchObject({
      username: `system:node:${machine}`,
      groups: expect.arrayContaining(["system:nodes", "system:authenticated"]) as unknown,
    });
  });

  test("lets a machine join again without asking, and by force with a new key", async () => {
    const discovery = await discoveryOf(auto);
    const first = await run(discovery);
    expect((await run(discovery)).outcome).toBe("already-joined");
    const forced = await run(discovery, { force: true });
    expect(forced.outcome).toBe("joined");
    expect(forced.requestName).not.toBe(first.requestName);
    expect(await whoami(bench.kubeconfig)).toMatchObject({ username: `system:node:${machine}` });
  });

  test("lets a machine join by force with its token where its certificate was revoked", async () => {
    const discovery = await discoveryOf(auto);
    const first = await run(discovery);
    const { fingerprint256 } = new X509Certificate(await readFile(first.credentialFile));
    const admin = await clientOf(auto.kubeconfig);
    await admin.create(credentialRevocations, {
      apiVersion: "access.pratique.dev/v1alpha1",
      kind: "CredentialRevocation",
      metadata: { name: machine },
      spec: { fingerprint: fingerprint256.replaceAll(":", "").toLowerCase() },
    });
    expect((await run(discovery, { force: true })).outcome).toBe("joined");
    expect(await whoami(bench.kubeconfig)).toMatchObject({ username: `system:node:${machine}` });
  });

  describe("and the command", () => {
    async function pratiqueJoin(
      ...more: readonly string[]
    ): Promise<{ readonly code: number; readonly out: string; readonly err: string }> {
      const { endpoint, token, pins } = await discoveryOf(auto);
      const written = { out: "", err: "" };
      const io = {
        ...processIo(),
        stdout: { write: (text: string) => void (written.out += text), isTty: false },
        stderr: { write: (text: string) => void (written.err += text), isTty: false },
      };
      const files = ["--cert-dir", bench.certDir, "--kubeconfig", bench.kubeconfig, "--node-name", machine];
      const pin = pins.flatMap((one) => ["--discovery-token-ca-cert-hash", one]);
      const code = await runProgram(commands, ["join", endpoint, "--token", token, ...pin, ...files, ...more], io);
      return { code, ...written };
    }

    async function revoke(spec: Readonly<Record<string, string>>): Promise<void> {
      const admin = await clientOf(auto.kubeconfig);
      await admin.create(credentialRevocations, {
        apiVersion: "access.pratique.dev/v1alpha1",
        kind: "CredentialRevocation",
        metadata: { name: machine },
        spec,
      });
    }

    test("fails on a machine that has joined and was revoked since, and says what to do", async () => {
      expect(await pratiqueJoin()).toMatchObject({ code: 0 });
      const current = joinPath(bench.certDir, "kubelet-client-current.pem");
      const { fingerprint256 } = new X509Certificate(await readFile(current));
      await revoke({ fingerprint: fingerprint256.replaceAll(":", "").toLowerCase() });
      const { code, out, err } = await pratiqueJoin();
      expect([code, out]).toEqual([4, ""]);
      expect(err).toContain(
        `this machine joined ${auto.url} earlier as system:node:${machine}, and the hub rejects its certificate (401 Unauthorized): see why on the hub`,
      );
    });

    test("says that no certificate is issued to a node that is revoked by its name, and what to do", async () => {
      await revoke({ user: `system:node:${machine}` });
      const { code, out, err } = await pratiqueJoin("--timeout", "10s");
      expect([code, out]).toEqual([5, ""]);
      expect(err).toContain(
        `UserRevoked: not approved automatically: the user "system:node:${machine}" for which it requests a certificate is revoked; delete that CredentialRevocation`,
      );
    });

    test("says on a machine that has joined that its hub cannot be reached, and how to change the address", async () => {
      expect(await pratiqueJoin()).toMatchObject({ code: 0 });
      const away = `https://127.0.0.1:${await freePort()}`;
      await writeFile(bench.kubeconfig, (await readFile(bench.kubeconfig, "utf8")).replace(auto.url, away));
      const { code, out, err } = await pratiqueJoin();
      expect(code).toBe(0);
      expect(out).toContain("This machine had joined already; nothing was changed.\n");
      expect(err).toBe(
        `note: nothing listens at ${away}: check that the server runs, and the address and the port. This machine uses ${away}; to change it to 127.0.0.1:${auto.port}, add --force\n`,
      );
    });
  });

  test("lets a machine in by a bootstrap kubeconfig", async () => {
    const path = joinPath(bench.dir, "bootstrap.conf");
    await writeFile(path, bootstrapKubeconfig({ server: auto.url, ca: { pem: auto.ca }, token: await tokenOf(auto) }));
    expect((await run({ kind: "bootstrap-kubeconfig", path })).outcome).toBe("joined");
    expect(await whoami(bench.kubeconfig)).toMatchObject({ username: `system:node:${machine}` });
  });

  test("lets a machine in by its own cluster-info as discovery file, and a token", async () => {
    const location = joinPath(bench.dir, "cluster-info.yaml");
    const admin = await clientOf(auto.kubeconfig);
    // The hub makes it once it runs.
    const reply = await eventually("cluster-info", async () => {
      const found = await admin.raw("GET", "/api/v1/namespaces/kube-public/configmaps/cluster-info");
      return found.status === 200 ? found : undefined;
    });
    const { data } = JSON.parse(reply.body.toString()) as { readonly data: Readonly<Record<string, string>> };
    await writeFile(location, data["kubeconfig"] ?? "", { mode: 0o600 });
    expect((await run({ kind: "file", location, token: await tokenOf(auto) })).outcome).toBe("joined");
  });

  test("token-unknown: a token that never was", async () => {
    const discovery = await discoveryOf(auto);
    const error = await failure({ ...discovery, token: "zzzzzz.zzzzzzzzzzzzzzzz" }, unknown);
    expect(error.code).toBe("token-unknown");
  });

  test("token-unknown: an expired token", async () => {
    const error = await failure(await discoveryOf(auto, { ageMs: 7_200_000 }), unknown);
    expect(error.code).toBe("token-unknown");
    expect(error.message).toContain("mistyped, expired or deleted");
  });

  test("bad-signature: the right id with a wrong secret", async () => {
    const discovery = await discoveryOf(auto);
    const error = await failure({ ...discovery, token: `${discovery.token.slice(0, 6)}.zzzzzzzzzzzzzzzz` });
    expect(error.code).toBe("bad-signature");
  });

  test("pin-mismatch: the pin of another hub", async () => {
    const error = await failure({ ...(await discoveryOf(auto)), pins: [manual.hub.caPin] });
    expect(error.code).toBe("pin-mismatch");
    expect(error.message).toContain(`wanted ${manual.hub.caPin}, found ${auto.hub.caPin}`);
  });

  test("unauthorized: a token that is for signing only", async () => {
    const error = await failure(await discoveryOf(auto, { usages: ["signing"] }));
    expect(error.code).toBe("unauthorized");
  });

  test("forbidden: a token whose groups have no rights", async () => {
    const error = await failure(await discoveryOf(auto, { groups: ["system:bootstrappers:nobody"] }));
    expect(error.code).toBe("forbidden");
    expect(error.message).toContain("cannot create resource");
  });

  test("signs the time for a machine whose clock is wrong, and the machine is told how wrong", async () => {
    const slow = { ...wallClock, now: () => wallClock.now() - 41 * 60_000 };
    const error = await failure(await discoveryOf(auto), { clock: slow });
    expect(error).toMatchObject({
      code: "clock-skew",
      message: expect.stringContaining("41 minutes behind") as string,
    });
    expect(bench.events).toContainEqual({
      kind: "clock-differs",
      aheadMs: expect.closeTo(-41 * 60_000, -4) as number,
      message:
        "this machine's clock is 41 minutes behind the hub's, as the hub's CA has signed: certificates may seem expired or not yet valid",
    });
  });

  test("signs no time without a nonce, and never the same answer for another", async () => {
    const get = async (query: string): Promise<{ readonly status: number; readonly text: string }> => {
      const api = apiClient(auto, "anonymous");
      const { status, text } = await api(`/.well-known/pratique/time${query}`);
      api.close();
      return { status, text };
    };
    expect((await get("")).status).toBe(400);
    expect((await get("?nonce=short")).status).toBe(400);
    const one = await get(`?nonce=${"a".repeat(22)}`);
    const other = await get(`?nonce=${"b".repeat(22)}`);
    expect(one.status).toBe(200);
    const signature = ({ text }: { readonly text: string }): unknown =>
      (JSON.parse(text) as { signatures: readonly { signature: string }[] }).signatures[0]?.signature;
    expect(signature(one)).not.toBe(signature(other));
  });
});

describe("a hub where a person approves", () => {
  test("lets the machine in after approval", async () => {
    const joined = await run(await discoveryOf(manual), {
      onEvent: (event) =>
        event.kind === "waiting-for-approval" && void decide(manual.kubeconfig, event.name, "Approved"),
    });
    expect(joined.outcome).toBe("joined");
    expect(bench.events.map((event) => event.kind)).toContain("waiting-for-approval");
    expect(await whoami(bench.kubeconfig)).toMatchObject({ username: `system:node:${machine}` });
  });

  test("denied: tells the machine why, each time until it asks anew", async () => {
    const discovery = await discoveryOf(manual);
    const denying: Overrides = {
      onEvent: (event) => event.kind === "request-created" && void decide(manual.kubeconfig, event.name, "Denied"),
    };
    const error = await failure(discovery, denying);
    expect(error.code).toBe("denied");
    expect(error.message).toContain("was denied: Test: by hand.");
    expect((await failure(discovery)).code).toBe("denied");
    const approving: Overrides = {
      force: true,
      onEvent: (event) => event.kind === "request-created" && void decide(manual.kubeconfig, event.name, "Approved"),
    };
    expect((await run(discovery, approving)).outcome).toBe("joined");
  });

  test("deleted: the request is taken away while the machine waits", async () => {
    const error = await failure(await discoveryOf(manual), {
      onEvent: (event) =>
        event.kind === "request-created" &&
        void clientOf(manual.kubeconfig).then((admin) => admin.delete(certificateRequests, { name: event.name })),
    });
    expect(error.code).toBe("deleted");
  });

  test("timeout-waiting: nobody decides, and the same join goes on with the same request", async () => {
    const discovery = await discoveryOf(manual);
    const error = await failure(discovery, { waitMs: 100 });
    expect(error.code).toBe("timeout-waiting");
    const joined = await run(discovery, {
      onEvent: (event) => event.kind === "request-found" && void decide(manual.kubeconfig, event.name, "Approved"),
    });
    expect(joined.outcome).toBe("joined");
    expect(error.message).toContain(joined.requestName ?? "no name");
  });
});

describe("a join whose answer was lost", () => {
  const off = new Set(["when its request was made", "when it was approved and issued"]);

  test.each([...off, "when its certificate was there, and could not be written"])(
    "%s is repeated with the same key, and burns nothing",
    async (when) => {
      const nodeName = `lost-${when.length}`;
      const discovery = await discoveryOf(manual);
      const stop = new AbortController();
      let asked = "";
      const approve = (): Promise<void> => decide(manual.kubeconfig, asked, "Approved");
      const error = await failure(discovery, {
        nodeName,
        signal: stop.signal,
        files: { ...privateFiles, replaceLink: () => Promise.reject(Object.assign(new Error("x"), { code: "EIO" })) },
        onEvent: (event) => {
          if (event.kind !== "request-created") return;
          asked = event.name;
          if (off.has(when)) stop.abort();
          else void approve();
        },
      });
      expect(error.code).toBe(off.has(when) ? "aborted" : "write-failed");
      if (when === "when it was approved and issued") await approve();
      bench.events.length = 0;
      const joined = await run(discovery, {
        nodeName,
        onEvent: (event) => event.kind === "waiting-for-approval" && void approve(),
      });
      expect([joined.outcome, joined.requestName]).toEqual(["joined", asked]);
      expect(bench.events.map(({ kind }) => kind)).not.toContain("request-created" satisfies JoinEvent["kind"]);
    },
  );
});

test("a hub that restarts while a machine waits finds it waiting still", async () => {
  const options: HubOptions = {
    dataDir: joinPath(bench.dir, "data"),
    bindAddress: "127.0.0.1",
    // A port that nobody is given while the hub is down.
    securePort: await freePort(),
    tlsSans: [],
    authorizationModes: ["RBAC"],
    anonymousAuth: true,
    clusterSigningDurationSeconds: 86_400,
    nodeAutoapprove: false,
    maxRequestsInflight: 100,
    release: "0.0.0-test",
    log: () => {},
  };
  let hub = await startHub(options);
  const seen = { hub, port: options.securePort, kubeconfig: hub.adminKubeconfig };
  let restarted: Promise<void> | undefined;
  const restart = async (name: string): Promise<void> => {
    await hub.close();
    hub = await startHub(options);
    await decide(hub.adminKubeconfig, name, "Approved");
  };
  try {
    const joined = await run(await discoveryOf(seen), {
      onEvent: (event) => {
        if (event.kind === "waiting-for-approval") restarted = restart(event.name);
      },
    });
    await restarted;
    expect(joined.outcome).toBe("joined");
  } finally {
    await hub.close();
  }
});
