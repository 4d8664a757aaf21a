import { oids } from "./oids.ts";

/** The encoding of a usage of the Kubernetes API in a certificate: one bit of KeyUsage or one purpose of ExtKeyUsage. */
export type UsageMeaning = { readonly keyUsageBit: number } | { readonly purpose: string };

/** Bits of the KeyUsage extension. Source: RFC 5280 section 4.2.1.3. */
export const keyUsageBits = {
  digitalSignature: 0,
  contentCommitment: 1,
  keyEncipherment: 2,
  dataEncipherment: 3,
  keyAgreement: 4,
  keyCertSign: 5,
  crlSign: 6,
  encipherOnly: 7,
  decipherOnly: 8,
} as const;

/** The 23 usages of certificates.k8s.io/v1 and their meaning; purposes are in their order in certificates. Source: Kubernetes api/certificates/v1. */
export const usageMeanings: ReadonlyMap<string, UsageMeaning> = new Map<string, UsageMeaning>([
  ["signing", { keyUsageBit: keyUsageBits.digitalSignature }],
  ["digital signature", { keyUsageBit: keyUsageBits.digitalSignature }],
  ["content commitment", { keyUsageBit: keyUsageBits.contentCommitment }],
  ["key encipherment", { keyUsageBit: keyUsageBits.keyEncipherment }],
  ["key agreement", { keyUsageBit: keyUsageBits.keyAgreement }],
  ["data encipherment", { keyUsageBit: keyUsageBits.dataEncipherment }],
  ["cert sign", { keyUsageBit: keyUsageBits.keyCertSign }],
  ["crl sign", { keyUsageBit: keyUsageBits.crlSign }],
  ["encipher only", { keyUsageBit: keyUsageBits.encipherOnly }],
  ["decipher only", { keyUsageBit: keyUsageBits.decipherOnly }],
  ["any", { purpose: oids.anyExtendedKeyUsage }],
  ["server auth", { purpose: oids.serverAuth }],
  ["client auth", { purpose: oids.clientAuth }],
  ["code signing", { purpose: "1.3.6.1.5.5.7.3.3" }],
  ["email protection", { purpose: "1.3.6.1.5.5.7.3.4" }],
  ["s/mime", { purpose: "1.3.6.1.5.5.7.3.4" }],
  ["ipsec end system", { purpose: "1.3.6.1.5.5.7.3.5" }],
  ["ipsec tunnel", { purpose: "1.3.6.1.5.5.7.3.6" }],
  ["ipsec user", { purpose: "1.3.6.1.5.5.7.3.7" }],
  ["timestamping", { purpose: "1.3.6.1.5.5.7.3.8" }],
  ["ocsp signing", { purpose: "1.3.6.1.5.5.7.3.9" }],
  ["microsoft sgc", { purpose: "1.3.6.1.4.1.311.10.3.3" }],
  ["netscape sgc", { purpose: "2.16.840.1.113730.4.1" }],
]);

/** Every usage that the API accepts, in the API's order. */
export function knownUsages(): readonly string[] {
  return [...usageMeanings.keys()];
}

/** KeyUsage bits and ExtKeyUsage purposes of a list of usages, each once, purposes in the order of the table; undefined with the first unknown usage in `unknown`. */
export function meaningOfUsages(
  usages: readonly string[],
):
  | { readonly kind: "known"; readonly bits: ReadonlySet<number>; readonly purposes: readonly string[] }
  | { readonly kind: "unknown"; readonly usage: string } {
  const bits = new Set<number>();
  const wanted = new Set<string>();
  for (const usage of usages) {
    const meaning = usageMeanings.get(usage);
    if (meaning === undefined) return { kind: "unknown", usage };
    if ("purpose" in meaning) {
      wanted.add(meaning.purpose);
    } else {
      bits.add(meaning.keyUsageBit);
    }
  }
  // Several usages may mean one purpose, so purposes are collected once, in the table's order.
  const purposes: string[] = [];
  for (const meaning of usageMeanings.values()) {
    if ("purpose" in meaning && wanted.delete(meaning.purpose)) purposes.push(meaning.purpose);
  }
  return { kind: "known", bits, purposes };
}
