import { cidrContainsCidr, cidrContainsIp, parseCidr, type Cidr } from "../kubernetes/cidr.ts";
import { parseIp, type IpAddress } from "../kubernetes/ip-address.ts";
import { builtin, failed, type Builtin, type CallPlace } from "./builtin.ts";

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

/** Networks. */
export const netBuiltins: readonly Builtin[] = [
  builtin("net.cidr_contains", ["string", "string"], contains),
  builtin("net.cidr_intersects", ["string", "string"], ([a, b], place) => {
    const [one, two] = [networkOf(a, place), networkOf(b, place)];
    return cidrContainsIp(one, two.ip) || cidrContainsIp(two, one.ip);
  }),
  builtin("net.cidr_is_valid", ["any"], ([text]) => typeof text === "string" && !("problem" in parseCidr(text))),
];
