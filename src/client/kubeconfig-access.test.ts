import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { fakeClock } from "../../test/kits/fake-clock.ts";
import { startEchoApi, type EchoApi } from "../../test/kits/echo-api.ts";
import { startConnectProxy, startSocksProxy, type TestProxy } from "../../test/kits/proxies.ts";
import { kubeconfigAccess, fileCredentials, type KubeconfigWorld } from "./kubeconfig-access.ts";
import { remoteClient, type RemoteClient } from "./remote.ts";
import type { ResolvedKubeconfig } from "./resolve-kubeconfig.ts";

let api: EchoApi;
let closing: (() => unknown)[];

beforeEach(async () => {
  api = await startEchoApi();
  closing = [() => api.close()];
});

afterEach(async () => {
  for (const close of closing.toReversed()) await close();
});

function client(config: Partial<ResolvedKubeconfig>, world: Partial<KubeconfigWorld> = {}): RemoteClient {
  const { clock = fakeClock() } = world;
  const access = kubeconfigAccess(
    {
      context: "c",
      server: `https://127.0.0.1:${api.port}`,
      namespace: "default",
      insecureSkipTlsVerify: false,
      ...(config.insecureSkipTlsVerify === true ? {} : { caPem: api.caPem }),
      ...config,
    },
    {
      clock,
      env: {},
      readFile: () => Promise.reject(new TypeError("no files")),
      plugins: { noTerminal: () => "none", run: async () => ({ kind: "missing" }) },
      ...world,
    },
  );
  const one = remoteClient({ ...access, clock, userAgent: "test", timeoutMs: 30_000 });
  closing.push(() => one.close());
  return one;
}

async function status(one: RemoteClient): Promise<number> {
  return (await one.raw("GET", "/version")).status;
}

/** A proxy that ends with its test. */
async function proxy(starting: Promise<TestProxy>): Promise<TestProxy> {
  const started = await starting;
  closing.push(() => started.close());
  return started;
}

