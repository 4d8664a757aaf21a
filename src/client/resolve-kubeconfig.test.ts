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
      "cannot read /etc/gone (ENOENT)",
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
    ["an exec plugin", { user: { exec: { command: "sh" } } }, "unsupported", 'users["u"].exec is not supported'],
    ["a password", { user: { username: "a", password: "SECRET" } }, "unsupported", ".username"],
    ["impersonation", { user: { as: "admin" } }, "unsupported", ".as is not supported"],
    ["a proxy", { cluster: { "proxy-url": "http://p" } }, "unsupported", ".proxy-url"],
  ] as const)("refuses %s", async (_name, parts, code, message) => {
    const error: unknown = await resolve(parts).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ name: "KubeconfigError", code, message: expect.stringContaining(message) });
    expect(error).not.toMatchObject({ message: expect.stringContaining("SECRET") });
  });
});
