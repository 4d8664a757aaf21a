import { generateKeyPairSync } from "node:crypto";
import { describe, expect, it } from "vitest";
import { parseKubeconfig } from "./kubeconfig.ts";
import { resolveKubeconfig } from "./resolve-kubeconfig.ts";

const certificate = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
const key = "-----BEGIN EC PRIVATE KEY-----\nAAAA\n-----END EC PRIVATE KEY-----\n";
const files = new Map([
  ["/etc/ca.crt", certificate],
  ["/etc/current.pem", certificate + key],
  ["/etc/token", "abcdef.0123456789abcdef\n"],
  ["/etc/two-lines", "abc\r\nX-Evil: 1\n"],
  ["/etc/giant", "a".repeat(1_048_577)],
]);

async function readFile(path: string): Promise<Uint8Array> {
  const text = files.get(path);
  if (text === undefined) {
    throw Object.assign(new TypeError("gone"), { code: "ENOENT" });
  }
  return Buffer.from(text);
}

interface Parts {
  readonly cluster?: object;
  readonly user?: object;
  readonly context?: object;
  /** The context that is asked for by name. */
  readonly choice?: string;
}

function resolve(parts: Parts): Promise<unknown> {
  const config = {
    "current-context": "x",
    clusters: [{ name: "c", cluster: { server: "https://hub:6443", ...parts.cluster } }],
    users: [{ name: "u", user: parts.user ?? {} }],
    contexts: [{ name: "x", context: parts.context ?? { cluster: "c", user: "u" } }],
  };
  return resolveKubeconfig(parseKubeconfig(JSON.stringify(config), "/etc/f"), { context: parts.choice, readFile });
}

/** Of CN=ann, for a key that nobody has. */
const annPem = `-----BEGIN CERTIFICATE-----
MIIBAjCBqgIBATAKBggqhkjOPQQDAjAOMQwwCgYDVQQDDANhbm4wHhcNMjUwMTAx
MDAwMDAwWhcNMjUwMjAxMDAwMDAwWjAOMQwwCgYDVQQDDANhbm4wWTATBgcqhkjO
PQIBBggqhkjOPQMBBwNCAAT2XmOmLxquJUBxhSicRMpcNfvk6I4ebUFPf74hFXLj
vznN7v65cyVOC17OFlwhvaxSwmPlzoGlHbITrFYPQAbgMAoGCCqGSM49BAMCA0cA
MEQCICQ2eRewvlwQa0N2K8sGW0vfB0XUAEdxMqjPrOVMOHkiAiAzBOLNu8OP9Zz4
4+9qdXJBnOAfl7+WrapQHsFDtAKTOA==
-----END CERTIFICATE-----
`;

function newKeyPem(): string {
  return generateKeyPairSync("ec", { namedCurve: "P-256" })
    .privateKey.export({ type: "pkcs8", format: "pem" })
    .toString();
}

const plugin = { apiVersion: "client.authentication.k8s.io/v1beta1", command: "get-token" };

const base64 = (text: string): string => Buffer.from(text).toString("base64");

