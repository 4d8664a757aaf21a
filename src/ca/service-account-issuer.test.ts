import { generateKeyPairSync } from "node:crypto";
import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { signedClaims } from "../authentication/service-account-token.ts";
import { exportSec1Pem, generatePrivateKey } from "../pki/keys.ts";
import type { HubOptions } from "../server/hub-options.ts";
import { openServiceAccountIssuer } from "./service-account-issuer.ts";

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "pratique-issuer-"));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

const open = (options: Partial<HubOptions> = {}, folder = "pki") =>
  openServiceAccountIssuer(
    {
      dataDir: dir,
      bindAddress: "127.0.0.1",
      securePort: 0,
      tlsSans: [],
      authorizationModes: ["RBAC"],
      anonymousAuth: true,
      clusterSigningDurationSeconds: 600,
      nodeAutoapprove: true,
      maxRequestsInflight: 1,
      release: "0",
      log: () => undefined,
      ...options,
    },
    join(dir, folder),
  );

const mode = async (file: string): Promise<string> => ((await stat(join(dir, "pki", file))).mode & 0o777).toString(8);

describe("the issuer of ServiceAccount tokens", () => {
  it("makes a P-256 key at the first start that only its owner can read, and keeps it", async () => {
    const first = await open();
    expect(first.keys.map(({ alg }) => alg)).toEqual(["ES256"]);
    expect([await mode("sa.key"), await mode("sa.pub"), await mode("")]).toEqual(["600", "644", "700"]);
    expect(await readFile(join(dir, "pki", "sa.pub"), "utf8")).toMatch(/^-----BEGIN PUBLIC KEY-----\n/);
    expect((await open()).keys.map(({ kid }) => kid)).toEqual(first.keys.map(({ kid }) => kid));
  });

  it("is the default one for itself alone, when told nothing", async () => {
    await expect(open({ serviceAccountMaxTokenExpirationSeconds: 0 })).resolves.toMatchObject({
      issuers: ["https://kubernetes.default.svc"],
      audiences: ["https://kubernetes.default.svc"],
      maxExpirationSeconds: undefined,
      extendExpiration: true,
    });
  });

  it("believes tokens of the key before, when it is told that key", async () => {
    const before = await open({}, "old");
    const token = await before.sign({ iss: "https://kubernetes.default.svc" });
    const after = await open({ serviceAccountKeyFiles: [join(dir, "old", "sa.pub")] });
    expect(after.keys).toHaveLength(2);
    const { issuers } = after;
    await expect(signedClaims({ issuers, keys: after.keys })(token)).resolves.toMatchObject({ kind: "authenticated" });
    const { keys } = await open();
    await expect(signedClaims({ issuers, keys })(token)).resolves.toMatchObject({ kind: "rejected" });
  });

  it("signs with the key of the operator, and then makes none of its own", async () => {
    const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey;
    const file = join(dir, "own.key");
    await writeFile(file, rsa.export({ type: "pkcs1", format: "pem" }));
    const { keys, sign } = await open({ serviceAccountSigningKeyFile: file, serviceAccountKeyFiles: [file] });
    expect(keys.map(({ alg }) => alg)).toEqual(["RS256"]);
    await expect(signedClaims({ issuers: ["i"], keys })(await sign({ iss: "i" }))).resolves.toMatchObject({
      kind: "authenticated",
    });
    await expect(stat(join(dir, "pki", "sa.key"))).rejects.toThrow("ENOENT");
  });

  it("takes several keys from one file", async () => {
    const file = join(dir, "keys.pem");
    await writeFile(file, exportSec1Pem(generatePrivateKey()) + exportSec1Pem(generatePrivateKey()));
    expect((await open({ serviceAccountKeyFiles: [file] })).keys).toHaveLength(3);
  });

  it.each([
    [
      "a missing file",
      { serviceAccountKeyFiles: ["/nowhere/x"] },
      "--service-account-key-file: /nowhere/x does not exist",
    ],
    ["a missing key", { serviceAccountSigningKeyFile: "/nowhere/x" }, "--service-account-signing-key-file: /nowhere/x"],
    ["an issuer that is no URL", { serviceAccountIssuers: ["a:// b"] }, '--service-account-issuer "a:// b" is neither'],
    ["an empty issuer", { serviceAccountIssuers: [""] }, '--service-account-issuer "" is neither'],
    ["too short a bound", { serviceAccountMaxTokenExpirationSeconds: 3599 }, "must be between 1 hour and 2^32 seconds"],
  ])("refuses to start with %s", async (_name, options, message) => {
    await expect(open(options)).rejects.toMatchObject({
      name: "HubError",
      code: "options",
      message: expect.stringContaining(message) as string,
    });
  });

  it("refuses to start with keys that sign no tokens, and never shows them", async () => {
    const ed25519 = generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" }).toString();
    const file = join(dir, "bad.pem");
    for (const [pem, message] of [
      [ed25519, "tokens are signed with RSA or EC keys, not with Ed25519"],
      [`${ed25519.slice(0, 60)}\n`, "bad.pem: "],
      ["", "bad.pem: "],
    ] as const) {
      await writeFile(file, pem);
      for (const options of [{ serviceAccountSigningKeyFile: file }, { serviceAccountKeyFiles: [file] }]) {
        const failure: unknown = await open(options).catch((error: unknown) => error);
        expect(failure).toMatchObject({ name: "HubError", message: expect.stringContaining(message) as string });
        expect(String(failure)).not.toContain("MC4CAQAw");
      }
    }
  });
});
