import { maxInt64 } from "../cel/values.ts";
import { cidrContainsCidr, cidrContainsIp, parseCidr, type Cidr } from "../kubernetes/cidr.ts";
import { parseIp, type IpAddress } from "../kubernetes/ip-address.ts";
import { compareSemvers, parseSemver, type Semver } from "../kubernetes/semver.ts";
import { builtin, failed, type Builtin, type CallPlace } from "./builtin.ts";
import { entriesOfValue } from "./documents.ts";
import { readJson, toEscapedJsonText } from "./json.ts";
import { occupy, charge } from "./limits.ts";
import { sizeOf, arrayOf, setOf, isKind, type RegoValue } from "./values.ts";

function parsed(text: string, place: CallPlace): RegoValue {
  occupy(place.state.meter, text.length);
  try {
    return readJson(text);
  } catch (error) {
    if (!(error instanceof SyntaxError) && !(error instanceof RangeError)) throw error;
    throw failed("json.unmarshal: invalid JSON", place);
  }
}

function isJson(text: string, place: CallPlace): boolean {
  occupy(place.state.meter, text.length);
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

function bytesOf(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

function binaryText(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return text;
}

function encoded(text: string): string {
  return btoa(binaryText(bytesOf(text)));
}

function decoded(text: string, place: CallPlace): string {
  const clean = text.replaceAll(/[\r\n]/g, "");
  if (!base64.test(clean)) throw failed("illegal base64 data", place);
  return new TextDecoder().decode(Uint8Array.from(atob(clean), (character) => character.charCodeAt(0)));
}

function urlDecoded(text: string, place: CallPlace): string {
  const standard = text.replaceAll("-", "+").replaceAll("_", "/").replace(/=+$/, "");
  return decoded(standard + "=".repeat((4 - (standard.length % 4)) % 4), place);
}

const urlSafe = (text: string): string => encoded(text).replaceAll("+", "-").replaceAll("/", "_");

/** JSON, base64 and hexadecimal text. */
export const encodingBuiltins: readonly Builtin[] = [
  builtin("json.marshal", ["any"], ([value], { state }) => {
    occupy(state.meter, sizeOf(value));
    return toEscapedJsonText(value);
  }),
  builtin("json.unmarshal", ["string"], ([text], place) => parsed(text, place)),
  builtin("json.is_valid", ["any"], ([text], place) => typeof text === "string" && isJson(text, place)),
  builtin("base64.encode", ["string"], ([text]) => encoded(text)),
  builtin("base64.decode", ["string"], ([text], place) => decoded(text, place)),
  builtin(
    "base64.is_valid",
    ["any"],
    ([text]) => typeof text === "string" && base64.test(text.replaceAll(/[\r\n]/g, "")),
  ),
  builtin("base64url.encode", ["string"], ([text]) => urlSafe(text)),
  builtin("base64url.encode_no_pad", ["string"], ([text]) => urlSafe(text).replaceAll("=", "")),
  builtin("base64url.decode", ["string"], ([text], place) => urlDecoded(text, place)),
  builtin("hex.encode", ["string"], ([text]) =>
    Array.from(bytesOf(text), (byte) => byte.toString(16).padStart(2, "0")).join(""),
  ),
  builtin("hex.decode", ["string"], ([text], place) => {
    const wrong = /[^0-9a-fA-F]/u.exec(text)?.[0];
    if (wrong !== undefined) {
      const code = (wrong.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0");
      throw failed(`encoding/hex: invalid byte: U+${code} '${wrong}'`, place);
    }
    if (text.length % 2 === 1) throw failed("encoding/hex: odd length hex string", place);
    return new TextDecoder().decode(Uint8Array.from(text.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16)));
  }),
];

function networkOf(text: string, place: CallPlace): Cidr {
  const parsed = parseCidr(text);
  if ("problem" in parsed) throw failed(`invalid CIDR address: ${text.slice(0, 64)}`, place);
  return parsed.cidr;
}

function contains([network, other]: readonly [string, string], place: CallPlace): boolean {
  const cidr = networkOf(network, place);
  if (other.includes("/")) return cidrContainsCidr(cidr, networkOf(other, place));
  return cidrContainsIp(cidr, addressOf(other, place));
}

function addressOf(text: string, place: CallPlace): IpAddress {
  const parsed = parseIp(text);
  if ("problem" in parsed) throw failed(`invalid IP address: ${text.slice(0, 64)}`, place);
  return parsed.ip;
}

interface Named {
  readonly text: string;
  /** The identifier of a match in the result: its key or position, or itself. */
  readonly name: RegoValue;
}

/** Networks and addresses in a collection, each alone or as the first of an array. */
function namedIn(value: RegoValue, operand: number, place: CallPlace): readonly Named[] {
  if (typeof value === "string") return [{ text: value, name: value }];
  return [...entriesOfValue(value)].map(([name, member]) => {
    const text = isKind(member, "array") ? member.items[0] : member;
    if (typeof text !== "string") throw failed(`operand ${operand}: element must be string or non-empty array`, place);
    return { text, name };
  });
}

function matches([networks, others]: readonly [RegoValue, RegoValue], place: CallPlace): RegoValue {
  const [all, each] = [namedIn(networks, 1, place), namedIn(others, 2, place)];
  charge(place.state.meter, all.length * each.length);
  return setOf(
    all.flatMap((network) =>
      each
        .filter((other) => contains([network.text, other.text], place))
        .map((other) => arrayOf([network.name, other.name])),
    ),
  );
}

/** Networks. */
export const netBuiltins: readonly Builtin[] = [
  builtin("net.cidr_contains", ["string", "string"], contains),
  builtin("net.cidr_overlap", ["string", "string"], contains),
  builtin("net.cidr_contains_matches", ["any", "any"], matches),
  builtin("net.cidr_intersects", ["string", "string"], ([a, b], place) => {
    const [one, two] = [networkOf(a, place), networkOf(b, place)];
    return cidrContainsIp(one, two.ip) || cidrContainsIp(two, one.ip);
  }),
  builtin("net.cidr_is_valid", ["any"], ([text]) => typeof text === "string" && !("problem" in parseCidr(text))),
];

/** Parses a version of SemVer 2.0.0, with numbers of 64 bits, with or without `v`; undefined where the text is none. */
function versionOf(text: string): Semver | undefined {
  const parsed = text.length > 256 ? undefined : parseSemver(text.replace(/^v/, ""));
  if (parsed === undefined || "problem" in parsed) return undefined;
  const { major, minor, patch } = parsed.version;
  return [major, minor, patch].every((number) => number <= maxInt64) ? parsed.version : undefined;
}

function required(text: string, operand: number, place: CallPlace): Semver {
  const version = versionOf(text);
  if (version === undefined)
    throw failed(`operand ${operand}: string "${text.slice(0, 64)}" is not a valid SemVer`, place);
  return version;
}

/** Versions. */
export const semverBuiltins: readonly Builtin[] = [
  builtin("semver.compare", ["string", "string"], ([a, b], place) =>
    compareSemvers(required(a, 1, place), required(b, 2, place)),
  ),
  builtin("semver.is_valid", ["any"], ([text]) => typeof text === "string" && versionOf(text) !== undefined),
];
