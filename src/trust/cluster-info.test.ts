import { createHash, randomBytes } from "node:crypto";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createCa } from "../pki/ca.ts";
import { generatePrivateKey } from "../pki/keys.ts";
import { clusterInfoKubeconfig, parseClusterInfo, signClusterInfo, verifyClusterInfo } from "./cluster-info.ts";
import { detachedJws } from "./token.ts";
import { parsePins } from "./pins.ts";

const token = { id: "abcdef", secret: "0123456789abcdef" };
const server = "https://10.0.0.1:6443";
const { pem: ca, pin } = newCa("hub");
const { pem: caOfAttacker } = newCa("attacker");

function newCa(commonName: string): { readonly pem: string; readonly pin: string } {
  return createCa({
    commonName,
    key: generatePrivateKey(),
    now: Date.UTC(2026, 10, 21),
    years: 1,
    random: randomBytes,
  });
}

const signed = (kubeconfig: string): Record<string, string> => ({
  kubeconfig,
  "jws-kubeconfig-abcdef": detachedJws(kubeconfig, token),
});

describe("clusterInfoKubeconfig", () => {
  it("gives the bytes of the worked example", () => {
    const text = clusterInfoKubeconfig({ server, caPem: "CA\n" });
    expect(createHash("sha256").update(text).digest("hex")).toBe(
      "ee6fdc75280ed1cfc19f97a2fd084b0b93ff20df0d2f58693403093b5e268c4e",
    );
  });

  it.each([
    "http://hub:6443",
    "https://",
    "https://hub\nusers: x",
    "https://hub #x",
    "https://hub: x",
    "hub:6443",
    "https://hub:",
  ])("refuses the server %j", (bad) =>
    expect(() => clusterInfoKubeconfig({ server: bad, caPem: "CA\n" })).toThrow(TypeError),
  );

  it("is read back for every host and port", () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.domain(),
          fc.ipV4(),
          fc.ipV6().map((ip) => `[${ip}]`),
        ),
        fc.integer({ min: 1, max: 65_535 }),
        (host, port) => {
          const info = { server: `https://${host}:${port}`, caPem: ca };
          fc.pre(URL.canParse(info.server));
          expect(parseClusterInfo(clusterInfoKubeconfig(info))).toMatchObject({ kind: "parsed", ...info });
        },
      ),
    );
  });
});

describe("parseClusterInfo", () => {
  it("takes the cluster of the current context where none is without a name", () => {
    const data = Buffer.from(ca).toString("base64");
    const text = JSON.stringify({
      "current-context": "b",
      contexts: [
        { name: "a", context: { cluster: "x" } },
        { name: "b", context: { cluster: "y" } },
      ],
      clusters: [
        { name: "x", cluster: { server: "https://x", "certificate-authority-data": data } },
        { name: "y", cluster: { server: "https://y", "certificate-authority-data": data } },
      ],
    });
    expect(parseClusterInfo(text)).toMatchObject({ kind: "parsed", server: "https://y" });
  });

  it.each([
    ["unparseable", "just text"],
    ["unparseable", "- a list"],
    ["unparseable", "[".repeat(50_000)],
    ["unparseable", "clusters: []\nclusters: []\n"],
    ["no-cluster", "apiVersion: v1\nkind: Config\n"],
    ["no-cluster", "clusters: null\n"],
    ["no-cluster", "clusters: [{name: a, cluster: {server: https://a}}]\n"],
    ["no-cluster", '__proto__: {clusters: [{name: "", cluster: {server: https://a}}]}\n'],
    ["bad-server", 'clusters: [{name: "", cluster: {}}]\n'],
    ["bad-server", 'clusters: [{name: "", cluster: {server: "http://a"}}]\n'],
    ["bad-ca", 'clusters: [{name: "", cluster: {server: "https://a"}}]\n'],
    ["bad-ca", clusterInfoKubeconfig({ server, caPem: "CA\n" })],
  ] as const)("says %s", (code, text) => expect(parseClusterInfo(text)).toMatchObject({ kind: "refused", code }));

  it("never throws", () => {
    const piece = fc.constantFrom(
      "clusters:",
      "\n",
      "- ",
      "  ",
      'name: ""',
      "cluster:",
      "{",
      "}",
      "[",
      "]",
      "server: https://a",
      "&a",
      "*a",
      "\u0000",
    );
    const text = fc.oneof(
      fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join("")),
      fc.string({ unit: "binary" }),
    );
    fc.assert(
      fc.property(text, (one) => {
        expect(parseClusterInfo(one).kind).toBe("refused");
      }),
      { numRuns: 200 },
    );
  });
});