describe("resolveKubeconfig", () => {
  it("follows the current context and reads its files", async () => {
    const user = { "client-certificate": "current.pem", "client-key": "current.pem", tokenFile: "token", token: "old" };
    await expect(
      resolve({ cluster: { "certificate-authority": "ca.crt", "tls-server-name": "n" }, user }),
    ).resolves.toEqual({
      context: "x",
      server: "https://hub:6443",
      namespace: "default",
      insecureSkipTlsVerify: false,
      caPem: certificate,
      tlsServerName: "n",
      clientCertPem: certificate + key,
      clientKeyPem: certificate + key,
      clientCertFile: "/etc/current.pem",
      clientKeyFile: "/etc/current.pem",
      token: "abcdef.0123456789abcdef",
      tokenFile: "/etc/token",
    });
  });

  it("lets inline data count before files", async () => {
    const cluster = { "certificate-authority": "missing", "certificate-authority-data": base64(certificate) };
    const user = {
      "client-certificate-data": base64(certificate),
      "client-key-data": base64(key),
      "client-key": "missing",
    };
    const context = { cluster: "c", user: "u", namespace: "ns" };
    await expect(resolve({ cluster, user, context })).resolves.toEqual({
      context: "x",
      server: "https://hub:6443",
      namespace: "ns",
      insecureSkipTlsVerify: false,
      caPem: certificate,
      clientCertPem: certificate,
      clientKeyPem: key,
    });
  });

  it.each([
    ["a name, which is looked up in PATH", "get-token", "get-token"],
    ["an absolute path", "/opt/get-token", "/opt/get-token"],
    ["a path relative to the kubeconfig", "./bin/get-token", "/etc/bin/get-token"],
  ])("takes the program of a user by %s", async (_what, command, expected) => {
    await expect(resolve({ user: { exec: { ...plugin, command } } })).resolves.toMatchObject({
      exec: { command: expected, args: [], env: [], interactiveMode: "IfAvailable", provideClusterInfo: false },
    });
  });

  it("never takes a path beside the kubeconfig for a name in PATH", async () => {
    const config = parseKubeconfig(
      JSON.stringify({
        "current-context": "x",
        clusters: [{ name: "c", cluster: { server: "https://hub" } }],
        users: [{ name: "u", user: { exec: { ...plugin, command: "./get-token" } } }],
        contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
      }),
      "config",
    );
    await expect(resolveKubeconfig(config, { readFile })).resolves.toMatchObject({ exec: { command: "./get-token" } });
  });

  it("passes a program over where there is a token or a certificate", async () => {
    const user = { exec: plugin, token: "t" };
    await expect(resolve({ user })).resolves.toHaveProperty("exec", undefined);
    await expect(resolve({ user: { ...user, exec: { command: "" } } })).rejects.toThrow(".exec.command");
  });

  it("takes the token where its file cannot be read", async () => {
    await expect(resolve({ user: { token: "t", tokenFile: "gone" } })).resolves.toMatchObject({ token: "t" });
    await expect(resolve({ user: { tokenFile: "gone" } })).rejects.toThrow("/etc/gone does not exist");
  });

  it("reads a proxy, and as whom requests are to be done", async () => {
    const user = { as: "ann", "as-uid": "7", "as-groups": ["g", "h"], "as-user-extra": { reason: ["a", "b"] } };
    await expect(resolve({ cluster: { "proxy-url": "socks5://p:1" }, user })).resolves.toMatchObject({
      proxyUrl: "socks5://p:1",
      impersonate: { user: "ann", uid: "7", groups: ["g", "h"], extra: new Map([["reason", ["a", "b"]]]) },
    });
  });

  it("is anonymous for a context without a user", async () => {
    await expect(resolve({ context: { cluster: "c" } })).resolves.toEqual({
      context: "x",
      server: "https://hub:6443",
      namespace: "default",
      insecureSkipTlsVerify: false,
    });
  });

  it.each([
    ["a context that is not there", { choice: "nope" }, "missing", '/etc/f: there is no contexts["nope"]'],
    ["no current context", { choice: "" }, "missing", "current-context is not set; contexts there: x"],
    [
      "the key of another certificate",
      { user: { "client-certificate-data": base64(annPem), "client-key-data": base64(newKeyPem()) } },
      "bad-value",
      '/etc/f: users["u"].client-key is not the key of client-certificate',
    ],
    ["a user that is not there", { context: { cluster: "c", user: "v" } }, "missing", 'users["v"]'],
    ["a cluster that is not there", { context: { user: "u" } }, "missing", 'clusters[""]'],
    ["http", { cluster: { server: "http://hub" } }, "bad-value", 'clusters["c"].server'],
    ["no server", { cluster: { server: null } }, "bad-value", 'clusters["c"].server'],
    ["credentials in the server", { cluster: { server: "https://a:b@hub" } }, "bad-value", ".server"],
    ["a line break in the server", { cluster: { server: "https://hub\r\nX: y" } }, "bad-value", ".server"],
    [
      "a CA that is not to be checked",
      { cluster: { "certificate-authority": "ca.crt", "insecure-skip-tls-verify": true } },
      "conflict",
      'clusters["c"]',
    ],
    [
      "a CA that is no PEM",
      { cluster: { "certificate-authority-data": base64("SECRET") } },
      "bad-value",
      ".certificate-authority-data",
    ],
    ["a CA that is not base64", { cluster: { "certificate-authority-data": "SECRET!" } }, "bad-value", "is not base64"],
    [
      "a CA file that is not there",
      { cluster: { "certificate-authority": "gone" } },
      "unreadable-file",
      "/etc/gone does not exist: check the path",
    ],
    ["a giant file", { cluster: { "certificate-authority": "giant" } }, "unreadable-file", "larger than"],
    ["a certificate without a key", { user: { "client-certificate": "current.pem" } }, "missing", "client-key"],
    ["a key without a certificate", { user: { "client-key": "current.pem" } }, "missing", "client-certificate"],
    [
      "a key that is a certificate",
      { user: { "client-certificate": "ca.crt", "client-key": "ca.crt" } },
      "bad-value",
      ".client-key",
    ],
    ["a line break in a token", { user: { token: "SECRET\r\nX-Evil: 1" } }, "bad-value", ".token is empty or holds"],
    ["a line break in a token file", { user: { tokenFile: "two-lines" } }, "bad-value", ".tokenFile"],
    ["a NUL in a token", { user: { token: "SECRET\u0000" } }, "bad-value", ".token"],
    ["a password", { user: { username: "a", password: "SECRET" } }, "unsupported", ".username"],
    [
      "what client-go has removed",
      { user: { "auth-provider": { name: "oidc", config: { "id-token": "SECRET" } } } },
      "unsupported",
      "with a credential plugin (exec), for example kubelogin",
    ],
    ["a proxy of another kind", { cluster: { "proxy-url": "ftp://u:SECRET@p" } }, "bad-value", ".proxy-url"],
    ["a proxy that is no URL", { cluster: { "proxy-url": "SECRET" } }, "bad-value", ".proxy-url"],
    ["groups without a user", { user: { "as-groups": ["g"] } }, "missing", "set as"],
    ["a uid without a user", { user: { "as-uid": "1" } }, "missing", "set as"],
    ["a plugin that is text", { user: { exec: "SECRET" } }, "wrong-type", ".exec must be a mapping"],
    ["a plugin without a command", { user: { exec: { ...plugin, command: "" } } }, "missing", ".exec.command"],
    ["a plugin without a version", { user: { exec: { command: "x" } } }, "unsupported", ".exec.apiVersion is not set"],
    [
      "a plugin of a version that is gone",
      { user: { exec: { ...plugin, apiVersion: "client.authentication.k8s.io/v1alpha1" } } },
      "unsupported",
      ".exec.apiVersion",
    ],
    [
      "v1 without interactiveMode",
      { user: { exec: { ...plugin, apiVersion: "client.authentication.k8s.io/v1" } } },
      "bad-value",
      ".exec.interactiveMode is not set",
    ],
    ["another interactiveMode", { user: { exec: { ...plugin, interactiveMode: "Ever" } } }, "bad-value", "Ever"],
    ["a variable without a name", { user: { exec: { ...plugin, env: [{ value: "SECRET" }] } } }, "bad-value", ".env"],
    ["an argument that is no text", { user: { exec: { ...plugin, args: [{}] } } }, "wrong-type", ".exec.args"],
  ] as const)("refuses %s", async (_name, parts, code, message) => {
    const error: unknown = await resolve(parts).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ name: "KubeconfigError", code, message: expect.stringContaining(message) });
    expect(error).not.toMatchObject({ message: expect.stringContaining("SECRET") });
  });
});
