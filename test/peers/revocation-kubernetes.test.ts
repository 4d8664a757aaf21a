import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { probeCredential, type Acceptance } from "../../src/credentials/proof/credential-probe.ts";
import { wallClock } from "../../src/host/system-clock.ts";
import type { ClientCredentials } from "../../src/client/transport.ts";
import { loadCa } from "../../src/pki/ca.ts";
import { clientOf } from "../attack/attacked-hub.ts";
import { apiClient, type ApiClient, type KeyPair } from "../kits/api-client.ts";
import { freePort, kubePrograms, startKubernetes, type Kubernetes } from "../kits/peers-kube.ts";
import { accountKubeconfig, accountToken, applyManifests } from "../kits/peers-manifests.ts";
import { peerSuite } from "../kits/peers.ts";
import { eventually } from "../kits/peers-process.ts";
import { programRun, type ProgramRun } from "../kits/program-run.ts";

const maps = "/api/v1/namespaces/default/configmaps";

peerSuite(kubePrograms, "revocation on a real kube-apiserver, by the authorizer in the first place", () => {
  let kube: Kubernetes;
  /** With the authorizer first. */
  let guarded: Awaited<ReturnType<Kubernetes["another"]>>;
  let authorizer: ProgramRun;
  const clients: ApiClient[] = [];

  beforeAll(async () => {
    kube = await startKubernetes();
    await applyManifests(kube);
    await kube.kubectl.ok("create", "serviceaccount", "authorizer");
    const binding = ["create", "clusterrolebinding"];
    const account = "--serviceaccount=default:authorizer";
    await kube.kubectl.ok(...binding, "authorizer", "--clusterrole=pratique:revocation-reader", account);
    await kube.kubectl.ok(...binding, "viewers", "--clusterrole=view", "--group=viewers");
    const port = await freePort();
    const words = [
      "authorizer",
      "--revocations",
      `--secure-port=${port}`,
      `--cert-dir=${join(kube.dir, "authorizer")}`,
    ];
    authorizer = programRun([...words, `--kubeconfig=${await accountKubeconfig(kube, "authorizer", "default")}`]);
    await authorizer.until(/reason=RevocationsSynced/);
    const printed = programRun([...words, "--print-kubeconfig"]);
    if ((await printed.done) !== 0) throw new Error(`--print-kubeconfig failed: ${printed.err()}`);
    const file = join(kube.dir, "authorizer-webhook.conf");
    await writeFile(file, printed.out());
    guarded = await kube.another({
      "authorization-mode": "Webhook,Node,RBAC",
      "authorization-webhook-config-file": file,
      "authorization-webhook-version": "v1",
      // No opinion is cached as long as a refusal is, and would hide a revocation that long.
      "authorization-webhook-cache-authorized-ttl": "1s",
      "authorization-webhook-cache-unauthorized-ttl": "1s",
    });
  }, 240_000);

  afterAll(async () => {
    for (const client of clients) client.close();
    authorizer?.interrupt();
    await authorizer?.done;
    await kube?.stop();
  });

  function connect(
    to: Pick<Kubernetes, "url" | "ca" | "kubeconfig">,
    identity: Parameters<typeof apiClient>[1],
  ): ApiClient {
    const client = apiClient(to, identity);
    clients.push(client);
    return client;
  }

  async function certificateOf(commonName: string, ...organizations: string[]): Promise<KeyPair> {
    const [certificatePem = "", keyPem = ""] = await Promise.all(
      ["ca.crt", "ca.key"].map((name) => readFile(join(kube.dir, "pki", name), "utf8")),
    );
    const ca = loadCa({ certificatePem, keyPem, now: Date.now() });
    const { cert = "", key = "" } = clientOf(ca, { commonName, organizations });
    return { certPem: cert, keyPem: key };
  }

  async function pratique(...words: readonly string[]): Promise<{ readonly out: string; readonly err: string }> {
    const run = programRun([...words, `--kubeconfig=${kube.kubeconfig}`]);
    await run.done;
    return { out: run.out(), err: run.err() };
  }

  test("new requests of a revoked user are denied, others are not, and it comes back when the revocation is deleted", async () => {
    const ann = connect(guarded, await certificateOf("ann", "viewers"));
    const ben = connect(guarded, await certificateOf("ben", "viewers"));
    await eventually("access", async () => ((await ann(maps)).status === 200 ? true : undefined));
    const { out, err } = await pratique("revoke", "user/ann", "--reason", "left");
    expect(out).toBe("user/ann revoked\n");
    expect(err).toContain("this API does not refuse it by itself: that does pratique authorizer --revocations");
    const denied = await eventually("the denial", async () => {
      const reply = await ann(maps);
      return reply.status === 403 ? reply : undefined;
    });
    expect(denied.text).toContain("the credential is revoked: user-");
    expect((await ben(maps)).status).toBe(200);
    await kube.kubectl.ok("delete", "credentialrevocations", "--all");
    await eventually("access again", async () => ((await ann(maps)).status === 200 ? true : undefined));
  }, 240_000);

  test("a watch that is open goes on: only the hub can end it", async () => {
    const cal = connect(guarded, await certificateOf("cal", "viewers"));
    await eventually("access", async () => ((await cal(maps)).status === 200 ? true : undefined));
    const watch = await cal.stream(`${maps}?watch=true`);
    await pratique("revoke", "user/cal");
    await eventually("the denial", async () => ((await cal(maps)).status === 403 ? true : undefined));
    await kube.kubectl.ok("create", "configmap", "after-the-revocation");
    const seen: unknown[] = [];
    while (!seen.includes("after-the-revocation")) seen.push((await watch.next()).object.metadata.name);
    expect(seen).toContain("after-the-revocation");
    watch.close();
  }, 240_000);

  test("the agent of a machine finds it out by asking, and likewise that its account is gone", async () => {
    const asked = (credentials: ClientCredentials): Promise<Acceptance> => {
      const { signal } = new AbortController();
      const trust = { server: guarded.url, caPem: guarded.ca, credentials };
      return probeCredential(trust, { clock: wallClock, userAgent: "test", signal });
    };
    const refused = (what: string, credentials: ClientCredentials): Promise<Acceptance> =>
      eventually(what, async () => {
        const acceptance = await asked(credentials);
        return acceptance.kind === "refused" ? acceptance : undefined;
      });
    const pair = await certificateOf("system:node:learns", "system:nodes");
    const node = { clientCertPem: pair.certPem, clientKeyPem: pair.keyPem };
    expect(await asked(node)).toEqual({ kind: "accepted" });
    await pratique("revoke", "node/learns", "--reason", "stolen");
    expect(await refused("a node that is revoked", node)).toMatchObject({
      message: expect.stringContaining("403 Forbidden: the credential is revoked: ") as string,
    });
    await kube.kubectl.ok("create", "serviceaccount", "gone");
    const token = await accountToken(kube, "gone", "default");
    expect(await asked({ token })).toEqual({ kind: "accepted" });
    await kube.kubectl.ok("delete", "serviceaccount", "gone");
    expect(await refused("an account that is gone", { token })).toMatchObject({ message: "401 Unauthorized" });
  }, 240_000);

  test("system:masters is beyond every authorizer", async () => {
    const root = connect(guarded, await certificateOf("root", "system:masters"));
    await pratique("revoke", "user/root");
    const ann = connect(guarded, await certificateOf("dan", "viewers"));
    await pratique("revoke", "user/dan");
    await eventually("the denial", async () => ((await ann(maps)).status === 403 ? true : undefined));
    expect((await root(maps)).status).toBe(200);
  }, 240_000);

  test("without the authorizer, an account ends with its grants", async () => {
    await kube.kubectl.ok("create", "serviceaccount", "robot");
    await kube.kubectl.ok("create", "rolebinding", "robot", "--clusterrole=view", "--serviceaccount=default:robot");
    const robot = connect(kube, { token: await accountToken(kube, "robot", "default") });
    await eventually("access", async () => ((await robot(maps)).status === 200 ? true : undefined));
    const { out } = await pratique("revoke", "serviceaccount/default/robot", "--remove-grants");
    expect(out).toContain("user/system:serviceaccount:default:robot revoked\n");
    expect(out).toContain("rolebinding/default/robot deleted\n");
    expect(out).toContain("serviceaccount/default/robot deleted\n");
    await eventually("the end of the token", async () => ((await robot(maps)).status === 401 ? true : undefined));
  }, 240_000);
});