describe("signClusterInfo", () => {
  const other = { id: "zzzzzz", secret: "fedcba9876543210" };

  it("signs for each token, drops signatures of others, and keeps the rest", () => {
    const data = { kubeconfig: "k\n", other: "o", "jws-kubeconfig-gone00": "x", "jws-kubeconfig-": "y" };
    expect(signClusterInfo(data, [token, other])).toEqual({
      kubeconfig: "k\n",
      other: "o",
      "jws-kubeconfig-abcdef": detachedJws("k\n", token),
      "jws-kubeconfig-zzzzzz": detachedJws("k\n", other),
    });
  });

  it("is at rest once it has signed", () => {
    const tokens = [token, other];
    const once = signClusterInfo({ kubeconfig: "k\n" }, tokens);
    expect(once).toBeDefined();
    expect(signClusterInfo(once ?? {}, tokens)).toBeUndefined();
    expect(signClusterInfo(once ?? {}, [other])).toEqual({
      kubeconfig: "k\n",
      "jws-kubeconfig-zzzzzz": detachedJws("k\n", other),
    });
  });

  it("repairs a signature that somebody changed", () => {
    const data = { kubeconfig: "k\n", "jws-kubeconfig-abcdef": "forged" };
    expect(signClusterInfo(data, [token])).toEqual(signed("k\n"));
  });

  it("takes the first of two tokens with one id", () => {
    expect(signClusterInfo({ kubeconfig: "k\n" }, [token, { id: "abcdef", secret: "x" }])).toEqual(signed("k\n"));
  });

  it("does nothing without a kubeconfig", () => {
    expect(signClusterInfo({ "jws-kubeconfig-abcdef": "x" }, [token])).toBeUndefined();
    expect(signClusterInfo({}, [token])).toBeUndefined();
  });

  it("keeps a key named __proto__", () => {
    const data = JSON.parse('{"kubeconfig": "k", "__proto__": "p"}') as Record<string, string>;
    expect(Object.keys(signClusterInfo(data, [token]) ?? {})).toContain("__proto__");
  });
});

describe("verifyClusterInfo", () => {
  const verify = (data: Record<string, unknown> | undefined, allowed: string[] | "unsafe-skip" = [pin]) =>
    verifyClusterInfo({ data, token, pins: allowed === "unsafe-skip" ? allowed : parsePins(allowed) });

  it("gives server, CA and the signed text", () => {
    const kubeconfig = clusterInfoKubeconfig({ server, caPem: ca });
    expect(verify(signed(kubeconfig))).toEqual({ kind: "verified", kubeconfig, server, caPem: ca, pinnedCaPem: ca });
    expect(verify(signed(kubeconfig), "unsafe-skip")).toMatchObject({ kind: "verified", pinnedCaPem: "" });
  });

  it("says what is wrong", () => {
    const kubeconfig = clusterInfoKubeconfig({ server, caPem: ca });
    const good = signed(kubeconfig);
    expect(verify(undefined)).toMatchObject({ code: "no-kubeconfig" });
    expect(verify({ ...good, kubeconfig: "" })).toMatchObject({ code: "no-kubeconfig" });
    expect(verify({ ...good, kubeconfig: 7 })).toMatchObject({ code: "no-kubeconfig" });
    expect(verify({ kubeconfig })).toMatchObject({ code: "no-signature" });
    expect(verify({ ...good, "jws-kubeconfig-abcdef": null })).toMatchObject({ code: "no-signature" });
    expect(verify(signed("]"))).toMatchObject({ code: "unparseable" });
    expect(verify(signed("kind: Config\n"))).toMatchObject({ code: "no-cluster" });
    expect(verify(good, [`sha256:${"0".repeat(64)}`])).toMatchObject({ code: "pin-mismatch" });
  });

  it("never tells the token's secret", () => {
    const answers = [
      verify(undefined),
      verify({ kubeconfig: "x" }),
      verify({ kubeconfig: "x", "jws-kubeconfig-abcdef": "y" }),
    ];
    expect(answers.every((answer) => answer.kind === "refused" && !answer.message.includes(token.secret))).toBe(true);
  });

  describe("man in the middle", () => {
    it("refuses a kubeconfig that was changed after signing, by one byte", () => {
      const kubeconfig = clusterInfoKubeconfig({ server, caPem: ca });
      const good = signed(kubeconfig);
      for (const changed of [kubeconfig.trimEnd(), `${kubeconfig}\n`, kubeconfig.replace("10.0.0.1", "10.0.0.2")]) {
        expect(verify({ ...good, kubeconfig: changed })).toMatchObject({ code: "bad-signature" });
      }
    });

    it("refuses the signature of another token put under this token's key", () => {
      const kubeconfig = clusterInfoKubeconfig({ server, caPem: caOfAttacker });
      const data = {
        kubeconfig,
        "jws-kubeconfig-abcdef": detachedJws(kubeconfig, { id: "attack", secret: token.secret }),
      };
      expect(verify(data)).toMatchObject({ code: "bad-signature" });
    });

    it("refuses another CA, although whoever sent it knows the token", () => {
      expect(verify(signed(clusterInfoKubeconfig({ server, caPem: caOfAttacker })))).toMatchObject({
        code: "pin-mismatch",
      });
    });

    it("does not count another CA beside the pinned one as pinned", () => {
      const bundle = signed(clusterInfoKubeconfig({ server, caPem: caOfAttacker + ca }));
      expect(verify(bundle)).toMatchObject({ kind: "verified", pinnedCaPem: ca });
    });

    it("takes an empty list of pins for a mismatch, not for no check", () => {
      expect(verify(signed(clusterInfoKubeconfig({ server, caPem: ca })), [])).toMatchObject({ code: "pin-mismatch" });
    });
  });
});
