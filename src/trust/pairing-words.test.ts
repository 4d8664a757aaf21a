import { generateKeyPairSync } from "node:crypto";
import { describe, expect, it } from "vitest";
import { pairingWords, sameWords } from "./pairing-words.ts";
import { provePossession, provesPossession } from "./possession.ts";

const facts = { name: "vm-1", uid: "u-1", fingerprint: "SHA256:abc", caPin: `sha256:${"0".repeat(64)}` };

describe("pairing words", () => {
  it("are six, and the same for the same facts", async () => {
    const words = await pairingWords(facts);
    expect(words).toHaveLength(6);
    expect(words.every((word) => /^[a-z]{3,8}$/.test(word))).toBe(true);
    expect(await pairingWords({ ...facts })).toEqual(words);
  });

  it.each([
    ["name", "vm-2"],
    ["uid", "u-2"],
    ["fingerprint", "SHA256:abd"],
    ["caPin", `sha256:${"1".repeat(64)}`],
  ])("differ where the %s differs", async (field, value) => {
    expect(await pairingWords({ ...facts, [field]: value })).not.toEqual(await pairingWords(facts));
  });

  it("do not join parts of two facts to the same words", async () => {
    const moved = { ...facts, name: 'vm-1","u-1', uid: "" };
    expect(await pairingWords(moved)).not.toEqual(await pairingWords(facts));
  });

  it("compare however they are typed, and only whole", async () => {
    const words = await pairingWords(facts);
    expect(sameWords(words, words.join("-").toUpperCase())).toBe(true);
    expect(sameWords(words, `  ${words.join("  ")} `)).toBe(true);
    expect(sameWords(words, words.slice(0, 5).join(" "))).toBe(false);
    expect(sameWords(words, words.toReversed().join(" "))).toBe(false);
    expect(sameWords(words, "")).toBe(false);
  });
});

describe("a proof of possession", () => {
  const pairs = {
    rsa: generateKeyPairSync("rsa", { modulusLength: 2048 }),
    p256: generateKeyPairSync("ec", { namedCurve: "P-256" }),
    ed25519: generateKeyPairSync("ed25519"),
  } as const;
  const { uid: _uid, ...said } = facts;

  it.each(["rsa", "p256", "ed25519"] as const)("by a %s key counts for its facts alone", (kind) => {
    const { privateKey, publicKey: key } = pairs[kind];
    const proof = provePossession(privateKey, kind, said);
    expect(provesPossession({ key, kind }, said, proof)).toBe(true);
    expect(provesPossession({ key, kind }, { ...said, name: "vm-2" }, proof)).toBe(false);
    expect(provesPossession({ key, kind }, { ...said, caPin: "sha256:1" }, proof)).toBe(false);
    expect(provesPossession({ key, kind }, { ...said, fingerprint: "SHA256:x" }, proof)).toBe(false);
    for (const bad of ["", "AAAA", `${proof}AAAA`]) expect(provesPossession({ key, kind }, said, bad)).toBe(false);
  });
});
