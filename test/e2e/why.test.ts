import { execFile, execFileSync } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { commands } from "../../src/cli/commands.ts";
import { processIo } from "../../src/cli/process-io.ts";
import { runProgram } from "../../src/cli/program.ts";
import { bootstrapKubeconfig } from "../../src/client/build-kubeconfig.ts";
import type { AccessExplanation } from "../../src/apis/access-explanation.ts";
import { apiClient } from "../kits/api-client.ts";
import { startTestHub, type TestHub } from "../kits/hub.ts";
import { startJsonService } from "../kits/json-service.ts";
import { peerFolder, peerSuite } from "../kits/peers.ts";

interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

const process = processIo();

/** Runs a command line of `who` against a hub; the words are separated by single blanks. */
async function run(hub: TestHub, who: string, line: string): Promise<Ran> {
  const written = { out: "", err: "" };
  const kubeconfig = who === "admin" ? hub.kubeconfig : await hub.kubeconfigOf(who);
  const io = {
    ...process,
    env: { KUBECONFIG: kubeconfig },
    stdout: { write: (text: string) => void (written.out += text), isTty: false },
    stderr: { write: (text: string) => void (written.err += text), isTty: false },
  };
  return { code: await runProgram(commands, line.split(" "), io), ...written };
}

/** The words of a line as a shell would read it. */
function shellWords(line: string): readonly string[] {
  const out = execFileSync("sh", ["-c", `printf '%s\\n' ${line}`]).toString();
  return out.split("\n").slice(0, -1);
}

async function statusOf(hub: TestHub, who: string, line: string): Promise<Required<AccessExplanation>["status"]> {
  const { out } = await run(hub, who, `${line} -o json`);
  return (JSON.parse(out) as Required<AccessExplanation>).status;
}

