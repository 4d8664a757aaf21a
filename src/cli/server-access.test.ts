import { describe, expect, test, it } from "vitest";
import { fakeIo, type FakeIoOptions, kubeconfigText, runLine } from "../../test/kits/fake-io.ts";
import { endedCredential } from "./server-access.ts";

const version = { "/version": { status: 200, body: '{"gitVersion":"v1.36.0"}' } };

function at(server: string): string {
  return kubeconfigText(`https://${server}`);
}

async function reached(options: FakeIoOptions, line = "version"): Promise<string | undefined> {
  const io = fakeIo({ client: {} as never, replies: version, ...options });
  expect(await runLine(line, io)).toBe(0);
  expect(io.closed()).toBe(io.connections.length);
  return io.connections[0]?.server;
}

describe("the kubeconfig", () => {
  const own = { "/home/ada/.kube/config": at("home") };
  const local = { "/here/pratique-data/admin.kubeconfig": at("local") };

  test("is the one named by --kubeconfig, before all others", async () => {
    const files = { ...own, ...local, "/here/k": at("named") };
    expect(await reached({ files, env: { KUBECONFIG: "/home/ada/.kube/config" } }, "version --kubeconfig k")).toBe(
      "https://named",
    );
  });

  test("is that of KUBECONFIG, where files that do not exist are passed over and the first current context counts", async () => {
    const files = { ...own, ...local, "/a": at("a"), "/b": at("b") };
    expect(await reached({ files, env: { KUBECONFIG: "/none:/a:/b" } })).toBe("https://a");
  });

  test("is ~/.kube/config where nothing else is said", async () => {
    expect(await reached({ files: { ...own, ...local } })).toBe("https://home");
  });

  test("is that of the hub in ./pratique-data where there is no other", async () => {
    expect(await reached({ files: local })).toBe("https://local");
    expect(await reached({ files: local, env: { KUBECONFIG: "" } })).toBe("https://local");
  });

  const refusals: Readonly<Record<string, readonly [string, FakeIoOptions, string]>> = {
    "that is named and does not exist": [
      "token list --kubeconfig k",
      { files: own },
      "error: --kubeconfig k does not exist\nSee 'pratique token list --help'.\n",
    ],
    "of which no file exists": [
      "token list",
      { files: own, env: { KUBECONFIG: "/x:/y" } },
      "error: no file of KUBECONFIG exists: /x, /y\nSee 'pratique token list --help'.\n",
    ],
    "that is nowhere": [
      "token list",
      {},
      "error: there is no kubeconfig: neither --kubeconfig, $KUBECONFIG, ~/.kube/config nor ./pratique-data/admin.kubeconfig\nA hub writes one into its data directory: --kubeconfig DATA-DIR/admin.kubeconfig\nSee 'pratique token list --help'.\n",
    ],
    "that is no kubeconfig": [
      "token list --kubeconfig k",
      { files: { "/here/k": "- 1" } },
      "error: --kubeconfig k: not a kubeconfig: the document is not a mapping\nSee 'pratique token list --help'.\n",
    ],
    "whose context does not exist": [
      "token list --context other",
      { files: own },
      'error: --context "other": /home/ada/.kube/config: there is no contexts["other"]; contexts there: c\nSee \'pratique token list --help\'.\n',
    ],
  };
  test.each(Object.entries(refusals))("%s is refused with code 2", async (_title, [line, options, text]) => {
    const io = fakeIo(options);
    expect(await runLine(line, io)).toBe(2);
    expect(io.err()).toBe(text);
    expect(io.connections).toEqual([]);
  });

  test("that cannot be read is refused, saying why", async () => {
    const io = fakeIo({ readFile: () => Promise.reject(Object.assign(new Error("no"), { code: "EACCES" })) } as never);
    expect(await runLine("token list", io)).toBe(2);
    expect(io.err()).toContain(
      "this account may not read the kubeconfig /home/ada/.kube/config: use the account that owns it, or sudo",
    );
  });
});

describe("a secret that others may use", () => {
  const withUser = (user: string): string => at("h").replace(/user: \{token: \w+\}/, `user: ${user}`);
  /** Of these paths the permissions are open. */
  async function warned(files: Readonly<Record<string, string>>, line: string, env = {}): Promise<string> {
    const openPermissions = async (path: string): Promise<string> => `${path} is open`;
    const io = fakeIo({ client: {} as never, replies: version, files, env, openPermissions });
    await runLine(line, io);
    return io.err();
  }

  test("is warned of in one line where a kubeconfig holds it", async () => {
    const line = "version --kubeconfig k";
    expect(await warned({ "/here/k": at("h") }, line)).toBe("warning: /here/k is open\n");
    const proxied = withUser("{exec: {command: p}}").replace("cluster: {", "cluster: {proxy-url: 'http://u:p@x', ");
    expect(await warned({ "/here/k": proxied }, line)).toContain("warning: /here/k is open\n");
  });

  test("is warned of in the file that holds it, of several", async () => {
    const names = withUser("{tokenFile: t}");
    const env = { KUBECONFIG: "/here/k:/home/ada/other" };
    expect(await warned({ "/here/k": names, "/home/ada/other": at("o"), "/here/t": "abc" }, "version", env)).toBe(
      "warning: /home/ada/other is open\nwarning: /here/t is open\n",
    );
  });

  test("is none in a kubeconfig that only names files or a program", async () => {
    const line = "version --kubeconfig k";
    expect(await warned({ "/here/k": withUser("{tokenFile: t}"), "/here/t": "abc" }, line)).toBe(
      "warning: /here/t is open\n",
    );
    const plugin = "{exec: {apiVersion: client.authentication.k8s.io/v1, command: p, interactiveMode: Never}}";
    expect(await warned({ "/here/k": withUser(plugin) }, line)).not.toContain("warning");
  });
});

