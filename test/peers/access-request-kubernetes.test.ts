import { generateKeyPairSync } from "node:crypto";
import { join } from "node:path";
import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, expect, onTestFailed, onTestFinished, test } from "vitest";
import { provePossession } from "../../src/trust/possession.ts";
import { openAnswer } from "../../src/trust/seal.ts";
import { sshPublicKeyOf, sshFields, sshPositive } from "../../src/pki/ssh-public-key.ts";
import { sealBinding, type AccessRequest } from "../../src/apis/access-request.ts";
import { apiClient, type ApiClient, type Reply } from "../kits/api-client.ts";
import { startKubernetes, kubePrograms, type Kubernetes } from "../kits/peers-kube.ts";
import { accountKubeconfig, applyManifests, runWebhook } from "../kits/peers-manifests.ts";
import { pratiqueProgram, type PratiqueProgram } from "../kits/peers-pratique.ts";
import { eventually } from "../kits/peers-process.ts";
import { programRun, type ProgramRun } from "../kits/program-run.ts";
import { peerSuite } from "../kits/peers.ts";

type Asker = (...asked: Parameters<ApiClient>) => Promise<Reply>;

const merge = "application/merge-patch+json";
const pair = generateKeyPairSync("ed25519");
const key = sshPublicKeyOf(pair.publicKey, "machine");
const spec = { pubKey: key.text };

const election = ["--leader-elect", "--leader-elect-lease-namespace=pratique-system"];

const types = (kind: string): object => ({ apiVersion: "access.pratique.dev/v1alpha1", kind });

const has =
  (type: string) =>
  ({ status }: AccessRequest): boolean =>
    status?.conditions?.some((one) => one.type === type && one.status === "True") === true;

const group = "/apis/access.pratique.dev/v1alpha1";
const requests = `${group}/accessrequests`;
const limitMs = 180_000;

