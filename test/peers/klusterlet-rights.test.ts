import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import type { ApiObject } from "../../src/apimachinery/object.ts";
import { fieldListAt, stringAt, stringsAt } from "../../src/apis/json-fields.ts";
import type { PolicyRule } from "../../src/apis/rbac.ts";
import { clustersPath, says, startClusterStage, type ClusterStage } from "../kits/cluster-stage.ts";
import { startRealClusterHub, type RealClusterHub } from "../kits/peers-clusters.ts";
import { kubePrograms } from "../kits/peers-kube.ts";
import { accountKubeconfig } from "../kits/peers-manifests.ts";
import { eventually } from "../kits/peers-process.ts";
import { peerSuite } from "../kits/peers.ts";
import { programRun, type ProgramRun } from "../kits/program-run.ts";

const namespace = "open-cluster-management-agent";
const account = "pratique-klusterlet";
const user = `system:serviceaccount:${namespace}:${account}`;
const merge = "application/merge-patch+json";
const limitMs = 240_000;
/** In seconds, as the machine may be busy. */
const patience = 90;

/** What `pratique cluster agent` prints. */
async function manifests(...words: readonly string[]): Promise<string> {
  const printed = programRun(["cluster", "agent", "--cluster-name=east", ...words]);
  expect([await printed.done, printed.err()]).toEqual([0, ""]);
  return printed.out();
}

/** Where the files of the Deployment's pod are on this machine. */
interface PodFiles {
  readonly bootstrap: string;
  readonly spoke: string;
}

/** Runs what the Deployment says, outside of a pod. */
function klusterlet(text: string, { bootstrap, spoke }: PodFiles): ProgramRun {
  const deployment = parseAllDocuments(text)
    .map((document) => document.toJS() as unknown)
    .find((object) => stringAt(object, "kind") === "Deployment");
  const [container] = fieldListAt(deployment, "spec", "template", "spec", "containers");
  const words = stringsAt(container, "args").map((word) =>
    word
      .replace("/var/run/pratique/bootstrap/kubeconfig", bootstrap)
      .replace("/etc/pratique/kubeconfig", spoke)
      .replace("0.0.0.0:8080", "127.0.0.1:0"),
  );
  expect(words.slice(0, 2)).toEqual(["klusterlet", `--bootstrap-kubeconfig=${bootstrap}`]);
  expect(words).toContain(`--spoke-kubeconfig=${spoke}`);
  return programRun(words);
}

async function letIn(agent: ProgramRun, kubeconfig: string): Promise<void> {
  await agent.until(/waiting for/);
  const [, id = ""] = /--agent-id ([a-z0-9]+)/.exec(agent.err()) ?? [];
  const accepting = programRun(["cluster", "accept", "east", "--agent-id", id, "--kubeconfig", kubeconfig]);
  expect([await accepting.done, accepting.err()]).toEqual([0, expect.anything()]);
}

interface AuditEvent {
  readonly verb: string;
  readonly requestURI: string;
  readonly responseStatus?: { readonly code: number };
  readonly objectRef?: { readonly resource?: string; readonly apiGroup?: string; readonly name?: string };
}

/** Each single right of the rules, as one text. */
function rightsOf({
  verbs,
  apiGroups = [],
  resources = [],
  resourceNames = [""],
  nonResourceURLs = [],
}: PolicyRule): readonly string[] {
  return verbs.flatMap((verb) => [
    ...nonResourceURLs.map((path) => `${verb} ${path}`),
    ...apiGroups.flatMap((group) =>
      resources.flatMap((one) => resourceNames.map((name) => `${verb} ${group}/${one} ${name}`.trim())),
    ),
  ]);
}

