import { celFunction, libraryType, type CelFunction } from "../cel/environment.ts";
import { passCost } from "../cel/sizes.ts";
import { celFailure, isCelFailure, type CelFailure, type CelOpaque, type CelValue } from "../cel/values.ts";
import { cidrContainsCidr, cidrContainsIp, formatCidr, maskedCidr, parseCidr, type Cidr } from "./cidr.ts";
import {
  formatIp,
  isGlobalUnicast,
  isLinkLocalMulticast,
  isLinkLocalUnicast,
  isLoopback,
  isUnspecified,
  parseIp,
  type IpAddress,
} from "./ip-address.ts";

const ip = libraryType<IpAddress>("net.IP", (one, other) => one.family === other.family && one.value === other.value);
const cidr = libraryType<Cidr>("net.CIDR", (one, other) => formatCidr(one) === formatCidr(other));

/** Addresses and networks: `ip('::1')`, `cidr('10.0.0.0/8')` and their functions. Source: apiserver cel/library ip, cidr. */
export const networkFunctions: readonly CelFunction[] = [
  celFunction("ip(string): net.IP", readIp, passCost),
  celFunction("isIP(string): bool", (text: string) => "ip" in parseIp(text), passCost),
  celFunction(
    "ip.isCanonical(string): bool",
    (text: string) => {
      const parsed = parseIp(text);
      return "problem" in parsed ? celFailure(parsed.problem) : formatIp(parsed.ip) === text;
    },
    (text: string) => Math.ceil(text.length * 0.2),
  ),
  ofIp("string(net.IP): string", formatIp),
  ofCidr("string(net.CIDR): string", formatCidr),
  ofIp("<net.IP>.family(): int", ({ family }) => family),
  ofIp("<net.IP>.isUnspecified(): bool", isUnspecified),
  ofIp("<net.IP>.isLoopback(): bool", isLoopback),
  ofIp("<net.IP>.isLinkLocalMulticast(): bool", isLinkLocalMulticast),
  ofIp("<net.IP>.isLinkLocalUnicast(): bool", isLinkLocalUnicast),
  ofIp("<net.IP>.isGlobalUnicast(): bool", isGlobalUnicast),
  celFunction("cidr(string): net.CIDR", readCidr, passCost),
  celFunction("isCIDR(string): bool", (text: string) => "cidr" in parseCidr(text), passCost),
  ofCidr("<net.CIDR>.ip(): net.IP", (one) => ip.wrap(one.ip)),
  ofCidr("<net.CIDR>.prefixLength(): int", ({ bits }) => bits),
  ofCidr("<net.CIDR>.masked(): net.CIDR", (one) => cidr.wrap(maskedCidr(one))),
  ...contains("containsIP", {
    type: "net.IP",
    read: readIp,
    answer: (one, other) => cidrContainsIp(one, ip.unwrap(other)),
    extra: () => 0,
  }),
  ...contains("containsCIDR", {
    type: "net.CIDR",
    read: readCidr,
    answer: (one, other) => cidrContainsCidr(one, cidr.unwrap(other)),
    extra: (bytes) => Math.ceil(bytes * 0.1) + 1,
  }),
];

function readIp(text: string): CelOpaque | CelFailure {
  const parsed = parseIp(text);
  return "problem" in parsed ? celFailure(parsed.problem) : ip.wrap(parsed.ip);
}

function readCidr(text: string): CelOpaque | CelFailure {
  const parsed = parseCidr(text);
  return "problem" in parsed
    ? celFailure(`network address parse error during conversion from string: ${parsed.problem}`)
    : cidr.wrap(parsed.cidr);
}

function ofIp(signature: string, answer: (one: IpAddress) => CelValue): CelFunction {
  return celFunction(signature, (one: CelOpaque) => answer(ip.unwrap(one)));
}

function ofCidr(signature: string, answer: (one: Cidr) => CelValue): CelFunction {
  return celFunction(signature, (one: CelOpaque) => answer(cidr.unwrap(one)));
}

interface Containment {
  readonly type: string;
  readonly read: (text: string) => CelOpaque | CelFailure;
  readonly answer: (one: Cidr, other: CelOpaque) => boolean;
  /** The charge beyond comparing bytes, from the bytes that the prefix covers. */
  readonly extra: (bytes: number) => number;
}

/** Whether a network contains an address or network, as a value or as text. */
function contains(name: string, { type, read, answer, extra }: Containment): readonly CelFunction[] {
  const cost = (one: CelOpaque): number => {
    const bytes = Math.ceil(cidr.unwrap(one).bits / 8);
    return Math.ceil(bytes * 0.2) + extra(bytes);
  };
  return [
    celFunction(
      `<net.CIDR>.${name}(string): bool`,
      (one: CelOpaque, text: string) => {
        const other = read(text);
        return isCelFailure(other) ? other : answer(cidr.unwrap(one), other);
      },
      (one: CelOpaque, text: string) => cost(one) + passCost(text),
    ),
    celFunction(
      `<net.CIDR>.${name}(${type}): bool`,
      (one: CelOpaque, other: CelOpaque) => answer(cidr.unwrap(one), other),
      cost,
    ),
  ];
}