peerSuite(kubePrograms, "access requests on a real control plane", () => {
  let kube: Kubernetes;
  let admin: ApiClient;
  let nobody: ApiClient;
  let controller: ProgramRun;
  let webhook: ProgramRun;
  let pratique: PratiqueProgram;

  beforeAll(async () => {
    [kube, pratique] = await Promise.all([startKubernetes(), pratiqueProgram()]);
    admin = apiClient(kube);
    nobody = apiClient(kube, "anonymous");
    const address = await applyManifests(kube);
    // With the rights that the manifests give it, and no others.
    const kubeconfig = await accountKubeconfig(kube, "pratique-controller");
    controller = programRun(["controller", `--kubeconfig=${kubeconfig}`, ...election]);
    webhook = await runWebhook(kube, address);
    await controller.until(/reason=ControllersStarted/);
    await kube.kubectl.with({ input: setting }).ok("apply", "-f", "-");
  }, 240_000);

  afterAll(async () => {
    admin?.close();
    nobody?.close();
    controller?.interrupt();
    webhook?.interrupt();
    await Promise.all([controller?.done, webhook?.done]);
    await Promise.all([kube?.stop(), pratique?.remove()]);
  });

  /** `pratique request` in a folder of its own, until it has asked. */
  async function asking(
    name: string,
    ...more: readonly string[]
  ): Promise<{ readonly run: ProgramRun; readonly dir: string }> {
    const dir = join(kube.dir, name);
    const run = programRun([
      "request",
      kube.endpoint,
      `--ca-cert-hash=${kube.pin}`,
      `--name=${name}`,
      `--dir=${dir}`,
      "--wait=40s",
      ...more,
    ]);
    onTestFailed(() => {
      process.stderr.write(`--- request\n${run.err()}--- controller\n${controller.err()}--- webhook\n${webhook.err()}`);
    });
    onTestFinished(async () => {
      run.interrupt();
      await run.done;
    });
    await run.until(/asked: accessrequest/);
    return { run, dir };
  }

  const decide = (name: string, status: object, who: Asker = admin): Promise<Reply> =>
    who(`${requests}/${name}/status`, { method: "PATCH", type: "application/merge-patch+json", body: { status } });

  const until = (name: string, holds: (request: AccessRequest) => boolean): Promise<AccessRequest> =>
    eventually(`request ${name}`, async () => {
      const request = (await admin(`${requests}/${name}`)).object() as unknown as AccessRequest;
      return holds(request) ? request : undefined;
    });

  const person = (name: string): Asker => {
    const headers = { "impersonate-user": name, "impersonate-group": "system:authenticated" };
    return (path, asked) => admin(path, { ...asked, headers });
  };

  const ask = (
    name: string,
    more: { readonly metadata?: object; readonly spec?: object; readonly status?: object } = {},
    query = "",
  ): Promise<Reply> =>
    nobody(`${requests}${query}`, {
      method: "POST",
      body: { ...types("AccessRequest"), metadata: { name }, ...more, spec: { ...spec, ...more.spec } },
    });

  /** What was made for a request, of the kinds that the controller makes. */
  async function granted(name: string): Promise<readonly { readonly kind: string }[]> {
    return ownedBy((await until(name, () => true)).metadata.uid ?? "");
  }

  async function ownedBy(uid: string): Promise<readonly { readonly kind: string }[]> {
    const kinds = "serviceaccounts,roles,rolebindings,clusterrolebindings,secrets";
    const { items } = await kube.kubectl.json("get", kinds, "-A", "-l", `access.pratique.dev/request-uid=${uid}`);
    return items as readonly { readonly kind: string }[];
  }

  test("a machine asks, is approved, and lists pods where its profile lets it", { timeout: limitMs }, async () => {
    const { run, dir } = await asking("vm-1");
    const seen = await until("vm-1", ({ status }) => status?.evidence?.possession !== undefined);
    expect(seen.status).toMatchObject({ evidence: { possession: "Proven", requester: "system:anonymous" } });
    expect(await kube.kubectl.ok("get", "accessrequests")).toMatch(/vm-1 /);
    const answer = ["patch", "accessrequest", "vm-1", "--subresource=status", "--type=merge"];
    await kube.kubectl.ok(...answer, "-p", '{"status":{"accepted":true}}');
    expect([await run.done, run.err()]).toEqual([0, expect.stringContaining("wrote")]);
    const machine = kube.kubectl.with({ kubeconfig: join(dir, "kubeconfig") });
    expect(await machine.ok("get", "pods", "-n", "vms", "-o", "name")).toBe("");
    expect((await machine("get", "pods", "-n", "default")).err).toMatch(/forbidden/);
    expect(await readFile(join(dir, "ca.crt"), "utf8")).toContain("BEGIN CERTIFICATE");
  });

  test("is denied, and told why", { timeout: limitMs }, async () => {
    const { run } = await asking("vm-denied");
    expect((await decide("vm-denied", { denied: true, reason: "not ours" }, person("ada"))).status).toBe(200);
    expect([await run.done, run.err()]).toEqual([4, expect.stringContaining("not ours")]);
    const { status } = await until("vm-denied", has("Denied"));
    expect(status?.decisions).toMatchObject([{ user: "ada", verdict: "Denied", reason: "not ours" }]);
  });

  test("is approved by pratique with the words that the machine shows", { timeout: limitMs }, async () => {
    const { run } = await asking("vm-words");
    await until("vm-words", ({ status }) => status?.fingerprint !== undefined);
    const [, words = ""] = /words for the approver: (.+)/.exec(run.err()) ?? [];
    const approve = (...more: readonly string[]): ProgramRun =>
      programRun(["approve", "accessrequest/vm-words", `--kubeconfig=${kube.kubeconfig}`, ...more]);
    const wrong = approve("--words", words.split(" ").toReversed().join(" "));
    expect(await wrong.done).not.toBe(0);
    const right = approve("--words", words);
    expect([await right.done, right.err()]).toEqual([0, expect.anything()]);
    expect(await run.done).toBe(0);
    const { status } = await until("vm-words", ({ status: now }) => now?.ready === true);
    expect(status?.decisions).toMatchObject([{ user: "kubernetes-admin", verdict: "Approved", words: "Compared" }]);
  });

  test("is cut off when it is revoked, and nothing that was sealed stays", { timeout: limitMs }, async () => {
    const { run, dir } = await asking("vm-revoked");
    await decide("vm-revoked", { accepted: true });
    expect(await run.done).toBe(0);
    const machine = kube.kubectl.with({ kubeconfig: join(dir, "kubeconfig") });
    expect((await machine("get", "pods", "-n", "vms")).code).toBe(0);
    expect((await decide("vm-revoked", { revoked: true }, person("ada"))).status).toBe(200);
    const { status } = await until("vm-revoked", has("Revoked"));
    expect(status).not.toHaveProperty("token");
    expect((await granted("vm-revoked")).map(({ kind }) => kind)).toEqual([]);
    await eventually("the token to end", async () =>
      /Unauthorized|logged in/.test((await machine("get", "pods", "-n", "vms")).err) ? true : undefined,
    );
  });

  test("leaves nothing behind when its request is deleted", { timeout: limitMs }, async () => {
    const { run } = await asking("vm-gone", "--profile=joins");
    await decide("vm-gone", { accepted: true });
    expect(await run.done).toBe(0);
    const request = await until("vm-gone", ({ status }) => status?.ready === true);
    const uid = request.metadata.uid ?? "";
    expect((await granted("vm-gone")).length).toBeGreaterThanOrEqual(4);
    await kube.kubectl.ok("delete", "accessrequest", "vm-gone");
    await eventually("the garbage collector", async () => ((await ownedBy(uid)).length === 0 ? true : undefined));
    expect((await admin("/api/v1/namespaces/vms/serviceaccounts/vm-gone")).status).toBe(404);
  });

  test("joins with the bootstrap token that its profile hands over", { timeout: limitMs }, async () => {
    const { run, dir } = await asking("vm-joins", "--profile=joins");
    await decide("vm-joins", { accepted: true });
    expect(await run.done).toBe(0);
    const joining = programRun([
      "join",
      kube.endpoint,
      `--token-file=${join(dir, "bootstrap-token")}`,
      `--discovery-token-ca-cert-hash=${kube.pin}`,
      "--node-name=vm-joins",
      `--cert-dir=${join(dir, "pki")}`,
      `--kubeconfig=${join(dir, "kubelet.conf")}`,
    ]);
    expect([await joining.done, joining.err()]).toEqual([0, expect.anything()]);
  });

  test("renews its token within the terms of its profile, and no others", async () => {
    const { token } = await approved("vm-renews");
    const machine = apiClient(kube, { token });
    onTestFinished(() => machine.close());
    const path = "/api/v1/namespaces/vms/serviceaccounts/vm-renews/token";
    const renew = (spec: object): Promise<Reply> =>
      machine(path, { method: "POST", body: { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec } });
    const year = await renew({ expirationSeconds: 31_536_000 });
    expect(year.object()).toMatchObject({ spec: { expirationSeconds: 3600 } });
    const foreign = await renew({ audiences: ["elsewhere"] });
    expect([foreign.status, foreign.text]).toEqual([403, expect.stringContaining("gives no token for audience")]);
    // Who is no machine asks for tokens as before.
    const other = await admin("/api/v1/namespaces/vms/serviceaccounts/default/token", {
      method: "POST",
      body: { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: { expirationSeconds: 7200 } },
    });
    expect(other.object()).toMatchObject({ spec: { expirationSeconds: 7200 } });
  });

  test("a machine with role edit does not untie its account from its request", { timeout: limitMs }, async () => {
    const machine = apiClient(kube, { token: (await approved("vm-edits", "editing")).token });
    const other = apiClient(kube, { token: (await approved("vm-edits-too", "editing")).token });
    onTestFinished(() => {
      machine.close();
      other.close();
    });
    const accounts = "/api/v1/namespaces/vms/serviceaccounts";
    const patch = (metadata: object): Promise<Reply> =>
      machine(`${accounts}/vm-edits`, { method: "PATCH", type: merge, body: { metadata } });
    const strips: readonly object[] = [
      { ownerReferences: null },
      { labels: { "access.pratique.dev/request-uid": null } },
      { finalizers: ["a.b/c"] },
    ];
    for (const strip of strips) expect([strip, (await patch(strip)).status]).toEqual([strip, 403]);
    expect((await patch({ annotations: { note: "a" } })).status).toBe(200);
    const secret = {
      apiVersion: "v1",
      kind: "Secret",
      type: "kubernetes.io/service-account-token",
      metadata: { name: "hoard", annotations: { "kubernetes.io/service-account.name": "vm-edits" } },
    };
    const hoard = await machine("/api/v1/namespaces/vms/secrets", { method: "POST", body: secret });
    expect([hoard.status, hoard.text]).toEqual([403, expect.stringContaining("would outlive the terms")]);
    // Role edit lets a machine impersonate the accounts of its namespace, and gives it no token of theirs.
    const reply = await machine(`${accounts}/vm-edits-too/token`, {
      method: "POST",
      body: { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} },
      headers: { "impersonate-user": "system:serviceaccount:vms:vm-edits-too" },
    });
    expect([reply.status, reply.text]).toEqual([403, expect.stringContaining("to its own machine alone")]);
    expect((await machine(`${accounts}/vm-edits`, { method: "DELETE" })).status).toBe(200);
    const again = await other(accounts, {
      method: "POST",
      body: { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "vm-edits" } },
    });
    expect([again.status, again.text]).toEqual([403, expect.stringContaining("the name belongs to AccessRequest")]);
    expect((await decide("vm-edits", { revoked: true })).status).toBe(200);
    await until("vm-edits", has("Revoked"));
    expect((await granted("vm-edits")).map(({ kind }) => kind)).toEqual([]);
  });

  test("a profile of networks takes no request here, since nobody says where it comes from", async () => {
    const reply = await ask("vm-near", { spec: { profile: "near" } });
    expect(reply.status).toBe(403);
    expect(reply.text).toContain('requests for profile \\"near\\" are taken from its networks only');
    expect(reply.text).toContain("an unknown address");
  });

  test("what a machine may see and do is its own request", async () => {
    expect((await nobody(requests)).status).toBe(403);
    expect((await nobody(`${requests}?watch=true`)).status).toBe(403);
    await ask("vm-own");
    expect((await nobody(`${requests}/vm-own`)).status).toBe(200);
    expect((await nobody(`${requests}/vm-own`, { method: "DELETE" })).status).toBe(403);
    expect((await decide("vm-own", { accepted: true }, nobody)).status).toBe(403);
  });

  test("a new request cannot bring a status, evidence or a requester along", async () => {
    const forged = { accepted: true, fingerprint: "SHA256:x", evidence: { sourceAddress: "10.0.0.1" } };
    const annotations = { "access.pratique.dev/requester": "kubernetes-admin" };
    expect((await ask("vm-forges", { status: forged, metadata: { name: "vm-forges", annotations } })).status).toBe(201);
    const { status, metadata } = await until("vm-forges", ({ status: now }) => now?.evidence?.possession !== undefined);
    expect(status).not.toHaveProperty("accepted");
    expect(status?.fingerprint).toBe(key.fingerprint);
    expect(status?.evidence).toEqual({
      requester: "system:anonymous",
      possession: "Unproven",
      earlierRequests: expect.any(Number),
    });
    expect(metadata.annotations).toEqual({ "access.pratique.dev/requester": "system:anonymous" });
  });

  test("a key cannot be swapped, before and after the decision", async () => {
    await ask("vm-swap");
    const other = sshPublicKeyOf(generateKeyPairSync("ed25519").publicKey, "other").text;
    const swap = (): Promise<Reply> =>
      admin(`${requests}/vm-swap`, { method: "PATCH", type: merge, body: { spec: { pubKey: other } } });
    const [before] = [await swap(), await decide("vm-swap", { accepted: true })];
    const after = await swap();
    expect([before.status, after.status]).toEqual([422, 422]);
    expect(after.text).toContain("a request cannot change");
    const who = await admin(`${requests}/vm-swap`, {
      method: "PATCH",
      type: merge,
      body: { metadata: { annotations: { "access.pratique.dev/requester": "ada" } } },
    });
    expect(who.status).toBe(422);
  });

  test("an approver can forge no name, write no sealed field and hand out no more than they may", async () => {
    await ask("vm-forged");
    await until("vm-forged", ({ status }) => status?.fingerprint !== undefined);
    const forged = [{ user: "ben", time: "2020-01-01T00:00:00Z", verdict: "Approved" }];
    for (const status of [
      { accepted: true, decisions: forged },
      { ready: true },
      { token: "AAAA" },
      { key: "AAAA" },
      { fingerprint: "SHA256:x" },
      { evidence: { sourceAddress: "10.0.0.1" } },
    ]) {
      const reply = await decide("vm-forged", status, person("ada"));
      expect([reply.status, reply.text]).toEqual([403, expect.stringContaining("may decide, and not write status.")]);
    }
    const eve = await decide("vm-forged", { accepted: true }, person("eve"));
    expect([eve.status, eve.text]).toEqual([
      403,
      expect.stringContaining("on accessprofiles.access.pratique.dev is needed"),
    ]);
    const own = await person("ada")(requests, {
      method: "POST",
      body: { ...types("AccessRequest"), metadata: { name: "by-ada" }, spec },
    });
    expect(own.status).toBe(201);
    const self = await decide("by-ada", { accepted: true }, person("ada"));
    expect([self.status, self.text]).toEqual([
      422,
      expect.stringContaining("a requester cannot decide on its own request"),
    ]);
    const profile = await person("ada")(`${group}/accessprofiles`, {
      method: "POST",
      body: {
        ...types("AccessProfile"),
        metadata: { name: "all" },
        spec: { namespace: "vms", roles: [{ kind: "ClusterRole", name: "cluster-admin" }] },
      },
    });
    expect([profile.status, profile.text]).toEqual([403, expect.stringContaining("must hold what the AccessProfile")]);
  });

  test("a profile hands out what its writer holds, by the rights of this cluster", async () => {
    const write = (name: string, more: object, who: Asker): Promise<Reply> =>
      who(`${group}/accessprofiles`, {
        method: "POST",
        body: { ...types("AccessProfile"), metadata: { name }, spec: { namespace: "vms", ...more } },
      });
    const refused: readonly (readonly [object, string])[] = [
      [{ namespace: "kube-system" }, 'verb \\"create\\" on serviceaccounts in namespace \\"kube-system\\"'],
      [{ namespace: "kube-system" }, 'verb \\"create\\" on serviceaccounts/token in namespace \\"kube-system\\"'],
      [{ bootstrapToken: {} }, 'verb \\"create\\" on secrets in namespace \\"kube-system\\"'],
      [{ recovery: {} }, 'verb \\"approve\\" on accessprofiles'],
      [{ rules: [{ expression: "true", effect: "Approve" }] }, 'verb \\"update\\" on accessrequests/status'],
      [{ roles: [{ kind: "ClusterRole", name: "cluster-admin" }] }, 'verb \\"bind\\" on clusterroles'],
    ];
    for (const [more, missing] of refused) {
      const reply = await write("by-cem", more, person("cem"));
      expect([more, reply.status, reply.text]).toEqual([more, 403, expect.stringContaining(missing)]);
    }
    expect((await write("by-cem", {}, person("cem"))).status).toBe(201);
    const change = (spec: object): Promise<Reply> =>
      person("cem")(`${group}/accessprofiles/by-cem`, { method: "PATCH", type: merge, body: { spec } });
    expect((await change({ namespace: "default" })).status).toBe(403);
    expect((await change({ roles: [{ kind: "ClusterRole", name: "pod-viewer" }] })).status).toBe(403);
    expect((await change({ tokenSeconds: 600 })).status).toBe(200);
  });

  test("two different people are needed where the profile says so", async () => {
    await ask("vm-two", { spec: { profile: "two" } });
    await until("vm-two", ({ status }) => status?.fingerprint !== undefined);
    expect((await decide("vm-two", { accepted: true }, person("ada"))).object()).not.toHaveProperty("status.accepted");
    expect((await decide("vm-two", { accepted: true }, person("ada"))).status).toBe(422);
    expect((await decide("vm-two", { accepted: true }, person("ben"))).object()).toMatchObject({
      status: { accepted: true },
    });
  });

  test("a weak key, a proof of another name and a broken profile are refused", async () => {
    const { n = "", e = "" } = generateKeyPairSync("rsa", { modulusLength: 1024 }).publicKey.export({ format: "jwk" });
    const wire = sshFields(
      Buffer.from("ssh-rsa"),
      sshPositive(Buffer.from(e, "base64url")),
      sshPositive(Buffer.from(n, "base64url")),
    );
    const line = `ssh-rsa ${wire.toString("base64")}`;
    expect((await ask("vm-weak", { spec: { pubKey: line } })).status).toBe(422);
    const facts = { name: "another", fingerprint: key.fingerprint, caPin: kube.pin };
    const proof = provePossession(pair.privateKey, "ed25519", facts);
    expect((await ask("vm-replay", { spec: { proof } })).text).toContain("its proof is not of this key, name and CA");
    const rules = [{ expression: "object.spec.", effect: "Approve" }];
    const reply = await admin(`${group}/accessprofiles`, {
      method: "POST",
      body: { ...types("AccessProfile"), metadata: { name: "broken" }, spec: { namespace: "vms", rules } },
    });
    expect([reply.status, reply.text]).toEqual([422, expect.stringContaining("compilation failed")]);
  });

  test("an account that is there already is left alone", async () => {
    await kube.kubectl.ok("create", "serviceaccount", "vm-taken", "-n", "vms");
    await ask("vm-taken");
    await decide("vm-taken", { accepted: true });
    const { status } = await until(
      "vm-taken",
      ({ status: now }) => now?.conditions?.some(({ reason }) => reason === "AccountTaken") === true,
    );
    expect(status).not.toHaveProperty("token");
  });

  test("without the webhook nothing is taken", async () => {
    const path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/pratique-access";
    const { webhooks } = (await admin(path)).json() as { webhooks: { clientConfig: object }[] };
    const put = (hooks: object[]): Promise<Reply> =>
      admin(path, { method: "PATCH", type: merge, body: { webhooks: hooks } });
    const url = "https://127.0.0.1:9/validate";
    await put(webhooks.map((hook) => ({ ...hook, clientConfig: { ...hook.clientConfig, url } })));
    const refused = await eventually("the API to ask there", async () => {
      const reply = await ask("vm-none", {}, "?dryRun=All");
      return reply.text.includes("failed calling webhook") ? reply : undefined;
    });
    expect(refused.status).toBe(500);
    await put(webhooks);
    const taken = await eventually("the API to ask here", async () => {
      const reply = await ask("vm-none", {}, "?dryRun=All");
      return reply.status === 201 ? reply : undefined;
    });
    expect(taken.object()).toHaveProperty("metadata.annotations");
  });

  test(
    "what nobody answers expires, and so does an answer when its token has ended",
    { timeout: limitMs },
    async () => {
      await ask("vm-late");
      await approved("vm-ended");
      const tomorrow = programRun(["controller", `--kubeconfig=${kube.kubeconfig}`], 25 * 3_600_000);
      const late = await until("vm-late", has("Expired"));
      const ended = await until("vm-ended", has("Expired"));
      tomorrow.interrupt();
      expect(await tomorrow.done).toBe(0);
      const reasonOf = ({ status }: AccessRequest): unknown =>
        status?.conditions?.find(({ type }) => type === "Expired")?.reason;
      expect([reasonOf(late), reasonOf(ended)]).toEqual(["Unanswered", "TokenExpired"]);
      for (const sealed of ["key", "token", "ca", "ready"]) expect(ended.status).not.toHaveProperty(sealed);
      const reply = await decide("vm-ended", { denied: true });
      expect([reply.status, reply.text]).toEqual([422, expect.stringContaining("revoke it instead")]);
    },
  );

  test("of two controllers one acts, and the other when the first dies", { timeout: 120_000 }, async () => {
    controller.interrupt();
    expect(await controller.done).toBe(0);
    const kubeconfig = await accountKubeconfig(kube, "pratique-controller");
    const first = pratique.start(["controller", ...election], { kubeconfig });
    await first.until(/reason=ControllersStarted/);
    const second = programRun(["controller", ...election, `--kubeconfig=${kubeconfig}`]);
    onTestFinished(async () => {
      second.interrupt();
      await second.done;
    });
    await second.until(/reason=LeaderChanged/);
    await approved("vm-first");
    expect(second.err()).not.toMatch(/reason=ControllersStarted/);
    await first.stop();
    await second.until(/reason=ControllersStarted/);
    await approved("vm-second");
    second.interrupt();
    expect(await second.done).toBe(0);
    const lease = await kube.kubectl.json("get", "lease", "pratique-controller", "-n", "pratique-system");
    expect(lease["spec"]).toMatchObject({ holderIdentity: "", leaseTransitions: 2 });
  });

  async function approved(name: string, profile = "pods"): Promise<{ readonly token: string }> {
    await ask(name, { spec: { profile } });
    await decide(name, { accepted: true });
    const request = await until(name, ({ status }) => status?.ready === true);
    const { key: sealed = "", token = "", ca = "" } = request.status ?? {};
    return openAnswer({ kind: "ed25519", key: pair.privateKey }, { key: sealed, token, ca }, sealBinding(request));
  }
});

