import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { essentialPod, type EssentialComponent } from "../../src/authorization/lockout-check.ts";
import { askEssentials, type EssentialAnswers } from "../kits/essential-reviews.ts";
import { startTestHub, type TestHub, type TestHubOptions } from "../kits/hub.ts";
import { peerSuite } from "../kits/peers.ts";
import { programRun, type ProgramRun } from "../kits/program-run.ts";

/** Denies everybody but admin, aloud. */
const policy = `package k8s

decision := {"allow": true} if "admin" in input.spec.groups
else := {"deny": true, "reason": "only admin may"}
`;

const onHub = ({ places }: EssentialComponent): boolean => places.includes("hub");

peerSuite("kubectl", "a hub with RBAC and a webhook that denies all others", () => {
  let dir: string;
  let authorizer: ProgramRun;
  let kubeconfig: string;

  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), "pratique-locked-"));
    await writeFile(join(dir, "k8s.rego"), policy);
    const words = ["authorizer", "--policy", join(dir, "k8s.rego"), "--query", "data.k8s.decision"];
    const place = ["--cert-dir", join(dir, "certs")];
    authorizer = programRun([...words, ...place, "--secure-port", "0"]);
    await authorizer.until(/the authorizer listens/);
    const port = /reason=Listening port=(\d+)/.exec(authorizer.err())?.[1];
    const printing = programRun([...words, ...place, "--url", `https://127.0.0.1:${port}`, "--print-kubeconfig"]);
    await printing.done;
    kubeconfig = join(dir, "authorizer.kubeconfig");
    await writeFile(kubeconfig, printing.out());
  });

  afterAll(async () => {
    authorizer.interrupt();
    await authorizer.done;
    await rm(dir, { recursive: true, force: true });
  });

  async function start(options: TestHubOptions): Promise<TestHub> {
    const hub = await startTestHub({ users: { ann: ["admin"], carl: ["conf"] }, ...options });
    onTestFinished(() => hub.close());
    await hub.kubectl.with({ input: JSON.stringify(withoutUid()) }).ok("create", "-f", "-");
    return hub;
  }

  function withoutUid(): object {
    const { uid: _, ...metadata } = essentialPod.metadata;
    return { ...essentialPod, metadata };
  }

  async function answers(hub: TestHub): Promise<EssentialAnswers> {
    return askEssentials(hub.kubectl, onHub);
  }

  const webhook = (configFile: string): TestHubOptions["authorizationWebhook"] => ({
    configFile,
    version: "v1",
    authorizedMs: 300_000,
    unauthorizedMs: 30_000,
  });

  describe("locks out nobody without whom it does not work", () => {
    test("when the webhook comes after Node and RBAC", async () => {
      const hub = await start({
        authorizationModes: ["Node", "RBAC", "Webhook"],
        authorizationWebhook: webhook(kubeconfig),
      });
      const { requests, refused } = await answers(hub);
      expect(refused).toEqual([]);
      expect(requests).toBeGreaterThan(120);
      const carl = hub.kubectl.with({ kubeconfig: await hub.kubeconfigOf("carl") });
      expect((await carl("get", "pods")).err).toContain("only admin may");
    });

    test("when the webhook comes first, with the conditions of the example", async () => {
      const example = await readFile(
        resolve(import.meta.dirname, "../../examples/opa-walk-through/authorization.yaml"),
      );
      const file = join(dir, "authorization.yaml");
      await writeFile(file, example.toString().replace(/kubeConfigFile: .*(?= })/, `kubeConfigFile: ${kubeconfig}`));
      const hub = await start({ authorizationModes: [], authorizationConfigFile: file });
      expect((await answers(hub)).refused).toEqual([]);
      const carl = hub.kubectl.with({ kubeconfig: await hub.kubeconfigOf("carl") });
      expect((await carl("get", "pods")).err).toContain("only admin may");
    });
  });

  test("locks out kubelets when the webhook comes first for everybody, as pratique policy check says", async () => {
    const hub = await start({
      authorizationModes: ["Webhook", "Node", "RBAC"],
      authorizationWebhook: webhook(kubeconfig),
    });
    const { refused } = await answers(hub);
    expect(refused).toContain("kubelet: patch nodes/status: only admin may");
    const inProcess = ["--policy", join(dir, "k8s.rego"), "--query", "data.k8s.decision"];
    for (const webhook of [inProcess, ["--authorization-webhook-config-file", kubeconfig]]) {
      const words = ["--authorization-mode", "Webhook,Node,RBAC", "--for", "hub", "-o", "json", ...webhook];
      const check = programRun(["policy", "check", ...words]);
      expect(await check.done).toBe(4);
      expect((JSON.parse(check.out()) as { readonly refused: number }).refused).toBe(refused.length);
    }
  });
});