peerSuite("kubectl", "pratique why on a hub with Node and RBAC", () => {
  let hub: TestHub;
  let audit: string;

  const admin = (line: string): Promise<Ran> => run(hub, "admin", line);

  beforeAll(async () => {
    audit = await mkdtemp(join(tmpdir(), "pratique-why-"));
    hub = await startTestHub({
      users: { ann: ["devs"], bob: [], helper: [] },
      auditLogPath: join(audit, "audit.log"),
    });
    const kubectl = (line: string): Promise<unknown> => hub.kubectl.ok(...line.split(" "));
    await kubectl("create namespace dev");
    await kubectl("create namespace other");
    await kubectl("create rolebinding devs -n dev --clusterrole=view --group=devs");
    await kubectl("create role one -n dev --verb=get --resource=secrets --resource-name=db");
    await kubectl("create rolebinding one -n dev --role=one --user=ann");
    await kubectl("create clusterrole hidden --verb=delete --resource=nodes");
    await kubectl("create clusterrolebinding helper --clusterrole=pratique:access-explainer --user=helper");
  });

  afterAll(async () => {
    await hub.close();
    await rm(audit, { recursive: true, force: true });
  });

  it("says yes with the binding, the role and the rule, and ends with 0", async () => {
    const { code, out, err } = await admin("why --as ann --as-group devs list po -n dev");
    expect([code, err]).toEqual([0, ""]);
    expect(out.split("\n")[0]).toBe('yes: ann (groups: devs, system:authenticated) may list pods in namespace "dev"');
    expect(out).toMatch(
      /^RBAC +allows +[\d.]+ +RBAC: allowed by RoleBinding "devs\/dev" of ClusterRole "view" to Group "devs"$/m,
    );
    expect(out).toMatch(/^binding +RoleBinding devs in namespace dev$/m);
    expect(out).toMatch(/^rule +\{APIGroups:\[""\], Resources:\[.*"pods".*\], Verbs:\["get" "list" "watch"\]\}$/m);
    expect(out).not.toContain("To allow");
  });

  it.each([
    ["another verb", "delete pods -n dev", "verb", "allows get, list, watch, and not delete"],
    ["another name", "get secrets/web -n dev", "name", 'allows only the names db, and not "web"'],
    ["no name", "get secrets -n dev", "name", "allows only the names db, and the request has no name"],
    ["another part", "get secrets/db --subresource=x -n dev", "subresource", "allows secrets, and not secrets/x"],
    [
      "another namespace",
      "get pods -n other",
      "namespace",
      'allows it in namespace "dev" only, and not in namespace "other"',
    ],
    ["all namespaces", "get pods -A", "namespace", 'allows it in namespace "dev" only, and not cluster-wide'],
  ])("says no with the right that is nearest: %s", async (_what, action, lacks, text) => {
    const line = `why --as ann --as-group devs ${action}`;
    const { code, out } = await admin(line);
    expect([code, out.startsWith("no: ann")]).toEqual([1, true]);
    const { nearest = [] } = await statusOf(hub, "admin", line);
    expect(nearest.find((one) => one.binding !== undefined)).toMatchObject({
      lacks,
      text: expect.stringContaining(text) as unknown,
    });
  });

  it("names a role that would allow it and is bound to nobody", async () => {
    const { nearest = [] } = await statusOf(hub, "admin", "why --as bob delete nodes/n1");
    expect(nearest.map(({ lacks, role }) => [lacks, role?.name])).toContainEqual(["binding", "hidden"]);
  });

  it.each([
    ["delete pods/web -n dev", "delete pods/other -n dev"],
    ["create serviceaccounts --subresource=token -n other", "create serviceaccounts -n other"],
    ["patch leases.coordination.k8s.io/it's -n other", "patch leases.coordination.k8s.io/its -n other"],
    ["watch nodes", "list nodes"],
    ["get /metrics", "get /metrics/slis"],
  ])("gives commands that allow exactly %s, and nothing else", async (action, other) => {
    for (const who of ["--as bob", "--as system:serviceaccount:dev:bot", "--as-group team-x"]) {
      const { toAllow = [], allowed } = await statusOf(hub, "admin", `why ${who} ${action}`);
      expect([allowed, toAllow.length]).toEqual([false, 2]);
      for (const line of toAllow) await hub.kubectl.ok(...shellWords(line).slice(1));
      expect((await statusOf(hub, "admin", `why ${who} ${action}`)).allowed).toBe(true);
      expect((await statusOf(hub, "admin", `why ${who} ${other}`)).allowed).toBe(false);
    }
  });

  it("gives commands that allow the approval of one signer, which is asked about cluster-wide", async () => {
    const signer = "signers.certificates.k8s.io/kubernetes.io/kube-apiserver-client-kubelet";
    const before = await statusOf(hub, "admin", `why --as bob approve ${signer}`);
    const lines = before.toAllow ?? [];
    expect([before.allowed, lines.length]).toEqual([false, 2]);
    expect((await admin(`why --as bob approve ${signer} -n dev`)).out).toMatch(/^no: bob .* cluster-wide$/m);
    // kubectl keeps what it has discovered below HOME.
    const env = { HOME: audit, KUBECONFIG: hub.kubeconfig, PATH: `${peerFolder()}:/usr/bin:/bin` };
    // The hub runs in this process, which must not wait.
    for (const line of lines) await promisify(execFile)("sh", ["-c", line], { env });
    expect((await statusOf(hub, "admin", `why --as bob approve ${signer}`)).allowed).toBe(true);
    expect((await statusOf(hub, "admin", `why --as bob approve ${signer}x`)).allowed).toBe(false);
  });

  it("says what a decision on a certificate request takes, and gives no right to a verb that nothing asks for", async () => {
    const { code, out, err } = await admin("why --as bob approve csr/a");
    expect([code, err]).toEqual([1, expect.stringContaining("it takes update of certificatesigningrequests/approval")]);
    expect(out).not.toContain("kubectl");
    expect((await run(hub, "bob", "why approve csr/a")).out).not.toContain("kubectl");
  });

  it("hints at a word that was meant, and gives no command for what is not there", async () => {
    const { out, err } = await admin("why --as bob list podz -n dev");
    expect(err).toBe('warning: the server has no resource "podz"; was pods meant?\n');
    expect(out).toContain("was pods meant?");
    expect(out).not.toContain("kubectl");
    expect((await admin("why --as bob list pods.apps -n dev")).err).toContain("was pods meant?");
    expect((await admin("why --as bob get accessrequests/status")).err).toContain("--subresource=status");
    expect((await admin("why --as bob approve signers.certificates.k8s.io/kubernetes.io/x")).err).toBe("");
    expect((await admin("why --as bob get pods/web/log")).err).toContain("no pods are called web/log; ");
  });

  it("gives no command for a verb that is a slip of the fingers", async () => {
    const { code, out, err } = await admin("why --as bob gett pods -n dev");
    expect([code, err]).toEqual([1, 'warning: no request for objects has the verb "gett"; was get meant?\n']);
    expect(out).not.toContain("kubectl");
    expect((await admin("why --as ann delete pods -n dev")).out).toContain("kubectl create role");
  });

  it("refuses a resource before its verb", async () => {
    for (const command of ["why", "who-can"]) {
      const { code, out, err } = await admin(`${command} pods list -n dev`);
      expect([code, out]).toEqual([2, ""]);
      expect(err).toContain("error: the verb comes first: list pods, and not pods list\n");
    }
  });

  it("warns of a namespace that is not there, to those who may look", async () => {
    expect((await admin("why --as bob list pods -n dve")).err).toBe('warning: the server has no namespace "dve"\n');
    expect((await admin("who-can list pods -n dve")).err).toBe('warning: the server has no namespace "dve"\n');
    expect((await admin("who-can list pods -n dev")).err).toBe("");
    expect((await run(hub, "ann", "why list pods -n dve")).err).toBe("");
  });

  it("lets nobody explain others who has not the right to", async () => {
    const { code, out, err } = await run(hub, "ann", "why --as bob list pods");
    expect([code, out]).toEqual([4, ""]);
    expect(err).toContain('User "ann" cannot create resource "subjectaccessreviews"');
    expect(err).toContain("pratique:access-explainer");
    expect((await statusOf(hub, "helper", "why --as ann --as-group devs list pods -n dev")).allowed).toBe(true);
    for (const plural of ["accessexplanations", "selfaccessexplanations"]) {
      const anonymous = apiClient(hub, "anonymous");
      const body = { spec: { user: "ann", resourceAttributes: { verb: "list", resource: "pods" } } };
      const reply = await anonymous(`/apis/access.pratique.dev/v1alpha1/${plural}`, { method: "POST", body });
      anonymous.close();
      expect(reply.status).toBe(403);
    }
  });

  it("tells callers of their own rights, and of nobody else's", async () => {
    const { code, out } = await run(hub, "ann", "why delete nodes/n1");
    expect([code, out.startsWith("no: you may not delete nodes/n1 cluster-wide\n")]).toEqual([1, true]);
    expect(out).not.toContain("hidden");
    expect(out).not.toContain("cluster-admin");
    const status = await statusOf(hub, "ann", "why delete pods -n dev");
    expect(status.nearest).toMatchObject([{ lacks: "verb", binding: { kind: "RoleBinding", name: "devs" } }]);
    expect(status.authorizers?.some(({ ms, note }) => ms !== undefined || note !== undefined)).toBe(false);
    expect((await statusOf(hub, "bob", "why delete configmaps -n dev")).nearest).toEqual([]);
    expect((await statusOf(hub, "ann", "why get secrets/db -n dev")).grant).toMatchObject({
      binding: { name: "one" },
      rule: '{APIGroups:[""], Resources:["secrets"], ResourceNames:["db"], Verbs:["get"]}',
    });
  });

  it("decides as the chain does for the same question, whatever is asked", async () => {
    const actions = ["list pods -n dev", "create pods -n dev", "get nodes", "get secrets/db -n dev", "get /healthz"];
    for (const action of actions) {
      const [verb, ...rest] = action.split(" ");
      const can = await hub.kubectl("auth", "can-i", verb ?? "", ...rest, "--as=ann", "--as-group=devs");
      const { code } = await admin(`why --as ann --as-group devs ${action}`);
      expect([action, code]).toEqual([action, can.code]);
    }
  });

  it("says for a node why it may, and why not", async () => {
    const node = "--as system:node:n1 --as-group system:nodes";
    const own = await statusOf(hub, "admin", `why ${node} get nodes/n1`);
    expect(own.authorizers?.at(-1)).toMatchObject({
      name: "Node",
      verdict: "allow",
      note: expect.any(String) as unknown,
    });
    const secret = await statusOf(hub, "admin", `why ${node} get secrets/db -n dev`);
    expect(secret.authorizers?.[1]).toMatchObject({
      reason: "no relationship found between node 'n1' and this object",
    });
    expect(secret.notes?.join()).toContain("bind such a pod");
    expect((await admin("why --as system:node:n1 get nodes/n1")).out).toContain("system:nodes");
  });

  it("writes the same trace into the audit log", async () => {
    const reader = apiClient(hub, { token: hub.token("ann") });
    const headers = { "audit-id": "why-1" };
    expect((await reader("/api/v1/namespaces/dev/pods", { headers })).status).toBe(200);
    expect((await reader("/api/v1/namespaces/other/pods", { headers: { "audit-id": "why-2" } })).status).toBe(403);
    reader.close();
    const traceOf = async (id: string): Promise<unknown> => {
      for (;;) {
        const lines = (await readFile(join(audit, "audit.log"), "utf8"))
          .split("\n")
          .filter((line) => line.includes(id));
        const [line] = lines;
        if (line === undefined) continue;
        const { annotations } = JSON.parse(line) as { readonly annotations: Readonly<Record<string, string>> };
        return JSON.parse(annotations["authorization.pratique.dev/trace"] ?? "") as unknown;
      }
    };
    expect(await traceOf("why-1")).toMatchObject([
      { name: "Masters", verdict: "noOpinion" },
      { name: "Node", verdict: "noOpinion" },
      { name: "RBAC", verdict: "allow", binding: "RoleBinding dev/devs", role: "ClusterRole view" },
    ]);
    expect(await traceOf("why-2")).toMatchObject([{}, {}, { name: "RBAC", verdict: "noOpinion" }]);
  });

  it("is what a refused command points to", async () => {
    const { code, err } = await run(hub, "ann", "token list");
    expect(code).toBe(4);
    const [, line = ""] = /To see what is missing: pratique (why .+)/.exec(err) ?? [];
    expect(line).toBe("why list secrets -n kube-system");
    const why = await run(hub, "ann", line);
    expect([why.code, why.out.startsWith("no: you may not list secrets in namespace")]).toEqual([1, true]);
  });

  it("lists who can, through which binding, and what it cannot see", async () => {
    const { code, out } = await admin("who-can get secrets/db -n dev");
    expect(code).toBe(0);
    expect(out).toMatch(/^User +ann +RoleBinding dev\/one +Role one$/m);
    expect(out).toMatch(/^Group +system:masters +ClusterRoleBinding cluster-admin +ClusterRole cluster-admin$/m);
    expect(out).toContain("Not seen from here");
    expect((await admin("who-can get secrets/web -n dev")).out).not.toMatch(/^User +ann/m);
    const refused = await run(hub, "ann", "who-can get secrets -n dev");
    expect([refused.code, refused.out]).toEqual([4, ""]);
  });
});

