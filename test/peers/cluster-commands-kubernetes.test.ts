import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startRealClusterHub, type RealClusterHub } from "../kits/peers-clusters.ts";
import { kubePrograms } from "../kits/peers-kube.ts";
import { accountKubeconfig } from "../kits/peers-manifests.ts";
import { pratiqueProgram, type PratiqueProgram } from "../kits/peers-pratique.ts";
import { eventually, ofThisTest, spawnProcess, type PeerEnd, type PeerProcess } from "../kits/peers-process.ts";
import { peerSuite } from "../kits/peers.ts";

const limitMs = 240_000;

peerSuite(kubePrograms, "pratique cluster, on a real control plane", () => {
  let hub: RealClusterHub;
  let program: PratiqueProgram;

  beforeAll(async () => {
    [hub, program] = await Promise.all([startRealClusterHub(), pratiqueProgram()]);
  }, 240_000);
  afterAll(async () => {
    await hub?.stop();
    await program?.remove();
  });

  /** The program as somebody with that kubeconfig runs it, in the folder of the hub's files. */
  function start(kubeconfig: string, ...words: readonly string[]): PeerProcess {
    const options = { home: hub.kube.dir, env: { KUBECONFIG: kubeconfig }, deadlineMs: limitMs };
    return ofThisTest(spawnProcess(program.executable, words, options));
  }
  const spoke = (...words: readonly string[]): PeerProcess => start("/dev/null", ...words);
  const operator = (...words: readonly string[]): Promise<PeerEnd> => start(hub.kube.kubeconfig, ...words).done;

  async function ends(code: number, end: Promise<PeerEnd>): Promise<string> {
    const { code: was, printed } = await end;
    expect([was, printed, hub.said()]).toEqual([code, expect.anything(), expect.anything()]);
    return printed;
  }

  /** A kubeconfig of somebody who holds one cluster role. */
  async function person(name: string, role: string): Promise<string> {
    const { kubectl } = hub.kube;
    await kubectl.ok("create", "serviceaccount", name);
    await kubectl.ok("create", "clusterrolebinding", name, `--clusterrole=${role}`, `--serviceaccount=default:${name}`);
    return accountKubeconfig(hub.kube, name, "default");
  }

  const words = (name: string): readonly string[] => [
    "--bootstrap-kubeconfig",
    `${name}.kubeconfig`,
    "--cluster-name",
    name,
    "--dir",
    name,
  ];

  test(
    "token, join, pending, accept, list, deny, accept and detach do what they say",
    async () => {
      const { kubectl, dir } = hub.kube;
      const made = await ends(0, operator("cluster", "token", "--bootstrap-kubeconfig", "east.kubeconfig"));
      const file = join(dir, "east.kubeconfig");
      expect((await stat(file)).mode & 0o777).toBe(0o600);
      expect(made).toMatch(/It is system:bootstrap:\w{6}, for 60m/);
      const booter = kubectl.with({ kubeconfig: file });
      const asks = ["managedclusters.cluster.open-cluster-management.io", "certificatesigningrequests"];
      for (const kind of asks) expect((await booter.ok("auth", "can-i", "create", kind)).trim()).toBe("yes");
      expect((await booter("auth", "can-i", "get", "secrets", "--all-namespaces")).out.trim()).toBe("no");

      const joining = spoke("cluster", "join", ...words("east"));
      const [, id = ""] = await joining.until(/then: pratique cluster accept east --agent-id (\S+)/);
      expect(await ends(0, operator("pending"))).toMatch(
        new RegExp(String.raw`managedcluster/east +\S+ +${id} +pending +pending`),
      );
      const accepted = await ends(0, operator("cluster", "accept", "east", "--agent-id", id));
      expect(accepted).toContain(`joined: agent ${id} has come in`);
      expect(await ends(0, joining.done)).toContain(`with agent ${id}, and is available`);
      const shown = await kubectl.ok("get", "managedcluster", "east", "--no-headers");
      expect(shown).toMatch(/^east +true +https:\S+|^east +true /);
      expect(await kubectl.ok("get", "csr", "--no-headers")).toMatch(/^east-\w+ .*Approved,Issued/m);

      const own = kubectl.with({ kubeconfig: join(dir, "east", "kubeconfig") });
      const staying = spoke("klusterlet", ...words("east"));
      await staying.until(/available/);
      expect(await ends(0, operator("cluster", "list"))).toMatch(
        new RegExp(String.raw`^east +yes +yes +True +\S+ +\S+ ago +${id} +default `, "m"),
      );
      const lease = ["-n", "east", "get", "lease", "managed-cluster-lease", "-o", "name"];
      expect((await own.ok(...lease)).trim()).toBe("lease.coordination.k8s.io/managed-cluster-lease");

      const denied = await ends(0, operator("cluster", "deny", "east", "--reason", "who is that"));
      expect(denied).toMatch(/^east: denied\n[\s\S]*^east: its rights are gone\n/m);
      expect(denied).toMatch(new RegExp(`^east: the certificate of agent ${id} has no rights left, and ends at`, "m"));
      await eventually("the rights to be gone", async () => {
        const { code, err } = await own(...lease);
        return code !== 0 && /Forbidden/.test(err) ? true : undefined;
      });
      const [listed] = JSON.parse(await ends(0, operator("cluster", "list", "-o", "json"))) as readonly object[];
      expect(listed).toMatchObject({ name: "east", denied: true, deniedBecause: "who is that" });

      const again = await ends(0, operator("cluster", "accept", "east"));
      expect(again).toMatch(/east: accepted\n[\s\S]*is heard again/);

      const detached = await ends(0, operator("cluster", "detach", "east"));
      expect(detached).toMatch(/^east: being detached\n[\s\S]*east: detached\n/);
      for (const gone of [
        ["managedcluster", "east"],
        ["namespace", "east"],
        ["clusterrole", "open-cluster-management:managedcluster:east"],
      ]) {
        expect(await kubectl("get", ...gone)).toMatchObject({ code: 1, err: expect.stringContaining("NotFound") });
      }
      const token = /token: (\S+)/.exec(await readFile(file, "utf8"))?.[1] ?? "";
      for (const text of [made, accepted, denied, again, detached, joining.printed(), staying.printed(), hub.said()]) {
        expect(text).not.toContain(token);
      }
    },
    limitMs,
  );

  test(
    "the two decisions are of two people, and neither may make the other's",
    async () => {
      const ann = await person("ann", "open-cluster-management:approver");
      const acc = await person("acc", "open-cluster-management:accepter");
      const identity = ["--identity", "service-account", "--ttl", "10m"];
      const made = await ends(
        0,
        operator("cluster", "token", "--bootstrap-kubeconfig", "west.kubeconfig", ...identity),
      );
      expect(made).toContain("It is system:serviceaccount:open-cluster-management:agent-registration-bootstrap, for ");
      const joining = spoke("cluster", "join", ...words("west"));
      const [, id = ""] = await joining.until(/--agent-id (\S+)/);

      const approving = start(ann, "cluster", "accept", "west", "--agent-id", id);
      await approving.until(/west: left to a user who may accept the cluster/);
      await approving.until(/west: waiting for it to be accepted by a user with that right/);
      const get = ["get", "managedcluster", "west", "-o", "jsonpath={.spec.hubAcceptsClient}"];
      expect(await hub.kube.kubectl.ok(...get)).toBe("false");

      const accepted = await ends(0, start(acc, "cluster", "accept", "west").done);
      expect(accepted).toMatch(
        /west: no certificate request was looked at\n[\s\S]*west: accepted\n[\s\S]*west: joined/,
      );
      expect(await ends(0, approving.done)).toMatch(/west: csr\/\S+ approved[\s\S]*west: joined: agent/);
      await ends(0, joining.done);

      const early = start(acc, "cluster", "accept", "nobody", "--wait=false");
      expect(await ends(5, early.done)).toContain("nobody: missing the cluster to be registered by its agent");
      expect(await ends(4, start(ann, "cluster", "deny", "west").done)).toMatch(/managedclusters/);
      expect(await hub.kube.kubectl.ok(...get)).toBe("true");
    },
    limitMs,
  );

  test(
    "detach names the add-on that a spoke which is gone leaves, and removes the cluster with --force",
    async () => {
      const { kubectl } = hub.kube;
      await ends(0, operator("cluster", "token", "--bootstrap-kubeconfig", "gone.kubeconfig"));
      const joining = spoke("cluster", "join", ...words("gone"));
      const [, id = ""] = await joining.until(/--agent-id (\S+)/);
      await ends(0, operator("cluster", "accept", "gone", "--agent-id", id));
      await ends(0, joining.done);
      const addOn = {
        apiVersion: "addon.open-cluster-management.io/v1beta1",
        kind: "ManagedClusterAddOn",
        metadata: { name: "stuck", namespace: "gone", finalizers: ["example.com/agent"] },
        spec: {},
      };
      await kubectl.with({ input: JSON.stringify(addOn) }).ok("create", "-f", "-");
      const waiting = start(hub.kube.kubeconfig, "cluster", "detach", "gone");
      await waiting.until(/1 managedclusteraddons are left/);
      const forced = await ends(0, operator("cluster", "detach", "gone", "--force"));
      expect(forced).toMatch(/^gone: already being detached\n[\s\S]*^gone: detached$/m);
      expect(await ends(0, waiting.done)).toMatch(/^gone: detached$/m);
      expect((await kubectl("get", "namespace", "gone")).err).toContain("NotFound");
    },
    limitMs,
  );
});
