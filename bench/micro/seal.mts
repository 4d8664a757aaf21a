// Answers sealed and opened a second of processor time, on one core, beside the cryptography that each cannot do without.
import { constants, createCipheriv, diffieHellman, generateKeyPairSync, publicEncrypt, randomBytes } from "node:crypto";
import { createCa } from "../../src/pki/ca.ts";
import { generatePrivateKey } from "../../src/pki/keys.ts";
import { sshPublicKeyOf, parseSshPublicKey } from "../../src/pki/ssh-public-key.ts";
import { pairingWords } from "../../src/trust/pairing-words.ts";
import { provePossession, provesPossession } from "../../src/trust/possession.ts";
import { openAnswer, sealAnswer } from "../../src/trust/seal.ts";
import { isQuick, perCpuSecond, print, rounded } from "./measure.mts";

const random = (size: number): Uint8Array => randomBytes(size);
const now = Date.now();
const ca = createCa({ commonName: "bench", key: generatePrivateKey(), now, years: 10, random }).pem;
const answer = { token: randomBytes(700).toString("base64url"), ca };
const binding = JSON.stringify(["access.pratique.dev/v1alpha1", "AccessRequest", "vm-1", "00000000-0000-0000-0000-0"]);
const pairs = {
  rsa: generateKeyPairSync("rsa", { modulusLength: 2048 }),
  p256: generateKeyPairSync("ec", { namedCurve: "P-256" }),
  ed25519: generateKeyPairSync("ed25519"),
} as const;
const peer = generateKeyPairSync("x25519").publicKey;
const oaep = { padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: "sha512" };

function cipher(text: string): Buffer {
  const sealing = createCipheriv("aes-256-gcm", randomBytes(32), randomBytes(12));
  return Buffer.concat([sealing.update(text, "utf8"), sealing.final(), sealing.getAuthTag()]);
}

/** A key of its own and one agreement for each answer; and for RSA one encryption. */
const bare = {
  rsa: () => publicEncrypt({ key: pairs.rsa.publicKey, ...oaep }, randomBytes(32)),
  p256: () => {
    const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    return diffieHellman({ privateKey, publicKey: pairs.p256.publicKey });
  },
  ed25519: () => {
    const { privateKey } = generateKeyPairSync("x25519");
    return diffieHellman({ privateKey, publicKey: peer });
  },
} as const;

const sliceMs = isQuick() ? 50 : 300;
async function measure(kind: string, loads: Readonly<Record<string, () => unknown>>): Promise<void> {
  for (const [name, work] of Object.entries(loads)) {
    print({ bench: "seal", kind, name, perCpuSecond: rounded(await perCpuSecond(work, sliceMs)) });
  }
}

for (const kind of ["rsa", "p256", "ed25519"] as const) {
  const { privateKey: key, publicKey } = pairs[kind];
  const recipient = sshPublicKeyOf(publicKey);
  const sealed = await sealAnswer(recipient, answer, { binding, random });
  const facts = { name: "vm-1", fingerprint: recipient.fingerprint, caPin: "sha256:00" };
  const proof = provePossession(key, kind, facts);
  await measure(kind, {
    seal: () => sealAnswer(recipient, answer, { binding, random }),
    "seal, the bare cryptography": () => [bare[kind](), cipher(answer.token), cipher(answer.ca)],
    open: () => openAnswer({ kind, key }, sealed, binding),
    "read a key": () => parseSshPublicKey(recipient.text),
    "check a proof": () => provesPossession(recipient, facts, proof),
  });
}
const words = { name: "vm-1", uid: "u", fingerprint: "SHA256:x", caPin: "sha256:00" };
await measure("any", { "pairing words": () => pairingWords(words) });
