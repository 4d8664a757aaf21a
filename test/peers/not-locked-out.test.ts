import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { essentialPod, type EssentialComponent } from "../../src/authorization/lockout-check.ts";
import { askEssentials } from "../kits/essential-reviews.ts";
import { freePort, kubePrograms, startKubernetes, type Kubernetes } from "../kits/peers-kube.ts";
import { peerSuite } from "../kits/peers.ts";
import { eventually } from "../kits/peers-process.ts";
import { programRun, type ProgramRun } from "../kits/program-run.ts";

/** Denies everybody but admin, aloud, and says nothing of those whose names or groups are the system's. */
const policy = `package k8s

decision := {"allow": true} if "admin" in input.spec.groups
else := {"allow": false} if startswith(input.spec.user, "system:")
else := {"allow": false} if input.spec.nonResourceAttributes
else := {"allow": false} if input.spec.resourceAttributes.group == "authorization.k8s.io"
else := {"deny": true, "reason": "only admin may"}
`;

/** kube-apiserver 1.20 has what came later neither in its roles nor from its kubeadm. */
const in120 = ({ places, since }: EssentialComponent): boolean => places.includes("kubernetes") && since === undefined;

peerSuite(kubePrograms, "a real kube-apiserver with RBAC and a webhook that denies all others", () => {
  let dir: string;
  let authorizer: ProgramRun;
  let kubernetes: Kubernetes;
  let first: Kubernetes["kubectl"];

  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), "pratique-locked-"));
    await writeFile(join(dir, "k8s.rego"), policy);
    await writeFile(join(dir, "tokens.csv"), 'carl-token,carl,,"conf"\n', { mode: 0o600 });
    const words = ["authorizer", "--policy", join(dir, "k8s.rego"), "--query", "data.k8s.decision"];
    const place = ["--cert-dir", join(dir, "certs"), "--secure-port", String(await freePort())];
    const printing = programRun([...words, ...place, "--print-kubeconfig"]);
    await printing.done;
    await writeFile(join(dir, "authorizer.kubeconfig"), printing.out());
    authorizer = programRun([...words, ...place]);
    await authorizer.until(/the authorizer listens/);
    const flags = {
      "token-auth-file": join(dir, "tokens.csv"),
      "authorization-webhook-config-file": join(dir, "authorizer.kubeconfig"),
    };
    kubernetes = await startKubernetes(undefined, {}, { ...flags, "authorization-mode": "Node,RBAC,Webhook" });
    const another = await kubernetes.another({ ...flags, "authorization-mode": "Webhook,Node,RBAC" });
    await writeFile(
      join(dir, "first.conf"),
      (await kubernetes.kubectl.ok("config", "view", "--raw")).replaceAll(kubernetes.url, another.url),
      { mode: 0o600 },
    );
    first = kubernetes.kubectl.with({ kubeconfig: join(dir, "first.conf") });
    await eventually("the ServiceAccount that pods need", async () =>
      (await kubernetes.kubectl("get", "serviceaccount", "default")).code === 0 ? true : undefined,
    );
    const { uid: _, ...metadata } = essentialPod.metadata;
    const pod = JSON.stringify({ ...essentialPod, metadata });
    await kubernetes.kubectl.with({ input: pod }).ok("create", "-f", "-");
  }, 240_000);

  afterAll(async () => {
    authorizer?.interrupt();
    await authorizer?.done;
    await kubernetes?.stop();
    await rm(dir, { recursive: true, force: true });
  });

  async function refusedTo(kubectl: Kubernetes["kubectl"]): Promise<readonly string[]> {
    // What Node says of a pod follows its creation.
    return eventually("Node to know of the pod", async () => {
      const { requests, refused } = await askEssentials(kubectl, in120);
      expect(requests).toBeGreaterThan(250);
      return refused.some((one) => one.includes("no relationship found")) ? undefined : refused;
    });
  }

  test("locks out nobody when the webhook comes after Node and RBAC", async () => {
    expect(await refusedTo(kubernetes.kubectl)).toEqual([]);
  }, 240_000);

  test("locks out nobody when the webhook comes first, and its policy is silent about the system", async () => {
    expect(await refusedTo(first)).toEqual([]);
  }, 240_000);

  test("refuses all others with the reason of the policy on either", async () => {
    for (const kubectl of [kubernetes.kubectl, first]) {
      const { out } = await kubectl("auth", "can-i", "get", "pods", "--as", "carl");
      expect(out).toBe("no - only admin may\n");
    }
  });
});
