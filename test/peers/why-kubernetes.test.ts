import { afterAll, beforeAll, expect, test } from "vitest";
import { commands } from "../../src/cli/commands.ts";
import { processIo } from "../../src/cli/process-io.ts";
import { runProgram } from "../../src/cli/program.ts";
import type { AccessExplanation } from "../../src/apis/access-explanation.ts";
import { kubePrograms, startKubernetes, type Kubernetes } from "../kits/peers-kube.ts";
import { accountKubeconfig } from "../kits/peers-manifests.ts";
import { eventually } from "../kits/peers-process.ts";
import { peerSuite } from "../kits/peers.ts";

interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

interface Shown {
  readonly status: Required<AccessExplanation>["status"];
  readonly source: { readonly verdict: string; readonly rights: string };
}

const process = processIo();

async function run(kubeconfig: string, line: string): Promise<Ran> {
  const written = { out: "", err: "" };
  const io = {
    ...process,
    env: { KUBECONFIG: kubeconfig },
    stdout: { write: (text: string) => void (written.out += text), isTty: false },
    stderr: { write: (text: string) => void (written.err += text), isTty: false },
  };
  return { code: await runProgram(commands, line.split(" "), io), ...written };
}

peerSuite(kubePrograms, "why and who-can on a real control plane", () => {
  let kube: Kubernetes;
  const admin = (line: string): Promise<Ran> => run(kube.kubeconfig, line);
  const shown = async (line: string, kubeconfig = kube.kubeconfig): Promise<Shown> =>
    JSON.parse((await run(kubeconfig, `${line} -o json`)).out) as Shown;
  const kubectl = (line: string): Promise<string> => kube.kubectl.ok(...line.split(" "));

  beforeAll(async () => {
    kube = await startKubernetes();
    for (const line of [
      "create namespace dev",
      "create rolebinding devs -n dev --clusterrole=view --group=devs",
      "create role one -n dev --verb=get --resource=secrets --resource-name=db",
      "create rolebinding one -n dev --role=one --user=ann",
      "create serviceaccount bot -n dev",
      "create serviceaccount asker -n dev",
      "create rolebinding bot -n dev --clusterrole=view --serviceaccount=dev:bot",
      "create clusterrolebinding asker --clusterrole=system:auth-delegator --serviceaccount=dev:asker",
    ]) {
      await kubectl(line);
    }
    // A controller gathers the rules of view and edit.
    for (const verb of ["list", "delete"]) {
      const role = verb === "list" ? "view" : "edit";
      await eventually(`the role ${role}`, async () =>
        (await kubectl(`get clusterrole ${role} -o jsonpath={.rules}`)).includes(verb) ? true : undefined,
      );
    }
  }, 240_000);

  afterAll(() => kube?.stop());

  test("takes the verdict from the server, and works the binding out here", async () => {
    const line = "why --as ann --as-group devs list po -n dev";
    const { code, out } = await admin(line);
    expect(code).toBe(0);
    expect(out).toContain('RBAC: allowed by RoleBinding "devs/dev" of ClusterRole "view" to Group "devs"');
    expect(out).toMatch(/^binding +RoleBinding devs in namespace dev$/m);
    expect(out).toMatch(/^rule +\{APIGroups:\[""\], Resources:\[.*"pods".*\], Verbs:\["get" "list" "watch"\]\}$/m);
    expect(out).toContain("The verdict and its reason are the server's (SubjectAccessReview)");
    expect((await shown(line)).source).toEqual({ verdict: "SubjectAccessReview", rights: "worked out here" });
  });

  test("says what comes nearest, and gives commands that kubectl and the server take", async () => {
    const line = "why --as ann --as-group devs delete deploy/web -n dev";
    expect((await admin(line)).code).toBe(1);
    const { nearest = [], toAllow = [] } = (await shown(line)).status;
    expect(nearest[0]).toMatchObject({ lacks: "verb", binding: { name: "devs" }, role: { name: "view" } });
    expect(nearest.map(({ role }) => role?.name)).toContain("edit");
    expect(toAllow[0]).toBe(
      "kubectl create role ann-delete-deployments-web -n dev --verb=delete --resource=deployments.apps --resource-name=web",
    );
    for (const command of toAllow) await kubectl(command.slice("kubectl ".length));
    // The server learns of a binding a moment after it is stored.
    await expect.poll(async () => (await admin(line)).code).toBe(0);
    expect((await admin(line.replace("web", "other"))).code).toBe(1);
  });

  test("agrees with kubectl auth can-i", async () => {
    for (const action of [
      "list pods -n dev",
      "create pods -n dev",
      "get pods --subresource=log -n dev",
      "get secrets/db -n dev",
      "get secrets/other -n dev",
      "list pods -A",
      "get nodes",
      "list no",
      "patch deploy -n dev",
      "get /healthz",
      "get /metrics",
    ]) {
      const can = await kube.kubectl("auth", "can-i", ...action.split(" "), "--as=ann", "--as-group=devs");
      const { code } = await admin(`why --as ann --as-group devs ${action}`);
      expect([action, code]).toEqual([action, can.code]);
    }
  });

  test("says plainly where roles do not explain what the server decided", async () => {
    const node = "why --as system:node:n1 --as-group system:nodes";
    const own = await shown(`${node} get nodes/n1`);
    expect(own.status).toMatchObject({
      allowed: true,
      notes: [expect.stringContaining("another authorizer of the server does") as unknown],
    });
    const { out } = await admin(`${node} get secrets/db -n dev`);
    expect(out).toContain("no relationship found between node 'n1' and this object");
  });

  test("hints at a resource that was meant", async () => {
    const { err, out } = await admin("why --as ann list deployment.extensions -n dev");
    expect(err).toContain("was deployments.apps meant?");
    expect(out).not.toContain("kubectl create");
  });

  test("tells an account what it may, and no more than it may see", async () => {
    const bot = await accountKubeconfig(kube, "bot", "dev");
    const yes = await run(bot, "why list pods -n dev");
    expect([yes.code, yes.out.split("\n")[0]]).toEqual([0, 'yes: you may list pods in namespace "dev"']);
    const no = await run(bot, "why delete pods -n dev");
    expect(no.code).toBe(1);
    expect(no.out).toContain("You may not read roles and bindings here");
    const others = await run(bot, "why --as ann list pods -n dev");
    expect([others.code, others.out]).toEqual([4, ""]);
    expect(others.err).toContain("About yourself you may ask without it");
    const who = await run(bot, "who-can list pods -n dev");
    expect([who.code, who.out]).toEqual([4, ""]);
  });

  test("asks the server also for those to whom the kind of the hub is refused", async () => {
    const asker = await accountKubeconfig(kube, "asker", "dev");
    const { status, source } = await shown("why --as ann --as-group devs list pods -n dev", asker);
    expect([status.allowed, source.verdict, source.rights]).toEqual([true, "SubjectAccessReview", "not known"]);
    await kubectl(
      "create clusterrole rbac-reader --verb=list --resource=roles,rolebindings,clusterroles,clusterrolebindings",
    );
    await kubectl("create clusterrolebinding asker-reads --clusterrole=rbac-reader --serviceaccount=dev:asker");
    // The server learns of a binding a moment after it is stored.
    await expect
      .poll(() => shown("why delete pods -n dev", asker))
      .toMatchObject({ status: { allowed: false }, source: { rights: "worked out here" } });
  });

  test("lists exactly those whom the server lets in", async () => {
    const { code, out } = await admin("who-can get secrets/db -n dev -o json");
    expect(code).toBe(0);
    const { subjects } = JSON.parse(out) as {
      readonly subjects: readonly { readonly subject: { kind: string; namespace?: string; name: string } }[];
    };
    const names = new Set(subjects.map(({ subject }) => `${subject.kind} ${subject.name}`));
    expect(names).toContain("User ann");
    expect(names).not.toContain("Group devs");
    // Kubernetes 1.36.3 has five, older releases more.
    expect(subjects.length).toBeGreaterThanOrEqual(5);
    for (const { subject } of subjects) {
      const { kind, namespace = "", name } = subject;
      const as =
        kind === "ServiceAccount" ? `system:serviceaccount:${namespace}:${name}` : kind === "User" ? name : "x";
      const group = kind === "Group" ? [`--as-group=${name}`] : [];
      const can = await kube.kubectl("auth", "can-i", "get", "secrets/db", "-n", "dev", `--as=${as}`, ...group);
      expect([kind, name, can.code]).toEqual([kind, name, 0]);
    }
  });
});