const setting = `
apiVersion: v1
kind: Namespace
metadata: { name: vms, labels: { access.pratique.dev/machines: "true" } }
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: { name: pod-viewer }
rules:
- { apiGroups: [""], resources: [pods], verbs: [get, list] }
---
apiVersion: access.pratique.dev/v1alpha1
kind: AccessProfile
metadata: { name: pods, annotations: { access.pratique.dev/is-default-profile: "true" } }
spec: { namespace: vms, roles: [{ kind: ClusterRole, name: pod-viewer }] }
---
apiVersion: access.pratique.dev/v1alpha1
kind: AccessProfile
metadata: { name: near }
spec: { namespace: vms, sourceNetworks: [127.0.0.0/8] }
---
apiVersion: access.pratique.dev/v1alpha1
kind: AccessProfile
metadata: { name: editing }
spec: { namespace: vms, roles: [{ kind: ClusterRole, name: edit }] }
---
apiVersion: access.pratique.dev/v1alpha1
kind: AccessProfile
metadata: { name: two }
spec: { namespace: vms, approvers: 2 }
---
apiVersion: access.pratique.dev/v1alpha1
kind: AccessProfile
metadata: { name: joins }
spec:
  namespace: vms
  roles: [{ kind: ClusterRole, name: pod-viewer }]
  bootstrapToken: { groups: [system:bootstrappers:kubeadm:default-node-token] }
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: { name: profile-writer }
rules:
- { apiGroups: [access.pratique.dev], resources: [accessprofiles, accessrequests], verbs: [create] }
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: { name: status-writer }
rules:
- { apiGroups: [access.pratique.dev], resources: [accessrequests/status], verbs: [patch, update] }
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: { name: approvers }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: "pratique:access-approver" }
subjects: [{ kind: User, name: ada, apiGroup: rbac.authorization.k8s.io }, { kind: User, name: ben, apiGroup: rbac.authorization.k8s.io }]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: { name: writers }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: profile-writer }
subjects: [{ kind: User, name: ada, apiGroup: rbac.authorization.k8s.io }]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: { name: profile-editors }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: profile-editor }
subjects: [{ kind: User, name: cem, apiGroup: rbac.authorization.k8s.io }]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: { name: profile-editor }
rules:
- { apiGroups: [access.pratique.dev], resources: [accessprofiles], verbs: [create, get, patch, update] }
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: { name: account-maker, namespace: vms }
rules:
- { apiGroups: [""], resources: [serviceaccounts, serviceaccounts/token], verbs: [create] }
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: { name: account-maker, namespace: vms }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: Role, name: account-maker }
subjects: [{ kind: User, name: cem, apiGroup: rbac.authorization.k8s.io }]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: { name: status-writers }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: status-writer }
subjects: [{ kind: User, name: eve, apiGroup: rbac.authorization.k8s.io }]
`;
