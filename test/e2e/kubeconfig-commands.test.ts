import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { commands } from "../../src/cli/commands.ts";
import { isGroup } from "../../src/cli/command.ts";
import { startEchoApi, type EchoApi } from "../kits/echo-api.ts";
import { writeExecutable } from "../kits/executable.ts";
import { pratiqueProgram, type PratiqueProgram } from "../kits/peers-pratique.ts";
import { ofThisTest, spawnProcess } from "../kits/peers-process.ts";
import { startConnectProxy, type TestProxy } from "../kits/proxies.ts";

/** A command line of each command that takes a kubeconfig to talk to a server. */
const lines: Readonly<Record<string, string>> = {
  "token create": "",
  "token list": "",
  "token delete": "abcdef",
  pending: "",
  approve: "csr/a",
  deny: "csr/a",
  revoke: "node/a",
  revocations: "list",
  credentials: "list",
  why: "get pods",
  "who-can": "get pods",
  "cluster token": "",
  "cluster accept": "c",
  "cluster deny": "c",
  "cluster list": "",
  "cluster detach": "c",
  controller: "",
  webhook: "--url https://127.0.0.1:8443 --bind-address 127.0.0.1 --secure-port 0 --register",
  authorizer: "--revocations --bind-address 127.0.0.1 --secure-port 0",
  "policy check": "--rbac-base server",
  "policy replay": "--rbac-base server --audit-log audit.log",
  version: "",
};
/** The kubeconfig of `join` is written; these two read the folder of a hub first, and connect in the same function as all others. */
const others = ["join", "ca check", "ca revoke"];

let api: EchoApi;
let proxy: TestProxy;
let program: PratiqueProgram;
let dir: string;

beforeAll(async () => {
  api = await startEchoApi();
  proxy = await startConnectProxy({ to: api.port });
  program = await pratiqueProgram();
  dir = await mkdtemp(join(tmpdir(), "kubeconfig-commands-"));
  await writeFile(join(dir, "audit.log"), "");
  // As kubelogin and the plugins of clouds answer: a token, in the version that was asked for.
  writeExecutable(
    join(dir, "plugin"),
    `#!/bin/sh
version=$(echo "$KUBERNETES_EXEC_INFO" | sed 's/.*"apiVersion":"\\([^"]*\\)".*/\\1/')
echo "{\\"kind\\":\\"ExecCredential\\",\\"apiVersion\\":\\"$version\\",\\"status\\":{\\"token\\":\\"of-$1\\"}}"
`,
  );
});

afterAll(async () => {
  await program.remove();
  await proxy.close();
  await api.close();
  await rm(dir, { recursive: true, force: true });
});

beforeEach(() => clear(proxy.asked));

function clear(list: readonly unknown[]): void {
  (list as unknown[]).splice(0);
}

/** Two files as in KUBECONFIG: who to be is in one, and the way to the server in the other. */
async function kubeconfigs(user: object, cluster: object): Promise<string> {
  const files = {
    people: { users: [{ name: "u", user }] },
    clusters: {
      "current-context": "x",
      contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
      clusters: [
        {
          name: "c",
          cluster: { "certificate-authority-data": Buffer.from(api.caPem).toString("base64"), ...cluster },
        },
      ],
    },
  };
  for (const [name, content] of Object.entries(files))
    await writeFile(join(dir, name), JSON.stringify({ apiVersion: "v1", kind: "Config", ...content }), { mode: 0o600 });
  return Object.keys(files)
    .map((name) => join(dir, name))
    .join(":");
}

const exec = (version: string, extra: object = {}): object => ({
  exec: { apiVersion: `client.authentication.k8s.io/${version}`, command: "./plugin", args: [version], ...extra },
});

/** Runs a command until the server has been asked something, or the command ends. */
async function firstSeen(name: string, env: Readonly<Record<string, string>>): Promise<readonly string[] | string> {
  const args = [...name.split(" "), ...(lines[name] ?? "").split(" ").filter((word) => word !== "")];
  const run = ofThisTest(spawnProcess(program.executable, args, { home: dir, env }));
  clear(api.seen);
  let hasEnded = false;
  void run.done.then(() => (hasEnded = true));
  await expect.poll(() => hasEnded || api.seen.length > 0).toBe(true);
  await run.stop();
  return api.seen[0] ?? run.printed();
}

describe("every command that takes a kubeconfig", () => {
  it("is in the table of this test", () => {
    const named = commands.flatMap((entry) =>
      isGroup(entry)
        ? entry.commands.map((command) => ({ ...command, name: `${entry.name} ${command.name.split(" ").at(-1)}` }))
        : [entry],
    );
    const takers = named.filter(({ options }) => options.some(({ name }) => name === "kubeconfig"));
    expect(takers.map(({ name }) => name).toSorted()).toEqual([...Object.keys(lines), ...others].toSorted());
  });

  it.each(Object.keys(lines))("signs in by a plugin of client-go's protocol, through a proxy: %s", async (name) => {
    const cluster = {
      server: "https://behind.test",
      "tls-server-name": "hub.test",
      "proxy-url": `http://127.0.0.1:${proxy.port}`,
    };
    const KUBECONFIG = await kubeconfigs(exec("v1", { interactiveMode: "IfAvailable" }), cluster);
    expect(await firstSeen(name, { KUBECONFIG })).toEqual(["authorization: Bearer of-v1"]);
    expect(proxy.asked.at(0)).toBe("behind.test:443");
  });
});

describe("a kubeconfig of kubelogin, EKS, GKE or AKS", () => {
  it.each(["v1", "v1beta1"])("with a plugin of %s signs in", async (version) => {
    const user = exec(version, { interactiveMode: "IfAvailable", provideClusterInfo: true, env: null });
    const KUBECONFIG = await kubeconfigs(user, { server: `https://127.0.0.1:${api.port}` });
    expect(await firstSeen("version", { KUBECONFIG })).toEqual([`authorization: Bearer of-${version}`]);
  });

  it("is taken from several files, and the server verified by tls-server-name alone", async () => {
    const server = `https://127.0.0.1:${api.port}`;
    for (const [name, seen] of [
      ["hub.test", ["authorization: Bearer of-both"]],
      ["other.test", expect.stringContaining("is not valid for that name")],
    ] as const) {
      const KUBECONFIG = await kubeconfigs({ token: "of-both" }, { server, "tls-server-name": name });
      expect(await firstSeen("version", { KUBECONFIG })).toEqual(seen);
    }
  });

  it("is reached through HTTPS_PROXY, but for what NO_PROXY lists", async () => {
    const KUBECONFIG = await kubeconfigs({ token: "t" }, { server: "https://hub.test" });
    const HTTPS_PROXY = `http://127.0.0.1:${proxy.port}`;
    expect(await firstSeen("version", { KUBECONFIG, HTTPS_PROXY })).toEqual(["authorization: Bearer t"]);
    expect(proxy.asked).toEqual(["hub.test:443"]);
    expect(await firstSeen("version", { KUBECONFIG, HTTPS_PROXY, NO_PROXY: ".test" })).toContain("hub.test");
    expect(proxy.asked).toEqual(["hub.test:443"]);
  });
});
