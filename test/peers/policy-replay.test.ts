import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { kubectlRunner, type Kubectl } from "../kits/kubectl.ts";
import { kubePrograms, startKubernetes, type Kubernetes } from "../kits/peers-kube.ts";
import { peerSuite } from "../kits/peers.ts";
import { eventually } from "../kits/peers-process.ts";
import { changesOf, playStage, replay, replayReport, replayUsers, stageRoles } from "../kits/replay-stage.ts";

const policy = `apiVersion: audit.k8s.io/v1
kind: Policy
rules: [{ level: Metadata }]
`;

peerSuite(kubePrograms, "pratique policy replay, over what a real kube-apiserver wrote", () => {
  let dir: string;
  let kubernetes: Kubernetes;
  const file = (name: string): string => join(dir, name);
  /** The roles and bindings of the cluster, as kubectl prints them. */
  const dump = (): readonly string[] => ["--rbac", file("dump.json"), "--rbac-base", "none"];

  async function as(user: keyof typeof replayUsers): Promise<Kubectl> {
    const kubeconfig = file(`${user}.kubeconfig`);
    const ca = Buffer.from(kubernetes.ca).toString("base64");
    const config = {
      apiVersion: "v1",
      kind: "Config",
      clusters: [{ name: "c", cluster: { server: kubernetes.url, "certificate-authority-data": ca } }],
      users: [{ name: "u", user: { token: `${user}-token` } }],
      contexts: [{ name: "c", context: { cluster: "c", user: "u" } }],
      "current-context": "c",
    };
    await writeFile(kubeconfig, JSON.stringify(config), { mode: 0o600 });
    return kubectlRunner({ home: join(dir, user), kubeconfig });
  }

  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), "pratique-replay-"));
    const lines = Object.entries(replayUsers).map(([name, groups]) => `${name}-token,${name},,"${groups.join(",")}"\n`);
    await writeFile(file("tokens.csv"), lines.join(""), { mode: 0o600 });
    await writeFile(file("audit.yaml"), policy);
    kubernetes = await startKubernetes(
      undefined,
      {},
      {
        "token-auth-file": file("tokens.csv"),
        "audit-policy-file": file("audit.yaml"),
        "audit-log-path": file("audit.log"),
      },
    );
    // The controllers are at work, and what they ask for is in the log as well.
    await eventually("the ServiceAccount of a namespace", async () =>
      (await kubernetes.kubectl("get", "serviceaccount", "default")).code === 0 ? true : undefined,
    );
    await playStage({ admin: kubernetes.kubectl, as, dir, log: file("audit.log") });
    const kinds = "clusterroles,clusterrolebindings,roles,rolebindings";
    await writeFile(file("dump.json"), await kubernetes.kubectl.ok("get", kinds, "-A", "-o", "json"));
  }, 240_000);

  afterAll(async () => {
    await kubernetes?.stop();
    await rm(dir, { recursive: true, force: true });
  });

  test("decides every request as kube-apiserver did, by the roles that kubectl prints", async () => {
    const { code, out } = await replay("--audit-log", file("audit.log"), ...dump());
    expect({ code, out }).toEqual({
      code: 0,
      out: expect.stringContaining("now refused: 0, now allowed: 0,"),
    });
    const { requests, failed } = await replayReport("--audit-log", file("audit.log"), ...dump());
    expect(requests).toBeGreaterThan(300);
    expect(failed).toBe(0);
  });

  test("counts what fewer verbs would refuse", async () => {
    await writeFile(file("fewer.yaml"), stageRoles("get, create"));
    const report = await replayReport("--audit-log", file("audit.log"), ...dump(), "--rbac", file("fewer.yaml"));
    expect(changesOf(report)).toEqual([
      "now refused: 1 ada delete configmaps",
      "now refused: 1 cora list configmaps",
      "now refused: 2 ada list configmaps",
    ]);
    expect(report.changes[0]?.before).toBe(
      'RBAC: allowed by RoleBinding "keepers/default" of Role "keeper" to Group "keepers"',
    );
  });

  test("puts them to a policy behind those roles", async () => {
    await writeFile(file("new.rego"), 'package k8s\n\nallow if input.spec.resourceAttributes.verb == "list"\n');
    const report = await replayReport("--audit-log", file("audit.log"), ...dump(), "--policy", file("new.rego"));
    expect(changesOf(report)).toEqual(["now allowed: 1 ada list secrets", "now allowed: 1 ben list configmaps"]);
  });
});
