import { execFileSync, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { reportSkip } from "../../test/kits/report-skip.ts";
import { createCa, loadCa, type CertificateAuthority } from "./ca.ts";
import { issueCertificate } from "./certificate.ts";
import { createCsr, parseCsr } from "./csr.ts";
import { exportSec1Pem, generatePrivateKey, loadPrivateKey, spkiOf } from "./keys.ts";
import { decodeOnePem } from "./pem.ts";
import { certificateValidity } from "./validity.ts";
import { loadTrustRoots, verifyClientChain } from "./verify-chain.ts";

// OpenSSL judges by the wall clock, so this file takes its time from there too.
const now = Date.now();
const hasOpenssl = spawnSync("openssl", ["version"]).status === 0;

if (!hasOpenssl) reportSkip("openssl", "the program is not installed", "debian");

describe.skipIf(!hasOpenssl)("openssl", () => {
  let folder = "";
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "pki-oracle-"));
  });
  afterAll(() => {
    rmSync(folder, { recursive: true, force: true });
  });

  const openssl = (...args: readonly (string | readonly string[])[]): string =>
    execFileSync("openssl", args.flat(), { cwd: folder, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
  const read = (file: string): string => readFileSync(join(folder, file), "utf8");
  const write = (file: string, text: string): void => writeFileSync(join(folder, file), text);
  const issueFor = (issuer: CertificateAuthority, csrPem: string): string => {
    const csr = parseCsr(csrPem);
    const { pem } = issueCertificate({
      issuer,
      rawSubject: csr.rawSubject,
      spki: csr.spki,
      rawSans: csr.rawSans,
      usages: ["digital signature", "client auth"],
      ...certificateValidity({ now, maxSeconds: 3600, caNotAfter: issuer.notAfter }),
      serial: randomBytes(16),
    });
    return pem;
  };

  const kinds: readonly (readonly [string, readonly string[], readonly string[]])[] = [
    ["RSA", ["-newkey", "rsa:2048"], []],
    ["RSA with SHA-512", ["-newkey", "rsa:2048"], ["-sha512"]],
    ["RSA-PSS", ["-newkey", "rsa:2048"], ["-sigopt", "rsa_padding_mode:pss", "-sigopt", "rsa_pss_saltlen:-1"]],
    ["P-256", ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"], []],
    ["P-384", ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-384"], ["-sha384"]],
    ["P-521", ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-521"], ["-sha512"]],
    ["Ed25519", ["-newkey", "ed25519"], []],
  ];
  it.each(kinds)("makes a request of kind %s that is read, granted and then verified", (_kind, newKey, options) => {
    const names =
      "subjectAltName=DNS:a.example,DNS:*.b.example,IP:10.0.0.1,IP:2001:db8::1,email:a@b.example,URI:spiffe://t/x";
    openssl(
      ["req", "-new", "-nodes", "-keyout", "k.pem", "-out", "r.pem", "-subj", "/O=one/O=two/OU=x/CN=usér", "-utf8"],
      ["-addext", names, "-addext", "basicConstraints=CA:TRUE", "-addext", "keyUsage=keyCertSign"],
      newKey,
      options,
    );
    const csr = parseCsr(read("r.pem"));
    expect(csr).toMatchObject({
      subject: { commonName: "usér", organizations: ["one", "two"] },
      sans: {
        dns: ["a.example", "*.b.example"],
        ip: ["10.0.0.1", "2001:db8::1"],
        email: ["a@b.example"],
        uri: ["spiffe://t/x"],
      },
      asksForCa: true,
    });
    expect(Buffer.compare(csr.spki, spkiOf(loadPrivateKey(read("k.pem"))))).toBe(0);

    const ca = createCa({ commonName: "ca", key: generatePrivateKey(), now, years: 1, random: randomBytes });
    write("ca.pem", ca.pem);
    write("c.pem", issueFor(ca, read("r.pem")));
    expect(openssl("verify", "-x509_strict", "-purpose", "sslclient", "-CAfile", "ca.pem", "c.pem")).toBe(
      "c.pem: OK\n",
    );
    const text = openssl("x509", "-in", "c.pem", "-noout", "-text", "-nameopt", "utf8,sep_comma_plus");
    expect(text).toMatch(/X509v3 Key Usage: critical\n +Digital Signature\n/);
    expect(text).toMatch(/X509v3 Extended Key Usage: ?\n +TLS Web Client Authentication\n/);
    expect(text).toMatch(/X509v3 Basic Constraints: critical\n +CA:FALSE\n/);
    expect(text).toMatch(
      /DNS:a\.example, DNS:\*\.b\.example, IP Address:10\.0\.0\.1, IP Address:2001:DB8:0:0:0:0:0:1,/,
    );
    expect(text).not.toMatch(/CA:TRUE|Certificate Sign/);
  });

  it("refuses to take our client certificate for a server's", () => {
    const ca = createCa({ commonName: "ca", key: generatePrivateKey(), now, years: 1, random: randomBytes });
    write("ca2.pem", ca.pem);
    write("c2.pem", issueFor(ca, createCsr({ key: generatePrivateKey(), commonName: "u" })));
    expect(() => openssl("verify", "-purpose", "sslserver", "-CAfile", "ca2.pem", "c2.pem")).toThrow(
      /verification failed/,
    );
  });

  it("accepts the requests and keys that we make", () => {
    const key = generatePrivateKey();
    write("own.pem", createCsr({ key, commonName: "u", organizations: ["g"], dnsNames: ["a"], ipAddresses: ["::1"] }));
    write("own-key.pem", exportSec1Pem(key));
    expect(openssl("req", "-in", "own.pem", "-verify", "-noout", "-text")).toMatch(/DNS:a, IP Address:0:0:0:0:0:0:0:1/);
    expect(openssl("pkey", "-in", "own-key.pem", "-pubout")).toBe(
      openssl("req", "-in", "own.pem", "-pubkey", "-noout"),
    );
  });

  it("makes a CA that loads, and a client chain that verifies", () => {
    openssl(
      ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-keyout", "rk.pem", "-out", "root.pem"],
      ["-subj", "/CN=root"],
    );
    openssl(
      "req",
      "-new",
      "-newkey",
      "ed25519",
      "-nodes",
      "-keyout",
      "uk.pem",
      "-out",
      "u.pem",
      "-subj",
      "/O=dev/CN=u",
    );
    write("ext", "basicConstraints=CA:FALSE\nextendedKeyUsage=clientAuth\n");
    const sign = ["x509", "-req", "-in", "u.pem", "-CA", "root.pem", "-CAkey", "rk.pem", "-extfile", "ext"];
    openssl(sign, "-out", "leaf.pem", "-days", "1", "-set_serial", "7");
    // What openssl makes is valid from the second in which it ran, which is some time after this file was loaded.
    const later = now + 600_000;
    const ca = loadCa({ certificatePem: read("root.pem"), keyPem: read("rk.pem"), now: later });
    const judge = (pem: string) =>
      verifyClientChain({
        leaf: decodeOnePem(pem, "CERTIFICATE"),
        intermediates: [],
        roots: loadTrustRoots(read("root.pem")),
        now: later,
      });
    expect(judge(read("leaf.pem"))).toMatchObject({ ok: true, subject: { commonName: "u", organizations: ["dev"] } });
    expect(judge(issueFor(ca, read("u.pem")))).toMatchObject({ ok: true });
    openssl(sign, "-out", "sha1.pem", "-days", "1", "-set_serial", "8", "-sha1");
    expect(judge(read("sha1.pem"))).toMatchObject({ ok: false, error: expect.stringMatching(/not accepted/) });
  });
});
