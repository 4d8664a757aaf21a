import { dnsSubdomainProblems } from "../../apimachinery/names.ts";
import { ipAddressBytes, ipAddressText } from "../../pki/ip-address.ts";
import { JoinError, plainText } from "../../credentials/join-error.ts";
import type { ServingWish } from "../join/join-folder.ts";
import type { ServingNames } from "../../credentials/request/certificate-request.ts";

/** The present addresses of the machine's interfaces as text. */
export type MachineAddresses = () => readonly string[];

const maxNames = 32;

/** The names of a serving certificate: those of the command line, else the machine's own addresses; undefined while there is none. */
export function servingNamesOf(wish: ServingWish, addresses: MachineAddresses): () => ServingNames | undefined {
  return () => {
    const given = wish.names.length + wish.addresses.length > 0;
    const ip = given ? wish.addresses : usableAddresses(addresses());
    return wish.names.length + ip.length === 0 ? undefined : { dns: wish.names, ip };
  };
}

/** Addresses that other machines can reach, each once, sorted: no loopback, link-local or multicast address. */
export function usableAddresses(texts: readonly string[]): readonly string[] {
  const usable = texts.flatMap((text) => {
    const bytes = ipAddressBytes(text);
    const canonical = bytes === undefined || isSpecial(bytes) ? undefined : ipAddressText(bytes);
    return canonical === undefined ? [] : [canonical];
  });
  return [...new Set(usable)].toSorted().slice(0, maxNames);
}

function isSpecial(bytes: Uint8Array): boolean {
  const [first = 0, second = 0] = bytes;
  if (bytes.length === 4) return [0, 127].includes(first) || first >= 224 || (first === 169 && second === 254);
  const isLow = bytes.subarray(0, 10).every((byte) => byte === 0);
  return isLow || first === 0xff || (first === 0xfe && (second & 0x80) === 0x80);
}

/** The names of the command line. @throws JoinError bad-node-name */
export function servingWish(given: {
  readonly names: readonly string[];
  readonly addresses: readonly string[];
}): ServingWish {
  const names = given.names.map((name) => {
    if (dnsSubdomainProblems(name).length > 0) throw wrong("--serving-name", name, "DNS name in lower case");
    return name;
  });
  const addresses = given.addresses.map((text) => {
    const bytes = ipAddressBytes(text);
    const canonical = bytes === undefined ? undefined : ipAddressText(bytes);
    if (bytes === undefined || canonical === undefined) throw wrong("--serving-address", text, "address");
    if (isSpecial(bytes)) {
      throw new JoinError(
        "bad-node-name",
        `--serving-address ${canonical} is a loopback, link-local, multicast or unspecified address, for which no serving certificate is approved: give an address at which other machines reach this one, or none, and the addresses of its interfaces are used`,
      );
    }
    return canonical;
  });
  if (names.length + addresses.length > maxNames) {
    throw new JoinError("bad-node-name", `a serving certificate may have ${maxNames} names and addresses at most`);
  }
  return { names: [...new Set(names)], addresses: [...new Set(addresses)] };
}

function wrong(option: string, text: string, what: string): JoinError {
  return new JoinError(
    "bad-node-name",
    `${option} ${JSON.stringify(plainText(text, 100))} is no ${what} to serve under`,
  );
}
