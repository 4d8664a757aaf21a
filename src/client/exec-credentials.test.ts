import { describe, expect, it } from "vitest";
import { fakeClock, type FakeClock } from "../../test/kits/fake-clock.ts";
import { execCredentials, type ExecCredentials, type PluginEnd, type PluginRun } from "./exec-credentials.ts";
import type { ExecPlugin, ResolvedKubeconfig } from "./resolve-kubeconfig.ts";

const v1 = "client.authentication.k8s.io/v1";

const config: ResolvedKubeconfig = {
  context: "c",
  server: "https://hub.test:6443",
  namespace: "default",
  insecureSkipTlsVerify: false,
  caPem: "PEM",
  tlsServerName: "name.test",
  proxyUrl: "http://proxy.test",
};

const plugin: ExecPlugin = {
  where: 'f: users["u"].exec',
  apiVersion: v1,
  command: "get-token",
  args: ["--for", "hub"],
  env: [{ name: "REGION", value: "north" }],
  installHint: "get it from https://plugin.test",
  provideClusterInfo: false,
  interactiveMode: "Never",
};

interface World {
  readonly exec: ExecCredentials;
  readonly runs: readonly PluginRun[];
  readonly clock: FakeClock;
}

function world(
  given: Partial<ExecPlugin>,
  ends: (run: number) => PluginEnd | Promise<PluginEnd>,
  noTerminal?: string,
): World {
  const clock = fakeClock();
  const runs: PluginRun[] = [];
  const run = async (one: PluginRun): Promise<PluginEnd> => {
    runs.push(one);
    return ends(runs.length);
  };
  const host = { noTerminal: () => noTerminal, run };
  return { clock, runs, exec: execCredentials({ ...plugin, ...given }, config, { clock, host }) };
}

function wrote(output: unknown): PluginEnd {
  return { kind: "ended", code: 0, output: typeof output === "string" ? output : JSON.stringify(output) };
}

function credential(status: object): PluginEnd {
  return wrote({ kind: "ExecCredential", apiVersion: v1, status });
}

describe("the credential of a plugin", () => {
  it("is kept until ten seconds before its end", async () => {
    const { exec, runs, clock } = world({}, (run) =>
      credential({ token: `t${run}`, expirationTimestamp: new Date(clock.now() + 60_000).toISOString() }),
    );
    expect(await exec.current()).toEqual({ token: "t1" });
    await clock.advance(49_999);
    expect(await exec.current()).toEqual({ token: "t1" });
    await clock.advance(1);
    expect(await exec.current()).toEqual({ token: "t2" });
    expect(runs).toHaveLength(2);
  });

  it("is kept for ever where it names no end", async () => {
    const { exec, runs, clock } = world({}, () => credential({ token: "t" }));
    await exec.current();
    await clock.advance(1_000_000_000);
    await exec.current();
    expect(runs).toHaveLength(1);
  });

  it("is asked for anew once when it is refused, however many were refused with it", async () => {
    const { exec, runs } = world({}, (run) => credential({ token: `t${run}` }));
    const shown = await exec.current();
    expect(await Promise.all([exec.refused(shown), exec.refused(shown)])).toEqual([true, true]);
    expect(await exec.refused(shown)).toBe(true);
    expect(runs).toHaveLength(2);
    expect(await exec.current()).toEqual({ token: "t2" });
  });

  it("comes from one run for those who ask at the same time", async () => {
    const { exec, runs } = world({}, () => credential({ token: "t" }));
    await Promise.all([exec.current(), exec.current()]);
    expect(runs).toHaveLength(1);
  });

  it("is asked for again after a failure", async () => {
    const { exec } = world({}, (run) => (run === 1 ? { kind: "missing" } : credential({ token: "t" })));
    await expect(exec.current()).rejects.toThrow("does not exist");
    expect(await exec.current()).toEqual({ token: "t" });
  });
});

