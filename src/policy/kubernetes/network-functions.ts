import type { CelFunction, CelOverload } from "../cel/environment.ts";
import { boolType, intType, stringType, type CelType } from "../cel/types.ts";
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
import { libraryType } from "./library-type.ts";
import { textCost } from "./text-cost.ts";

const ip = libraryType<IpAddress>("net.IP", (one, other) => one.family === other.family && one.value === other.value);
const cidr = libraryType<Cidr>("net.CIDR", (one, other) => formatCidr(one) === formatCidr(other));

/** Addresses and networks: `ip('::1')`, `cidr('10.0.0.0/8')` and what can be asked of them. Source: apiserver cel/library ip, cidr. */
export const networkFunctions: readonly CelFunction[] = [
  { name: "ip", overloads: [fromText(ip.type, readIp)] },
  { name: "isIP", overloads: [fromText(boolType, (text) => "ip" in parseIp(text))] },
  {
    name: "ip.isCanonical",
    overloads: [
      {
        args: [stringType],
        result: boolType,
        cost: (text: string) => Math.ceil(text.length * 0.2),
        apply: (text: string) => {
          const parsed = parseIp(text);
          return "problem" in parsed ? celFailure(parsed.problem) : formatIp(parsed.ip) === text;
        },
      },
    ],
  },
  { name: "string", overloads: [ofIp(stringType, formatIp), ofCidr(stringType, formatCidr)] },
  { name: "family", member: true, overloads: [ofIp(intType, ({ family }) => family)] },
  { name: "isUnspecified", member: true, overloads: [ofIp(boolType, isUnspecified)] },
  { name: "isLoopback", member: true, overloads: [ofIp(boolType, isLoopback)] },
  { name: "isLinkLocalMulticast", member: true, overloads: [ofIp(boolType, isLinkLocalMulticast)] },
  { name: "isLinkLocalUnicast", member: true, overloads: [ofIp(boolType, isLinkLocalUnicast)] },
  { name: "isGlobalUnicast", member: true, overloads: [ofIp(boolType, isGlobalUnicast)] },
  { name: "cidr", overloads: [fromText(cidr.type, readCidr)] },
  { name: "isCIDR", overloads: [fromText(boolType, (text) => "cidr" in parseCidr(text))] },
  { name: "ip", member: true, overloads: [ofCidr(ip.type, (one) => ip.wrap(one.ip))] },
  { name: "prefixLength", member: true, overloads: [ofCidr(intType, ({ bits }) => bits)] },
  { name: "masked", member: true, overloads: [ofCidr(cidr.type, (one) => cidr.wrap(maskedCidr(one)))] },
  {
    name: "containsIP",
    member: true,
    overloads: contains({
      type: ip.type,
      read: readIp,
      answer: (one, other) => cidrContainsIp(one, ip.unwrap(other)),
      extra: () => 0,
    }),
  },
  {
    name: "containsCIDR",
    member: true,
    overloads: contains({
      type: cidr.type,
      read: readCidr,
      answer: (one, other) => cidrContainsCidr(one, cidr.unwrap(other)),
      extra: (bytes) => Math.ceil(bytes * 0.1) + 1,
    }),
  },
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

function fromText(result: CelType, apply: (text: string) => CelValue | CelFailure): CelOverload {
  return { args: [stringType], result, cost: textCost, apply };
}

function ofIp(result: CelType, answer: (one: IpAddress) => CelValue): CelOverload {
  return { args: [ip.type], result, apply: (one: CelOpaque) => answer(ip.unwrap(one)) };
}

function ofCidr(result: CelType, answer: (one: Cidr) => CelValue): CelOverload {
  return { args: [cidr.type], result, apply: (one: CelOpaque) => answer(cidr.unwrap(one)) };
}

interface Containment {
  readonly type: CelType;
  readonly read: (text: string) => CelOpaque | CelFailure;
  readonly answer: (one: Cidr, other: CelOpaque) => boolean;
  /** What is charged beyond comparing bytes, from the bytes that the prefix covers. */
  readonly extra: (bytes: number) => number;
}

/** Whether a network contains something, given as a value or as text. */
function contains({ type, read, answer, extra }: Containment): readonly CelOverload[] {
  const cost = (one: CelOpaque): number => {
    const bytes = Math.ceil(cidr.unwrap(one).bits / 8);
    return Math.ceil(bytes * 0.2) + extra(bytes);
  };
  return [
    {
      args: [cidr.type, stringType],
      result: boolType,
      cost: (one: CelOpaque, text: string) => cost(one) + textCost(text),
      apply: (one: CelOpaque, text: string) => {
        const other = read(text);
        return isCelFailure(other) ? other : answer(cidr.unwrap(one), other);
      },
    },
    {
      args: [cidr.type, type],
      result: boolType,
      cost,
      apply: (one: CelOpaque, other: CelOpaque) => answer(cidr.unwrap(one), other),
    },
  ];
}