/** What a request needed, in the same words; with its name and without. */
function neededBy({ verb, requestURI, objectRef }: AuditEvent): readonly string[] {
  if (objectRef === undefined) return [`${verb} ${requestURI.split("?")[0] ?? ""}`];
  const { apiGroup = "", resource = "", name = "" } = objectRef;
  return [`${verb} ${apiGroup}/${resource}`, `${verb} ${apiGroup}/${resource} ${name}`];
}

peerSuite(kubePrograms, "the rights of a klusterlet in its cluster, on a real control plane", () => {
  let folder: string;
  let hub: RealClusterHub;
  let spoke: string;
  let agent: ProgramRun;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "pratique-rights-"));
    const rules = [{ level: "Metadata", users: [user], omitStages: ["RequestReceived"] }, { level: "None" }];
    const policy = { apiVersion: "audit.k8s.io/v1", kind: "Policy", rules };
    await writeFile(join(folder, "policy.yaml"), JSON.stringify(policy));
    const audit = { "audit-policy-file": join(folder, "policy.yaml"), "audit-log-path": join(folder, "audit.log") };
    hub = await startRealClusterHub([], audit);
    const { kubectl } = hub.kube;
    const text = await manifests("--bootstrap-kubeconfig", hub.bootstrap, "--managed-namespaces");
    await kubectl.with({ input: text }).ok("apply", "-f", "-");
    spoke = await accountKubeconfig(hub.kube, account, namespace);
    agent = klusterlet(text, { bootstrap: hub.bootstrap, spoke });
  }, 240_000);
  afterAll(async () => {
    agent?.interrupt();
    await agent?.done;
    await hub?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  const cluster = (holds: (object: ApiObject) => boolean): Promise<ApiObject> =>
    eventually(
      `cluster east; the agent wrote ${agent.err()}`,
      async () => {
        const reply = await hub.admin(`${clustersPath}/east`);
        return reply.status === 200 && holds(reply.object()) ? reply.object() : undefined;
      },
      patience,
    );
  const keysOf = async (name: string): Promise<readonly string[]> =>
    Object.keys((await hub.admin(`/api/v1/namespaces/${namespace}/secrets/${name}`)).object()["data"] ?? {});

  async function requests(): Promise<readonly AuditEvent[]> {
    const lines = (await readFile(join(folder, "audit.log"), "utf8")).split("\n");
    return lines.filter((line) => line.endsWith("}")).map((line) => JSON.parse(line) as AuditEvent);
  }

  test(
    "suffice to join, update the lease, report and create namespaces, and each of them is used",
    async () => {
      await letIn(agent, hub.kube.kubeconfig);
      await cluster(says("ManagedClusterConditionAvailable", "True", "ManagedClusterAvailable"));
      await cluster(({ status }) => status !== undefined && "version" in (status as object));
      await hub.kube.kubectl.ok("create", "namespace", "there");
      const managedNamespaces = ["there", "wanted"].map((name) => ({ name, clusterSet: "default" }));
      const wish = { method: "PATCH", type: merge, body: { status: { managedNamespaces } } };
      expect((await hub.admin(`${clustersPath}/east/status`, wish)).status).toBe(200);
      const bothMade = async (): Promise<true | undefined> => {
        const made = await hub.kube.kubectl.ok("get", "namespaces", "there", "wanted", "--show-labels");
        return made.match(/clusterset\.open-cluster-management\.io\/\w+=true/g)?.length === 2 ? true : undefined;
      };
      await eventually(`both namespaces; the agent wrote ${agent.err()}`, bothMade, patience);
      const roles = [
        await hub.admin("/apis/rbac.authorization.k8s.io/v1/clusterroles/pratique:klusterlet"),
        await hub.admin(`/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}/roles/pratique:klusterlet`),
      ].flatMap((reply) => reply.object()["rules"] as readonly PolicyRule[]);
      const rights = roles.flatMap((rule) => rightsOf(rule));
      expect(rights.length).toBeGreaterThan(8);
      const allUsed = async (): Promise<true> => {
        const used = new Set((await requests()).flatMap((event) => neededBy(event)));
        const unused = rights.filter((right) => !used.has(right));
        if (unused.length > 0) throw new Error(`not used: ${unused.join(", ")}`);
        return true;
      };
      await eventually("each right to be used", allUsed, patience);
      const refused = (await requests()).filter(({ responseStatus }) => responseStatus?.code === 403);
      expect(refused.map((event) => neededBy(event))).toEqual([]);
      expect(agent.err()).not.toMatch(/forbidden/i);
    },
    limitMs,
  );

  test(
    "give it nothing else: no other Secret, no new one, no pod",
    async () => {
      const own = hub.kube.kubectl.with({ kubeconfig: spoke });
      const may = async (...words: readonly string[]): Promise<string> =>
        (await own("auth", "can-i", ...words, "-n", namespace)).out.trim();
      expect(await may("update", "secrets/hub-kubeconfig-secret")).toBe("yes");
      for (const words of [
        ["get", "secrets/bootstrap-hub-kubeconfig"],
        ["list", "secrets"],
        ["create", "secrets"],
        ["delete", "secrets/hub-kubeconfig-secret"],
        ["create", "pods"],
        ["create", "serviceaccounts/token"],
        ["patch", "nodes"],
        ["delete", "namespaces"],
      ]) {
        expect([words, await may(...words)]).toEqual([words, "no"]);
      }
    },
    limitMs,
  );

  test(
    "stay with the credential when the manifests are applied again, and it goes on without its bootstrap file",
    async () => {
      await cluster(says("ManagedClusterJoined", "True"));
      const deployment = await hub.kube.kubectl.json("get", "deployment", account, "-n", namespace);
      expect(deployment["spec"]).toMatchObject({
        replicas: 1,
        strategy: { type: "Recreate" },
        template: { spec: { serviceAccountName: account, securityContext: { runAsNonRoot: true } } },
      });
      const token = /token: (\S+)/.exec(await readFile(hub.bootstrap, "utf8"))?.[1] ?? "";
      expect(token.length).toBeGreaterThan(20);
      expect(JSON.stringify(deployment)).not.toContain(token);
      const text = await manifests("--managed-namespaces");
      expect(text).not.toContain("token:");
      await hub.kube.kubectl.with({ input: text }).ok("apply", "-f", "-");
      expect(await keysOf("hub-kubeconfig-secret")).toHaveLength(5);
      expect(await keysOf("klusterlet-registration-state")).toHaveLength(1);
      agent.interrupt();
      await agent.done;
      agent = klusterlet(text, { bootstrap: join(folder, "absent"), spoke });
      await agent.until(/"reason":"(?:ClusterAvailable|ClusterAccepted)"/);
    },
    limitMs,
  );
});

peerSuite("kubectl", "the rights of a klusterlet in its cluster, on a hub of ours", () => {
  let stage: ClusterStage;
  beforeAll(async () => {
    stage = await startClusterStage();
  }, limitMs);
  afterAll(async () => {
    await stage?.close();
  });

  test(
    "suffice to join",
    async () => {
      const { hub } = stage;
      const bootstrap = await hub.kubeconfigOf("booter");
      const text = await manifests("--no-workloads", "--bootstrap-kubeconfig", bootstrap);
      expect(text).not.toContain("Deployment");
      await hub.kubectl.with({ input: text }).ok("apply", "-f", "-");
      const agent = klusterlet(await manifests(), {
        bootstrap,
        spoke: await accountKubeconfig(hub, account, namespace),
      });
      try {
        await letIn(agent, hub.kubeconfig);
        await stage.cluster("east", says("ManagedClusterConditionAvailable", "True", "ManagedClusterAvailable"));
        await agent.until(/"reason":"ClusterAvailable"/);
        expect(agent.err()).not.toMatch(/forbidden/i);
      } finally {
        agent.interrupt();
        await agent.done;
      }
    },
    limitMs,
  );
});