describe("pratique version", () => {
  test("prints the client alone where there is no kubeconfig", async () => {
    const io = fakeIo();
    expect(await runLine("version", io)).toBe(0);
    expect(io.out()).toBe("Client Version: 0.0.0-test\n");
  });

  test("prints the server too", async () => {
    const io = fakeIo({ client: {} as never, replies: version, files: { "/here/k": at("h") } });
    expect(await runLine("version --kubeconfig k", io)).toBe(0);
    expect(io.out()).toBe("Client Version: 0.0.0-test\nServer Version: v1.36.0\n");
  });

  test("asks no server with --client", async () => {
    const io = fakeIo({ files: { "/here/k": at("h") } });
    expect(await runLine("version --client --kubeconfig k", io)).toBe(0);
    expect(io.connections).toEqual([]);
  });

  test("prints JSON", async () => {
    const io = fakeIo({ client: {} as never, replies: version, files: { "/here/k": at("h") } });
    expect(await runLine("version -o json --kubeconfig k", io)).toBe(0);
    expect(JSON.parse(io.out())).toEqual({
      clientVersion: {
        version: "0.0.0-test",
        node: process.version,
        platform: `${process.platform}/${process.arch}`,
      },
      serverVersion: { gitVersion: "v1.36.0" },
    });
  });

  test("prints the client and fails where the server refuses, or answers nonsense", async () => {
    const answers = {
      "403": [{ status: 403, body: "{}" }, 1],
      nonsense: [{ status: 200, body: "<html>" }, 1],
    } as const;
    for (const [reply, code] of Object.values(answers)) {
      const io = fakeIo({ client: {} as never, replies: { "/version": reply }, files: { "/here/k": at("h") } });
      expect(await runLine("version --kubeconfig k", io)).toBe(code);
      expect(io.out()).toBe("Client Version: 0.0.0-test\n");
      expect(io.err()).toMatch(/^error: the server/);
      expect(io.closed()).toBe(1);
    }
  });
});

/** Of CN=ann, valid in January 2025. */
const clientCertPem = `-----BEGIN CERTIFICATE-----
MIIBAjCBqgIBATAKBggqhkjOPQQDAjAOMQwwCgYDVQQDDANhbm4wHhcNMjUwMTAx
MDAwMDAwWhcNMjUwMjAxMDAwMDAwWjAOMQwwCgYDVQQDDANhbm4wWTATBgcqhkjO
PQIBBggqhkjOPQMBBwNCAAT2XmOmLxquJUBxhSicRMpcNfvk6I4ebUFPf74hFXLj
vznN7v65cyVOC17OFlwhvaxSwmPlzoGlHbITrFYPQAbgMAoGCCqGSM49BAMCA0cA
MEQCICQ2eRewvlwQa0N2K8sGW0vfB0XUAEdxMqjPrOVMOHkiAiAzBOLNu8OP9Zz4
4+9qdXJBnOAfl7+WrapQHsFDtAKTOA==
-----END CERTIFICATE-----
`;
const [january, march] = [Date.UTC(2025, 0, 15), Date.UTC(2025, 2, 1)];

function jwt(claims: unknown): string {
  return `e30.${Buffer.from(JSON.stringify(claims)).toString("base64url")}.c2ln`;
}

describe("endedCredential", () => {
  it("names a client certificate that has ended, and says nothing of one that has not", () => {
    expect(endedCredential({ clientCertPem }, march)).toBe(
      "The client certificate of the kubeconfig ended at 2025-02-01T00:00:00Z.",
    );
    expect(endedCredential({ clientCertPem }, january)).toBeUndefined();
  });

  it("names a JSON web token that has ended, and says nothing of one that has not", () => {
    const token = jwt({ exp: Date.UTC(2025, 1, 1) / 1000 });
    expect(endedCredential({ token }, march)).toBe("The token of the kubeconfig ended at 2025-02-01T00:00:00Z.");
    expect(endedCredential({ token }, january)).toBeUndefined();
  });

  it.each(["abcdef.0123456789abcdef", "a.b.c", jwt([]), jwt({ exp: "1" }), jwt({ exp: -1e300 }), ""])(
    "says nothing of a token that does not tell its end: %j",
    (token) => {
      expect(endedCredential({ token, clientCertPem: "none" }, march)).toBeUndefined();
    },
  );
});