describe("pratique why on a hub with other authorizers", () => {
  let dir: string;

  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), "pratique-why-"));
  });

  afterAll(() => rm(dir, { recursive: true, force: true }));

  it("names the line of a policy file, and the line that would have to be added", async () => {
    const file = join(dir, "policy.jsonl");
    await writeFile(file, '# rules\n{"user":"ann","namespace":"dev","resource":"pods","readonly":true}\n');
    const hub = await startTestHub({ authorizationModes: ["ABAC"], authorizationPolicyFile: file });
    try {
      const { authorizers } = await statusOf(hub, "admin", "why --as ann get pods -n dev");
      expect(authorizers?.at(-1)).toMatchObject({ name: "ABAC", verdict: "allow", note: "line 2 of the policy file" });
      const { toAllow = [] } = await statusOf(hub, "admin", "why --as ann delete pods -n dev");
      expect(JSON.parse(toAllow[0] ?? "")).toMatchObject({
        kind: "Policy",
        spec: { user: "ann", namespace: "dev", apiGroup: "", resource: "pods" },
      });
    } finally {
      await hub.close();
    }
  });

  it("shows a webhook that hangs, one with a wrong certificate, one that fails and one that is not asked as what they are", async () => {
    const hanging = await startJsonService(() => new Promise(() => undefined));
    const wrong = await startJsonService(() => ({ body: {} }));
    const failing = await startJsonService(() => ({ status: 503, body: {} }));
    const webhook = async (
      name: string,
      at: { readonly url: string; readonly caPem: string },
      more = {},
    ): Promise<object> => {
      const kubeConfigFile = join(dir, `${name}.kubeconfig`);
      await writeFile(kubeConfigFile, bootstrapKubeconfig({ server: at.url, ca: { pem: at.caPem }, token: "s3cret" }));
      return {
        type: "Webhook",
        name,
        webhook: {
          timeout: "30s",
          subjectAccessReviewVersion: "v1",
          matchConditionSubjectAccessReviewVersion: "v1",
          failurePolicy: "NoOpinion",
          connectionInfo: { type: "KubeConfigFile", kubeConfigFile },
          ...more,
        },
      };
    };
    const authorizationConfigFile = join(dir, "authorization.yaml");
    await writeFile(
      authorizationConfigFile,
      JSON.stringify({
        apiVersion: "apiserver.config.k8s.io/v1",
        kind: "AuthorizationConfiguration",
        authorizers: [
          await webhook("left-out", hanging, { matchConditions: [{ expression: "request.user == 'nobody'" }] }),
          await webhook("hangs", hanging, { timeout: "100ms" }),
          await webhook("impostor", { url: wrong.url, caPem: hanging.caPem }),
          await webhook("fails", failing, { failurePolicy: "Deny" }),
          { type: "RBAC", name: "roles" },
        ],
      }),
    );
    const hub = await startTestHub({ authorizationModes: [], authorizationConfigFile, users: { ann: [] } });
    try {
      const { code, out } = await run(hub, "admin", "why --as ann get pods -n default");
      expect(code).toBe(1);
      expect(out).toMatch(/^left-out \(Webhook\) +no opinion .* its matchConditions leave this request out$/m);
      expect(out).toMatch(
        /^hangs \(Webhook\) +no opinion +\d{3,} +ERROR: the authorization webhook did not answer within 100 ms/m,
      );
      expect(out).toMatch(/^impostor \(Webhook\) +no opinion .* has a certificate of a CA that is not trusted/m);
      expect(out).toMatch(
        /^fails \(Webhook\) +forbids .* answered with status 503 — no answer counts as a denial here$/m,
      );
      expect(out).not.toContain("roles (RBAC)");
      expect(out).toContain("no role can allow it");
      expect(out).not.toContain("kubectl create");
      expect(out).not.toContain("s3cret");
    } finally {
      await hub.close();
      await Promise.all([hanging.close(), wrong.close(), failing.close()]);
    }
  });
});