describe("a kubeconfig with a proxy", () => {
  const kinds = {
    http: (wants?: string) => proxy(startConnectProxy({ to: api.port, ...(wants === undefined ? {} : { wants }) })),
    https: (wants?: string) =>
      proxy(
        startConnectProxy({
          to: api.port,
          tls: { cert: api.pair.certPem, key: api.pair.keyPem },
          ...(wants === undefined ? {} : { wants }),
        }),
      ),
    socks5: (wants?: string) => proxy(startSocksProxy({ to: api.port, ...(wants === undefined ? {} : { wants }) })),
  } as const;

  describe.each(["http", "https", "socks5"] as const)("over %s", (kind) => {
    it("reaches a name that only the proxy can resolve", async () => {
      const { port, asked } = await kinds[kind]();
      const config = { server: "https://hub.test:6443", proxyUrl: `${kind}://127.0.0.1:${port}`, token: "t" };
      expect(await status(client(config))).toBe(200);
      expect(asked).toEqual(["hub.test:6443"]);
      expect(api.seen).toEqual([["authorization: Bearer t"]]);
    });

    it("shows the proxy its user and password, and the server neither", async () => {
      const { port, asked } = await kinds[kind]("ann:p@ss");
      expect(await status(client({ proxyUrl: `${kind}://ann:p%40ss@127.0.0.1:${port}` }))).toBe(200);
      expect(asked).toEqual([`ann:p@ss@127.0.0.1:${api.port}`]);
      expect(api.seen).toEqual([[]]);
    });

    it("says that the proxy wants another user, and shows no password", async () => {
      const { port } = await kinds[kind]("ann:right");
      for (const user of ["", "ann:wrong@"]) {
        const error: unknown = await status(client({ proxyUrl: `${kind}://${user}127.0.0.1:${port}` })).catch(
          (reason: unknown) => reason,
        );
        expect(error).toMatchObject({ code: "PROXY", message: expect.stringContaining(`${kind}://127.0.0.1:${port}`) });
        expect(error).toMatchObject({ message: expect.not.stringContaining("wrong") });
      }
      expect(api.seen).toEqual([]);
    });

    it("says that nothing listens at the proxy's address", async () => {
      // A port that was free a moment ago may belong to another test by now; nothing listens at 1.
      await expect(status(client({ proxyUrl: `${kind}://127.0.0.1:1` }))).rejects.toThrow(
        `nothing listens at the proxy ${kind}://127.0.0.1:1`,
      );
    });

    it("keeps the connection for the next request", async () => {
      const { port, asked } = await kinds[kind]();
      const one = client({ proxyUrl: `${kind}://127.0.0.1:${port}` });
      await status(one);
      await status(one);
      expect(asked).toHaveLength(1);
      expect(api.seen).toHaveLength(2);
    });
  });

  it("still verifies the server, by the kubeconfig's CA and the name of the server", async () => {
    const { port } = await kinds.http();
    const proxyUrl = `http://127.0.0.1:${port}`;
    await expect(status(client({ server: "https://other.test", proxyUrl }))).rejects.toMatchObject({
      code: "ERR_TLS_CERT_ALTNAME_INVALID",
    });
    const other = await startEchoApi();
    closing.push(() => other.close());
    await expect(status(client({ server: "https://hub.test", proxyUrl, caPem: other.caPem }))).rejects.toMatchObject({
      code: "SELF_SIGNED_CERT_IN_CHAIN",
    });
    expect(await status(client({ server: "https://other.test", proxyUrl, tlsServerName: "hub.test" }))).toBe(200);
    expect(await status(client({ server: "https://other.test", proxyUrl, insecureSkipTlsVerify: true }))).toBe(200);
  });

  it("does not trust a proxy over TLS that another CA has signed", async () => {
    const other = await startEchoApi();
    closing.push(() => other.close());
    const { certPem: cert, keyPem: key } = other.pair;
    const { port, asked } = await proxy(startConnectProxy({ to: api.port, tls: { cert, key } }));
    await expect(status(client({ proxyUrl: `https://127.0.0.1:${port}` }))).rejects.toThrow(
      `the certificate of the proxy https://127.0.0.1:${port} is not signed by the CA that is trusted`,
    );
    expect(asked).toEqual([]);
  });

  it("shows the client certificate to the server", async () => {
    const { port } = await kinds.http();
    const { certPem: clientCertPem, keyPem: clientKeyPem } = api.client("ann");
    await status(client({ proxyUrl: `http://127.0.0.1:${port}`, clientCertPem, clientKeyPem }));
    expect(api.seen).toEqual([["certificate: CN=ann"]]);
  });

  it("goes before that of the environment, which this machine's own addresses never take", async () => {
    const { port, asked } = await kinds.http();
    const env = { HTTPS_PROXY: `http://127.0.0.1:${port}` };
    expect(await status(client({}, { env }))).toBe(200);
    expect(asked).toEqual([]);
    expect(await status(client({ server: "https://hub.test" }, { env }))).toBe(200);
    expect(asked).toEqual(["hub.test:443"]);
    const own = await kinds.socks5();
    const proxyUrl = `socks5://127.0.0.1:${own.port}`;
    expect(await status(client({ server: "https://hub.test", proxyUrl }, { env }))).toBe(200);
    expect(asked).toHaveLength(1);
    expect(own.asked).toEqual(["hub.test:443"]);
  });

  it("is ended while the proxy keeps silent", async () => {
    const { port } = await proxy(startSocksProxy({ to: 1, wants: "never" }));
    const one = client({ proxyUrl: `socks5://127.0.0.1:${port}` });
    const call = status(one).catch((reason: unknown) => reason);
    one.close();
    expect(await call).toMatchObject({ name: "ConnectionError" });
  });
});

describe("a kubeconfig with tls-server-name", () => {
  it.each(["hub.test", "127.0.0.1"])("reaches a server whose certificate is for %s", async (tlsServerName) => {
    expect(await status(client({ server: `https://localhost:${api.port}`, tlsServerName }))).toBe(200);
  });

  it.each(["other.test", "127.0.0.2"])("refuses one whose certificate is not for %s", async (tlsServerName) => {
    await expect(status(client({ tlsServerName }))).rejects.toMatchObject({ code: "ERR_TLS_CERT_ALTNAME_INVALID" });
  });
});

describe("a kubeconfig that acts as somebody else", () => {
  it("says so in every request", async () => {
    const impersonate = {
      user: "ann",
      uid: "7",
      groups: ["g", "h"],
      extra: new Map([["Acme.com/Reason", ["a", "b"]]]),
    };
    await status(client({ token: "t", impersonate }));
    expect(api.seen).toEqual([
      [
        "authorization: Bearer t",
        "impersonate-extra-acme.com%2freason: a, b",
        "impersonate-group: g, h",
        "impersonate-uid: 7",
        "impersonate-user: ann",
      ],
    ]);
  });
});

