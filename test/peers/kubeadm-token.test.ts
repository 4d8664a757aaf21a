import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { bootstrapKubeconfig } from "../../src/client/build-kubeconfig.ts";
import { detachedJws } from "../../src/trust/token.ts";
import { startTestHub, type TestHub } from "../kits/hub.ts";
import type { Kubectl } from "../kits/kubectl.ts";
import { peerSuite } from "../kits/peers.ts";
import { whoami } from "../kits/peers-cluster.ts";
import { eventually, runPeer, type PeerEnd } from "../kits/peers-process.ts";

const limitMs = 180_000;
const tokenPattern = /^[a-z0-9]{6}\.[a-z0-9]{16}$/;

peerSuite(["kubeadm", "kubectl"], "kubeadm token against the hub", () => {
  let hub: TestHub;

  beforeAll(async () => {
    hub = await startTestHub();
  });

  afterAll(() => hub?.close());

  const kubeadm = (...args: readonly string[]): Promise<PeerEnd> =>
    runPeer("kubeadm", ["token", ...args, "--kubeconfig", hub.kubeconfig], { home: hub.dir });

  /** What it prints when it succeeds. */
  async function ok(...args: readonly string[]): Promise<string> {
    const { code, printed } = await kubeadm(...args);
    expect([code, printed]).toEqual([0, printed]);
    return printed.trim();
  }

  /** The line of a token in the list, its columns apart. */
  async function listed(token: string): Promise<readonly string[] | undefined> {
    const line = (await ok("list")).split("\n").find((one) => one.startsWith(token));
    return line?.trim().split(/ {2,}/);
  }

  async function clusterInfo(): Promise<Readonly<Record<string, string>>> {
    const map = await hub.kubectl.json("-n", "kube-public", "get", "configmap", "cluster-info");
    return map["data"] as Readonly<Record<string, string>>;
  }

  async function signature(token: string): Promise<string | undefined> {
    return (await clusterInfo())[`jws-kubeconfig-${token.slice(0, 6)}`];
  }

  async function ownerOf(token: string): Promise<Kubectl> {
    const kubeconfig = join(hub.dir, `token-${token.slice(0, 6)}.conf`);
    await writeFile(kubeconfig, bootstrapKubeconfig({ server: hub.url, ca: { pem: hub.ca }, token }), { mode: 0o600 });
    return hub.kubectl.with({ kubeconfig });
  }

  test("create makes a token that authenticates, and the list shows it", { timeout: limitMs }, async () => {
    const token = await ok("create");
    expect(token).toMatch(tokenPattern);
    expect(await listed(token)).toEqual([
      token,
      "23h",
      expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/) as unknown,
      "authentication,signing",
      "<none>",
      "system:bootstrappers:kubeadm:default-node-token",
    ]);
    expect(await whoami(await ownerOf(token))).toEqual({
      username: `system:bootstrap:${token.slice(0, 6)}`,
      groups: ["system:bootstrappers", "system:bootstrappers:kubeadm:default-node-token", "system:authenticated"],
    });
  });

  test("description, lifetime, groups and usages are kept", { timeout: limitMs }, async () => {
    const token = "wishes.0123456789abcdef";
    const groups = "system:bootstrappers:rack-7,system:bootstrappers:site:b";
    const wishes = ["--description", "for rack 7", "--ttl", "0", "--groups", groups, "--usages", "authentication"];
    expect(await ok("create", token, ...wishes)).toBe(token);
    expect(await listed(token)).toEqual([token, "<forever>", "<never>", "authentication", "for rack 7", groups]);
    expect(await whoami(await ownerOf(token))).toMatchObject({
      groups: ["system:bootstrappers", ...groups.split(","), "system:authenticated"],
    });
    expect(documentOf(token, await ok("list", "-o", "json"))).toMatchObject({
      kind: "BootstrapToken",
      description: "for rack 7",
      groups: groups.split(","),
    });
  });

  test("its signature stands in cluster-info until it is deleted", { timeout: limitMs }, async () => {
    const token = await ok("create");
    const jws = await eventually("the signature", () => signature(token));
    const { kubeconfig = "" } = await clusterInfo();
    expect(jws).toBe(detachedJws(kubeconfig, { id: token.slice(0, 6), secret: token.slice(7) }));
    expect(await ok("delete", token)).toBe(`bootstrap token "${token.slice(0, 6)}" deleted`);
    await eventually("the signature to vanish", async () =>
      (await signature(token)) === undefined ? true : undefined,
    );
    expect(await listed(token)).toBeUndefined();
  });

  test("a token that may not sign has no signature there", { timeout: limitMs }, async () => {
    const silent = await ok("create", "--usages", "authentication");
    const later = await ok("create");
    await eventually("the signature of the later one", () => signature(later));
    expect(await signature(silent)).toBeUndefined();
  });

  test("delete takes an id as well, and says when there is no such token", { timeout: limitMs }, async () => {
    const token = await ok("create");
    const id = token.slice(0, 6);
    expect(await ok("delete", id)).toBe(`bootstrap token "${id}" deleted`);
    const { code, printed } = await kubeadm("delete", id);
    expect(code).not.toBe(0);
    expect(printed).toContain(`failed to delete bootstrap token "${id}": secrets "bootstrap-token-${id}" not found`);
  });

  test("an id is given out once", { timeout: limitMs }, async () => {
    const token = await ok("create");
    const { code, printed } = await kubeadm("create", `${token.slice(0, 7)}0123456789abcdef`);
    expect(code).not.toBe(0);
    expect(printed).toContain(`a token with id "${token.slice(0, 6)}" already exists`);
    expect(await listed(token)).toBeDefined();
  });

  test("an expired token is cleaned away, with its signature", { timeout: limitMs }, async () => {
    const token = await ok("create", "--ttl", "2s");
    await eventually("the token to be gone", async () => ((await listed(token)) === undefined ? true : undefined));
    await eventually("the signature to vanish", async () =>
      (await signature(token)) === undefined ? true : undefined,
    );
    const { code, err } = await (await ownerOf(token))("auth", "whoami");
    expect([code, err]).toEqual([1, expect.stringMatching(/Unauthorized|must be logged in/)]);
  });

  test("--print-join-command names address and pin of the hub", { timeout: limitMs }, async () => {
    const command = await ok("create", "--print-join-command");
    const [words, token] = /^(.*) --token (\S+) +--discovery-token-ca-cert-hash/.exec(command)?.slice(1) ?? [];
    expect(words).toBe(`kubeadm join 127.0.0.1:${hub.port}`);
    expect(token).toMatch(tokenPattern);
    expect(command.split(" ").at(-1)).toBe(hub.hub.caPin);
  });
});

/** The JSON document that tells of a token, of several that follow one another. */
function documentOf(token: string, text: string): unknown {
  const document = text.split(/(?<=^\})\n/m).find((one) => one.includes(token));
  return JSON.parse(document ?? "null");
}
