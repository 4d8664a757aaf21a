import { cidrContainsCidr, cidrContainsIp, parseCidr, type Cidr } from "../kubernetes/cidr.ts";
import { parseIp, type IpAddress } from "../kubernetes/ip-address.ts";
import { builtin, failed, type Builtin, type CallPlace } from "./builtin.ts";
import { entriesOfValue } from "./documents.ts";
import { charge } from "./limits.ts";
import { arrayOf, setOf, type RegoValue } from "./values.ts";

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
  /** By what it is told which one matched: its key or position, or itself. */
  readonly name: RegoValue;
}

/** Networks and addresses in a collection, each alone or as the first of an array. */
function namedIn(value: RegoValue, operand: number, place: CallPlace): readonly Named[] {
  if (typeof value === "string") return [{ text: value, name: value }];
  return [...entriesOfValue(value)].map(([name, member]) => {
    const isArray = typeof member === "object" && member !== null && member.kind === "array";
    const text = isArray ? member.items[0] : member;
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
