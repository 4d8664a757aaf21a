import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { processWorld } from "../../src/host/process-world.ts";
import { commands } from "../../src/cli/commands.ts";
import { processIo } from "../../src/cli/process-io.ts";
import { runProgram } from "../../src/cli/program.ts";
import { kubeconfigAccess } from "../../src/client/kubeconfig-access.ts";
import { remoteClient } from "../../src/client/remote.ts";
import { writeExecutable } from "../kits/executable.ts";
import { startEchoApi, type EchoApi } from "../kits/echo-api.ts";
import { kubectlRunner } from "../kits/kubectl.ts";
import { peerSuite } from "../kits/peers.ts";
import { startConnectProxy, startSocksProxy, type TestProxy } from "../kits/proxies.ts";

type Env = Readonly<Record<string, string>>;

/** A kubeconfig, or several; `cluster` and `user` are the contents of its only entries. */
interface Case {
  readonly cluster?: object;
  readonly user?: object;
  readonly env?: Env;
  /** Further files, by name, that stand before it in KUBECONFIG. */
  readonly before?: Readonly<Record<string, object>>;
}

/** What came of a kubeconfig: what the server and the proxies were told, in case of success. */
interface Outcome {
  readonly isOk: boolean;
  readonly seen: readonly (readonly string[])[];
  readonly proxied: readonly string[];
}

const v1 = "client.authentication.k8s.io/v1";
const v1beta1 = "client.authentication.k8s.io/v1beta1";

let folder: string;
let api: EchoApi;
let http: TestProxy;
let socks: TestProxy;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "kubeconfig-"));
  api = await startEchoApi();
  http = await startConnectProxy({ to: api.port });
  socks = await startSocksProxy({ to: api.port, wants: "ann:secret" });
  const { certPem, keyPem } = api.client("ann");
  await writeFile(join(folder, "ann.crt"), certPem);
  await writeFile(join(folder, "ann.key"), keyPem);
  await writeFile(join(folder, "token"), "from-file\n");
  writeExecutable(join(folder, "plugin"), plugin("plugin"));
});

afterAll(async () => {
  await http.close();
  await socks.close();
  await api.close();
  await rm(folder, { recursive: true, force: true });
});

beforeEach(() => clear());

/** Answers in the version that it is asked in, with a token that tells what it was told. */
function plugin(name: string): string {
  return `#!/bin/sh
version=$(echo "$KUBERNETES_EXEC_INFO" | sed 's/.*"apiVersion":"\\([^"]*\\)".*/\\1/')
told=$(echo "$KUBERNETES_EXEC_INFO" | grep -c '"server"')
audience=$(echo "$KUBERNETES_EXEC_INFO" | sed -n 's/.*"config":{"audience":"\\([^"]*\\)","port":\\([0-9]*\\)}.*/\\1-\\2/p')
interactive=$(echo "$KUBERNETES_EXEC_INFO" | sed 's/.*"interactive":\\([a-z]*\\).*/\\1/')
echo "{\\"kind\\":\\"ExecCredential\\",\\"apiVersion\\":\\"$version\\",\\"status\\":{\\"token\\":\\"${name}-$1-$REGION-$told-$audience-$interactive\\"}}"
`;
}

function clear(): void {
  for (const list of [api?.seen, http?.asked, socks?.asked]) (list as unknown[] | undefined)?.splice(0);
}

/** Without a credential kubectl would ask for a name and a password at the terminal. */
function config({ cluster = {}, user = { token: "t" } }: Case): object {
  return {
    apiVersion: "v1",
    kind: "Config",
    "current-context": "x",
    clusters: [
      {
        name: "c",
        cluster: {
          server: `https://127.0.0.1:${api.port}`,
          "certificate-authority-data": Buffer.from(api.caPem).toString("base64"),
          ...cluster,
        },
      },
    ],
    users: [{ name: "u", user }],
    contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
  };
}

