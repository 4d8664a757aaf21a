import { chmod, mkdir, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFailed, test } from "vitest";
import { parse } from "yaml";
import { writeExecutable } from "../kits/executable.ts";
import { startTestHub, type TestHub } from "../kits/hub.ts";
import { peerSuite } from "../kits/peers.ts";
import { pratiqueProgram, type PratiqueProgram } from "../kits/peers-pratique.ts";
import { eventually, ofThisTest, spawnProcess, type PeerProcess } from "../kits/peers-process.ts";
import { programRun } from "../kits/program-run.ts";

const deploy = resolve(import.meta.dirname, "../../deploy");
const text = (file: string): Promise<string> => readFile(join(deploy, file), "utf8");

describe("deploy/kubernetes.yaml", () => {
  test("is what `pratique manifests` prints", async () => {
    const printed = programRun(["manifests"]);
    expect(await printed.done).toBe(0);
    expect((await text("kubernetes.yaml")).length).toBeGreaterThan(1000);
    await expect(printed.out()).toMatchFileSnapshot(join(deploy, "kubernetes.yaml"));
  });
});

interface CloudConfig {
  readonly write_files: readonly { readonly path: string; readonly permissions: string; readonly content: string }[];
  readonly runcmd: readonly (readonly string[])[];
}

const cloudConfig = async (): Promise<CloudConfig> =>
  parse(await text("cloud-init/access-request.yaml")) as CloudConfig;

describe("deploy/cloud-init/access-request.yaml", () => {
  test("brings the unit along as it is", async () => {
    const { write_files: files } = await cloudConfig();
    const unit = files.find(({ path }) => path.endsWith(".service"))?.content;
    expect(unit).toBe(await text("systemd/pratique-agent.service"));
  });

  test("downloads nothing and holds no secret", async () => {
    const written = await text("cloud-init/access-request.yaml");
    expect(written).not.toMatch(/curl|wget|apt|token:|password|PRIVATE KEY/i);
  });
});

