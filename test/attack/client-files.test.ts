import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { bootstrapKubeconfig } from "../../src/client/build-kubeconfig.ts";
import { KubeconfigError, parseKubeconfig } from "../../src/client/kubeconfig.ts";
import { resolveKubeconfig } from "../../src/client/resolve-kubeconfig.ts";
import { createCa } from "../../src/pki/ca.ts";
import { generatePrivateKey } from "../../src/pki/keys.ts";
import { clusterInfoKubeconfig, signatureKey, verifyClusterInfo } from "../../src/trust/cluster-info.ts";
import { detachedJws, requireToken } from "../../src/trust/token.ts";

const runs = { numRuns: 300, seed: 20261121 } as const;
const random = (size: number): Uint8Array => crypto.getRandomValues(new Uint8Array(size));
const ca = createCa({ commonName: "hub", key: generatePrivateKey(), now: Date.now(), years: 1, random });
const secret = "0123456789abcdef";
const good = bootstrapKubeconfig({
  server: "https://hub.example:6443",
  ca: { pem: ca.pem },
  token: `abcdef.${secret}`,
});

const piece = fc.constantFrom(
  "&a ",
  "*a",
  "!!",
  "? ",
  "- ",
  ": ",
  "{",
  "}",
  "[",
  "]",
  "|\n",
  "%",
  "@",
  "\t",
  "#",
  "---\n",
  "'",
  '"',
  "\\",
  "\0",
  "<<: ",
  "\n",
  "\ufeff",
  "\u2028",
  "__proto__: ",
  "x".repeat(1000),
);

/** The text with a few insertions and deletions. */
function damaged(text: string): fc.Arbitrary<string> {
  const change = fc.tuple(fc.nat({ max: text.length }), piece, fc.nat({ max: 8 }));
  return fc
    .array(change, { minLength: 1, maxLength: 5 })
    .map((changes) =>
      changes.reduce(
        (before, [at, inserted, removed]) => before.slice(0, at) + inserted + before.slice(at + removed),
        text,
      ),
    );
}

/** `read`, or `refused` with one line that tells nothing of a credential; otherwise what came instead. */
async function reading(text: string): Promise<string> {
  try {
    await resolveKubeconfig(parseKubeconfig(text, "/etc/k.conf"), {
      readFile: () => Promise.reject(new RangeError("no such file")),
    });
    return "read";
  } catch (error) {
    if (!(error instanceof KubeconfigError)) return String(error);
    return /[\n\r]/.test(error.message) || error.message.includes(secret) || error.message.length > 4096
      ? error.message
      : "refused";
  }
}

describe("a kubeconfig", () => {
  test("in order is read, so that each refusal has its cause", async () => {
    expect(await reading(good)).toBe("read");
  });

  test("with any damage is read or refused in one line, without its token", async () => {
    await fc.assert(
      fc.asyncProperty(damaged(good), async (text) => {
        expect(["read", "refused"]).toContain(await reading(text));
      }),
      runs,
    );
  });

  test.each([
    ["nothing", ""],
    ["NULs", "\0".repeat(1000)],
    ["an alias bomb", `a: &a [x,x,x,x]\nb: &b [*a,*a,*a,*a]\nc: [*b,*b,*b,*b]\n${good}`],
    ["lists a hundred thousand deep", "[".repeat(100_000)],
    ["dashes a hundred thousand deep", "- ".repeat(100_000)],
    ["ten megabytes", `${good}#${"x".repeat(10 << 20)}`],
    ["two documents", `${good}---\n${good}`],
    ["a server that is none", good.replace("https://hub.example:6443", "javascript:alert(1)")],
    ["a server without TLS", good.replace("https://", "http://")],
    ["a server with a password", good.replace("hub.example", "user:secret@hub.example")],
    ["a CA that is none", good.replace(/certificate-authority-data: .*/, "certificate-authority-data: aGVsbG8=")],
    ["a plugin", good.replace(/token: .*/, "exec: {command: /bin/sh, args: [-c, id]}")],
  ])("with %s is refused", async (_name, text) => {
    expect(await reading(text)).toBe("refused");
  });
});

describe("cluster-info", () => {
  const token = requireToken(`abcdef.${secret}`);
  const kubeconfig = clusterInfoKubeconfig({ server: "https://hub.example:6443", caPem: ca.pem });
  const jws = detachedJws(kubeconfig, token);
  const verdict = (text: string, signature: string): string =>
    verifyClusterInfo({ data: { kubeconfig: text, [signatureKey(token.id)]: signature }, token, pins: "unsafe-skip" })
      .kind;

  test("as it was signed is verified", () => {
    expect(verdict(kubeconfig, jws)).toBe("verified");
  });

  test("with any damage to the text is refused", () => {
    fc.assert(
      fc.property(damaged(kubeconfig), (text) => {
        fc.pre(text !== kubeconfig);
        expect(verdict(text, jws)).toBe("refused");
      }),
      runs,
    );
  });

  test("with any damage to the signature is refused", () => {
    fc.assert(
      fc.property(damaged(jws), (signature) => {
        fc.pre(signature !== jws);
        expect(verdict(kubeconfig, signature)).toBe("refused");
      }),
      runs,
    );
  });

  test("that is signed, but damaged before, is verified or refused, and never throws", () => {
    fc.assert(
      fc.property(damaged(kubeconfig), (text) => {
        expect(["verified", "refused"]).toContain(verdict(text, detachedJws(text, token)));
      }),
      runs,
    );
  });
});