describe("what a plugin is told", () => {
  async function reported(given: Partial<ExecPlugin>, noTerminal?: string): Promise<unknown> {
    const { exec, runs } = world(given, () => wrote(""), noTerminal);
    await exec.current().catch(() => undefined);
    return { ...runs[0], env: { ...runs[0]?.env, KUBERNETES_EXEC_INFO: undefined }, info: infoOf(runs[0]) };
  }

  it("is the version, its arguments and variables, and nothing of the cluster", async () => {
    expect(await reported({})).toEqual({
      command: "get-token",
      args: ["--for", "hub"],
      env: { REGION: "north" },
      isInteractive: false,
      info: { kind: "ExecCredential", apiVersion: v1, spec: { interactive: false } },
    });
  });

  it("is the cluster where the kubeconfig says so", async () => {
    expect(await reported({ provideClusterInfo: true, extension: { audience: "a" } })).toMatchObject({
      info: {
        spec: {
          cluster: {
            server: "https://hub.test:6443",
            "tls-server-name": "name.test",
            "certificate-authority-data": "UEVN",
            "proxy-url": "http://proxy.test",
            config: { audience: "a" },
          },
        },
      },
    });
  });

  it.each([
    ["Never", undefined, false],
    ["IfAvailable", undefined, true],
    ["IfAvailable", "there is none", false],
    ["Always", undefined, true],
  ] as const)("is a terminal with %s where %s: %s", async (interactiveMode, noTerminal, isInteractive) => {
    expect(await reported({ interactiveMode }, noTerminal)).toMatchObject({
      isInteractive,
      info: { spec: { interactive: isInteractive } },
    });
  });

  it("is nothing where it must have a terminal and there is none", async () => {
    const { exec, runs } = world({ interactiveMode: "Always" }, () => wrote(""), "standard input is not a terminal");
    await expect(exec.current()).rejects.toThrow(
      'the credential plugin get-token must be run in a terminal (interactiveMode Always), but standard input is not a terminal (f: users["u"].exec)',
    );
    expect(runs).toEqual([]);
  });
});

describe("a plugin that fails", () => {
  it.each([
    ["is not there", { kind: "missing" }, "does not exist: get it from https://plugin.test"],
    ["hangs", { kind: "failed", why: "did not end within 60 s" }, "did not end within 60 s"],
    ["ends with a code", { kind: "ended", code: 7, output: "SECRET" }, "failed with exit code 7"],
    ["writes nothing", wrote(""), "wrote no ExecCredential in JSON"],
    ["writes text", wrote("SECRET"), "wrote no ExecCredential in JSON"],
    ["writes another kind", wrote({ kind: "Secret" }), "wrote no ExecCredential in JSON"],
    ["writes a list", wrote(["SECRET"]), "wrote no ExecCredential in JSON"],
    [
      "speaks another version",
      wrote({
        kind: "ExecCredential",
        apiVersion: "client.authentication.k8s.io/v1beta1",
        status: { token: "SECRET" },
      }),
      `gave a credential of another version than ${v1}`,
    ],
    ["gives no status", wrote({ kind: "ExecCredential", apiVersion: v1 }), "without a status"],
    ["gives nothing", credential({}), "gave neither a token nor a certificate"],
    ["gives a certificate alone", credential({ clientCertificateData: "SECRET" }), "not both"],
    ["gives no PEM", credential({ clientCertificateData: "SECRET", clientKeyData: "SECRET" }), "cannot be read"],
    ["gives two lines", credential({ token: "SECRET\r\nx: y" }), "characters that no token has"],
    ["gives a number", credential({ token: 7 }), "whose token is no text"],
    ["gives no time", credential({ token: "SECRET", expirationTimestamp: "soon" }), "no time of RFC 3339"],
  ] as const)("is told when it %s, and nothing that it wrote", async (_what, end, message) => {
    const { exec } = world({}, () => end);
    const error: unknown = await exec.current().catch((reason: unknown) => reason);
    expect(error).toMatchObject({ name: "ConnectionError", code: "EXEC_PLUGIN" });
    expect(error).toMatchObject({ message: expect.stringContaining(`the credential plugin get-token `) });
    expect(error).toMatchObject({ message: expect.stringContaining(message) });
    expect(error).toMatchObject({ message: expect.not.stringContaining("SECRET") });
  });
});

function infoOf(run: PluginRun | undefined): unknown {
  return JSON.parse(run?.env["KUBERNETES_EXEC_INFO"] ?? "");
}