peerSuite("kubectl", "the script of deploy/cloud-init/access-request.yaml", () => {
  let hub: TestHub;
  let pratique: PratiqueProgram;
  let root: string;
  let config: CloudConfig;

  const profile = `
apiVersion: v1
kind: Namespace
metadata: { name: vms }
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: { name: pod-viewer }
rules: [{ apiGroups: [""], resources: [pods], verbs: [get, list] }]
---
apiVersion: access.pratique.dev/v1alpha1
kind: AccessProfile
metadata: { name: machines }
spec:
  namespace: vms
  roles: [{ kind: ClusterRole, name: pod-viewer }]
  bootstrapToken: { groups: [system:bootstrappers:kubeadm:default-node-token] }
`;

  beforeAll(async () => {
    [hub, pratique, config] = await Promise.all([startTestHub(), pratiqueProgram(), cloudConfig()]);
    root = await mkdtemp(join(tmpdir(), "pratique-root-"));
    await hub.kubectl.with({ input: profile }).ok("apply", "-f", "-");
    for (const { path, permissions, content } of config.write_files) {
      const file = join(root, path);
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, path.endsWith("access.env") ? settings(content) : content);
      await chmod(file, Number.parseInt(permissions, 8));
    }
    const systemctl = `#!/bin/sh\necho "$@" >> "${root}/systemctl.log"\n`;
    await mkdir(join(root, "bin"));
    writeExecutable(join(root, "bin", "systemctl"), systemctl);
  });

  afterAll(async () => {
    await Promise.all([hub?.close(), pratique?.remove(), rm(root, { recursive: true, force: true })]);
  });

  function settings(content: string): string {
    const values: Readonly<Record<string, string>> = {
      BINARY: pratique.executable,
      HUB: new URL(hub.url).host,
      CA_PIN: hub.hub.caPin,
      PROFILE: "machines",
    };
    const filled = content.replaceAll(/^PRATIQUE_([A-Z_]+)=.*$/gm, (_line, name: string) => {
      expect(values).toHaveProperty(name);
      return `PRATIQUE_${name}=${values[name] ?? ""}`;
    });
    return `${filled}PRATIQUE_NAME=vm-boot\nPRATIQUE_WAIT=1s\nPRATIQUE_PAUSE=0\n`;
  }

  /** What cloud-init runs, with another folder for `/`. */
  function boot(): PeerProcess {
    expect(config.runcmd).toHaveLength(1);
    const [[command = "", ...args] = []] = config.runcmd;
    const env = { PRATIQUE_ROOT: root, PATH: `${join(root, "bin")}:${process.env["PATH"] ?? ""}` };
    return ofThisTest(spawnProcess(join(root, command), args, { home: root, env }));
  }

  test("asks until it is answered, joins with the bootstrap token, starts the agent, and can run again", async () => {
    onTestFailed(() => {
      process.stderr.write(hub.log.map((entry) => `${JSON.stringify(entry)}\n`).join(""));
    });
    const first = boot();
    // It asks again when its time is up, without another request.
    await first.until(/is not answered yet[^]*had asked already/);
    await hub.kubectl.ok(
      "patch",
      "accessrequest",
      "vm-boot",
      "--subresource=status",
      "--type=merge",
      "-p",
      '{"status":{"accepted":true}}',
    );
    const { code, printed } = await first.done;
    expect([code, printed]).toEqual([0, expect.stringContaining("This machine has joined.")]);
    const access = join(root, "var/lib/pratique/access");
    const machine = hub.kubectl.with({ kubeconfig: join(access, "kubeconfig") });
    expect((await machine("get", "pods", "-n", "vms")).code).toBe(0);
    expect((await machine("get", "pods", "-n", "default")).err).toMatch(/forbidden/);
    const node = hub.kubectl.with({ kubeconfig: join(root, "etc/kubernetes/kubelet.conf") });
    expect(await node.ok("auth", "whoami", "-o", "jsonpath={.status.userInfo.username}")).toMatch(/^system:node:/);
    await expect(stat(join(access, "bootstrap-token"))).rejects.toThrow("ENOENT");
    expect(await readFile(join(root, "systemctl.log"), "utf8")).toBe(
      "daemon-reload\nenable --now pratique-agent.service\n",
    );

    // The very line of the unit, with another folder and another program.
    const [, line = ""] = /^ExecStart=(.*)$/m.exec(await text("systemd/pratique-agent.service")) ?? [];
    const [program, ...words] = line.replaceAll("/var/lib/", `${root}/var/lib/`).split(" ");
    expect(program).toBe("/usr/local/bin/pratique");
    const agent = ofThisTest(spawnProcess(pratique.executable, words, { home: root }));
    await agent.until(/reason=Ready/);
    await agent.stop();

    expect((await boot().done).code).toBe(0);
    const { items } = await hub.kubectl.json("get", "accessrequests");
    expect(items).toHaveLength(1);
  }, 120_000);

  test("ends with what the hub said when it is denied", async () => {
    const env = join(root, "etc/pratique/access.env");
    await writeFile(env, (await readFile(env, "utf8")).replace("vm-boot", "vm-denied"));
    await rm(join(root, "var/lib/pratique"), { recursive: true, force: true });
    const run = boot();
    await run.until(/asked: accessrequest/);
    await eventually(
      "the request",
      async () => (await hub.kubectl("get", "accessrequest", "vm-denied")).code === 0 || undefined,
    );
    await hub.kubectl.ok(
      "patch",
      "accessrequest",
      "vm-denied",
      "--subresource=status",
      "--type=merge",
      "-p",
      '{"status":{"denied":true,"reason":"not ours"}}',
    );
    const { code, printed } = await run.done;
    expect([code, printed]).toEqual([4, expect.stringContaining("not ours")]);
  }, 120_000);
});