describe("a kubeconfig with a plugin", () => {
  const exec = {
    where: "f",
    apiVersion: "client.authentication.k8s.io/v1",
    command: "get-token",
    args: [],
    env: [],
    installHint: "",
    provideClusterInfo: false,
    interactiveMode: "Never",
  } as const;

  function plugins(...tokens: readonly string[]): KubeconfigWorld["plugins"] & { readonly runs: () => number } {
    let runs = 0;
    return {
      runs: () => runs,
      noTerminal: () => "none",
      run: async () => {
        const token = tokens[Math.min(runs++, tokens.length - 1)];
        const output = JSON.stringify({ kind: "ExecCredential", apiVersion: exec.apiVersion, status: { token } });
        return { kind: "ended", code: 0, output };
      },
    };
  }

  it("runs it at the first request, and not again", async () => {
    const host = plugins("one");
    const one = client({ exec }, { plugins: host });
    expect(host.runs()).toBe(0);
    await Promise.all([status(one), status(one)]);
    await status(one);
    expect(host.runs()).toBe(1);
    expect(api.seen).toEqual(Array.from({ length: 3 }, () => ["authorization: Bearer one"]));
  });

  it("makes a call once more with what it gives after a 401", async () => {
    api.answers.push(401);
    const host = plugins("old", "new");
    const one = client({ exec }, { plugins: host });
    expect(await status(one)).toBe(200);
    expect(api.seen).toEqual([["authorization: Bearer old"], ["authorization: Bearer new"]]);
  });

  it("is told 401 when what it gives then is refused as well", async () => {
    api.answers.push(401, 401);
    const host = plugins("bad");
    expect(await status(client({ exec }, { plugins: host }))).toBe(401);
    expect(host.runs()).toBe(2);
  });

  it("takes longer than a call may, since a person may have to sign in", async () => {
    const clock = fakeClock();
    const host = plugins("t");
    const slow: KubeconfigWorld["plugins"] = {
      ...host,
      run: async (run) => {
        await clock.advance(120_000);
        return host.run(run);
      },
    };
    expect(await status(client({ exec }, { plugins: slow, clock }))).toBe(200);
  });
});

const config: ResolvedKubeconfig = {
  context: "c",
  server: "https://hub.example",
  namespace: "default",
  insecureSkipTlsVerify: false,
  token: "first",
};

function world(files: Record<string, string>): Parameters<typeof fileCredentials>[1] & {
  readonly clock: ReturnType<typeof fakeClock>;
} {
  return {
    clock: fakeClock(),
    readFile: async (path) => {
      const text = files[path];
      if (text === undefined) throw Object.assign(new Error("ENOENT"), { code: "ENOENT" });
      return Buffer.from(text);
    },
  };
}

describe("credentials of files", () => {
  it("are none where the kubeconfig names no file", () => {
    expect(fileCredentials(config, world({}))).toBeUndefined();
  });

  it("are read again after a minute, and not before", async () => {
    const files = { "/token": "second\n" };
    const io = world(files);
    const credentials = fileCredentials({ ...config, tokenFile: "/token" }, io);
    expect(await credentials?.()).toEqual({ token: "first" });
    await io.clock.advance(59_999);
    expect(await credentials?.()).toEqual({ token: "first" });
    await io.clock.advance(1);
    expect(await credentials?.()).toEqual({ token: "second" });
    files["/token"] = "third";
    expect(await credentials?.()).toEqual({ token: "second" });
  });

  it("bring certificate and key together", async () => {
    const io = world({ "/c": "CERT", "/k": "KEY" });
    const credentials = fileCredentials({ ...config, clientCertFile: "/c", clientKeyFile: "/k" }, io);
    await io.clock.advance(60_000);
    expect(await credentials?.()).toEqual({ token: "first", clientCertPem: "CERT", clientKeyPem: "KEY" });
  });

  it.each([
    ["is gone", {}],
    ["is empty", { "/token": "\n" }],
    ["holds two lines", { "/token": "a\r\nx-remote-user: admin" }],
  ])("stay as they were when the file %s", async (_what, files) => {
    const io = world(files);
    const credentials = fileCredentials({ ...config, tokenFile: "/token" }, io);
    await io.clock.advance(60_000);
    expect(await credentials?.()).toEqual({ token: "first" });
  });
});