function outcome(isOk: boolean): Outcome {
  const proxied = [...http.asked, ...socks.asked];
  // kubectl asks for the resources of the server first.
  const first = api.seen.slice(0, 1);
  clear();
  return isOk ? { isOk, seen: first, proxied: proxied.slice(0, 1) } : { isOk, seen: [], proxied: [] };
}

async function ofKubectl(env: Env): Promise<Outcome> {
  const kubectl = kubectlRunner({ home: folder, kubeconfig: env["KUBECONFIG"] ?? "", env });
  return outcome((await kubectl("get", "--raw", "/version")).code === 0);
}

async function ofOurs(env: Env): Promise<Outcome> {
  const real = processIo();
  const whole = { PATH: process.env["PATH"], ...env };
  const io = {
    ...real,
    env: whole,
    stdout: { write: () => undefined, isTty: false },
    stderr: { write: () => undefined, isTty: false },
    connect: async (resolved: Parameters<typeof real.connect>[0]) =>
      remoteClient({
        ...kubeconfigAccess(resolved, processWorld({ clock: real.clock, env: whole, noTerminal: () => "none" })),
        userAgent: "oracle",
        timeoutMs: 30_000,
        clock: real.clock,
      }),
  };
  return outcome((await runProgram(commands, ["version"], io)) === 0);
}

const exec = (over: object): object => ({
  exec: { apiVersion: v1, command: "./plugin", interactiveMode: "Never", ...over },
});

const table: Readonly<Record<string, () => Case>> = {
  "a token": () => ({}),
  "a token file, relative": () => ({ user: { tokenFile: "token" } }),
  "a token and a token file": () => ({ user: { token: "t", tokenFile: "token" } }),
  "a token, and a token file that is not there": () => ({ user: { token: "t", tokenFile: "none" } }),
  "a token file that is not there": () => ({ user: { tokenFile: "none" } }),
  "a certificate, relative": () => ({ user: { "client-certificate": "ann.crt", "client-key": "ann.key" } }),
  "a certificate without a key": () => ({ user: { "client-certificate": "ann.crt" } }),
  "a name for TLS": () => ({ cluster: { server: `https://localhost:${api.port}`, "tls-server-name": "hub.test" } }),
  "another name for TLS": () => ({ cluster: { "tls-server-name": "other.test" } }),
  "no verification": () => ({
    cluster: { "insecure-skip-tls-verify": true, "certificate-authority-data": undefined, "tls-server-name": "x" },
  }),
  "no verification, and a CA": () => ({ cluster: { "insecure-skip-tls-verify": true } }),
  "no CA": () => ({ cluster: { "certificate-authority-data": undefined } }),
  impersonation: () => ({
    user: { token: "t", as: "bob", "as-uid": "7", "as-groups": ["g", "h"], "as-user-extra": { "Acme.com/x y": ["1"] } },
  }),
  "groups without a user": () => ({ user: { token: "t", "as-groups": ["g"] } }),
  "a plugin": () => ({ user: exec({ args: ["arg"], env: [{ name: "REGION", value: "north" }] }) }),
  "a plugin of v1beta1": () => ({ user: exec({ apiVersion: v1beta1, interactiveMode: undefined }) }),
  "a plugin of v1 without interactiveMode": () => ({ user: exec({ interactiveMode: undefined }) }),
  "a plugin of v1alpha1": () => ({ user: exec({ apiVersion: "client.authentication.k8s.io/v1alpha1" }) }),
  "a plugin that wants a terminal": () => ({ user: exec({ interactiveMode: "Always" }) }),
  "a plugin that takes a terminal if there is one": () => ({ user: exec({ interactiveMode: "IfAvailable" }) }),
  "a plugin that is told of the cluster": () => ({
    cluster: { extensions: [{ name: "client.authentication.k8s.io/exec", extension: { audience: "a", port: 443 } }] },
    user: exec({ provideClusterInfo: true }),
  }),
  "a plugin that is not there": () => ({ user: exec({ command: "./none" }) }),
  "a plugin without a command": () => ({ user: exec({ command: "" }) }),
  "a plugin and a token": () => ({ user: { token: "t", ...exec({ command: "./none" }) } }),
  "a plugin and a certificate": () => ({
    user: { "client-certificate": "ann.crt", "client-key": "ann.key", ...exec({ command: "./none" }) },
  }),
  "what client-go has removed": () => ({ user: { "auth-provider": { name: "gcp" } } }),
  "a proxy": () => ({
    cluster: { server: "https://hub.test:6443", "proxy-url": `http://127.0.0.1:${http.port}` },
    user: { token: "t" },
  }),
  "a SOCKS proxy": () => ({
    cluster: { server: "https://hub.test", "proxy-url": `socks5://ann:secret@127.0.0.1:${socks.port}` },
  }),
  "a SOCKS proxy with another password": () => ({
    cluster: { server: "https://hub.test", "proxy-url": `socks5://ann:other@127.0.0.1:${socks.port}` },
  }),
  "a proxy of another kind": () => ({ cluster: { "proxy-url": "ftp://127.0.0.1:1" } }),
  "a proxy of the environment": () => ({
    cluster: { server: "https://hub.test" },
    env: { HTTPS_PROXY: `http://127.0.0.1:${http.port}` },
  }),
  "a proxy of the environment, in lower case and without a scheme": () => ({
    cluster: { server: "https://hub.test" },
    env: { https_proxy: `127.0.0.1:${http.port}` },
  }),
  "a proxy of the environment for this machine": () => ({ env: { HTTPS_PROXY: `http://127.0.0.1:${http.port}` } }),
  "a proxy for http alone": () => ({
    cluster: { server: "https://hub.test" },
    env: { HTTP_PROXY: `http://127.0.0.1:${http.port}` },
  }),
  "a proxy that leaves the name out": () => ({
    cluster: { server: "https://hub.test" },
    env: { HTTPS_PROXY: `http://127.0.0.1:${http.port}`, NO_PROXY: "x,.test" },
  }),
  "a proxy that leaves another port out": () => ({
    cluster: { server: "https://hub.test:6443" },
    env: { HTTPS_PROXY: `http://127.0.0.1:${http.port}`, no_proxy: "hub.test:443" },
  }),
  "a file before it with another user of the same name": () => ({
    user: { token: "second", as: "bob" },
    before: { first: { users: [{ name: "u", user: { token: "first" } }] } },
  }),
  "a file before it with another current context": () => ({
    user: { token: "second" },
    before: {
      first: {
        "current-context": "y",
        contexts: [{ name: "y", context: { cluster: "c", user: "w" } }],
        users: [{ name: "w", user: { tokenFile: "token" } }],
      },
    },
  }),
  "a current context that is not there": () => ({ before: { first: { "current-context": "none" } } }),
};

peerSuite("kubectl", "kubectl and we read a kubeconfig alike", () => {
  test.each(Object.keys(table))("with %s", async (name) => {
    const { before = {}, env = {}, ...rest } = table[name]?.() ?? {};
    const path = join(folder, "config");
    await writeFile(path, JSON.stringify(config(rest)));
    const others = await Promise.all(
      Object.entries(before).map(async ([file, content]) => {
        const other = join(folder, file);
        await writeFile(other, JSON.stringify({ apiVersion: "v1", kind: "Config", ...content }));
        return other;
      }),
    );
    const whole = { ...env, KUBECONFIG: [...others, join(folder, "no-such-file"), path].join(":") };
    const expected = await ofKubectl(whole);
    expect(await ofOurs(whole)).toEqual(expected);
  });

  test("of which both succeed with most, and fail with some", async () => {
    const user = exec({ args: ["arg"], env: [{ name: "REGION", value: "north" }] });
    const path = join(folder, "config");
    await writeFile(path, JSON.stringify(config({ user })));
    const kubectl = await ofKubectl({ KUBECONFIG: path });
    expect(kubectl).toEqual({
      isOk: true,
      seen: [["authorization: Bearer plugin-arg-north-0--false"]],
      proxied: [],
    });
  });
});
