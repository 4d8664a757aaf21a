import { childrenOf, contentOf, DerError, expectNode, latin1, parseDer, tags, type DerNode } from "./der.ts";
import { derElement, derSequence } from "./der-writer.ts";
import { ipAddressBytes, ipAddressText } from "./ip-address.ts";

/** The alternative names of a certificate or request, in order within each kind. `others` counts names of other kinds. */
export interface SubjectAltNames {
  readonly dns: readonly string[];
  /** Addresses as text, IPv6 in the form of RFC 5952. */
  readonly ip: readonly string[];
  readonly email: readonly string[];
  readonly uri: readonly string[];
  readonly others: number;
}

/** Alternative names to write. */
export interface SubjectAltNameInput {
  readonly dns?: readonly string[];
  readonly ip?: readonly string[];
}

/** No names at all. */
export const noSubjectAltNames: SubjectAltNames = { dns: [], ip: [], email: [], uri: [], others: 0 };

const maxNames = 256;
const dnsName =
  /^(?=.{1,253}$)(?:\*\.)?(?:[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?)(?:\.[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?)*$/;
const emailName = /^[\x21-\x3f\x41-\x7e]{1,64}@[A-Za-z0-9.-]{1,255}$/;
const uriName = /^(?=.{1,2048}$)[A-Za-z][A-Za-z0-9+.-]*:[\x21\x23-\x3b\x3d\x3f-\x5b\x5d\x5f\x61-\x7a\x7e]+$/;

/**
 * Reads the value of a subjectAltName extension: 1 to 256 names.
 * @throws DerError when it is malformed, or a DNS, e-mail, URI or IP name is not one (NUL, blanks, wrong length)
 * @see RFC 5280 section 4.2.1.6
 */
export function parseSubjectAltNames(value: Uint8Array): SubjectAltNames {
  const nodes = childrenOf(expectNode(parseDer(value), tags.sequence, "subjectAltName"));
  if (nodes.length === 0 || nodes.length > maxNames) {
    throw new DerError("value", `subjectAltName must hold 1 to ${maxNames} names`);
  }
  const dns: string[] = [];
  const ip: string[] = [];
  const email: string[] = [];
  const uri: string[] = [];
  let others = 0;
  for (const node of nodes) {
    switch (node.tag) {
      case 0x81:
        email.push(textName(node, emailName, "e-mail"));
        break;
      case 0x82:
        dns.push(textName(node, dnsName, "DNS"));
        break;
      case 0x86:
        uri.push(textName(node, uriName, "URI"));
        break;
      case 0x87:
        ip.push(ipName(node));
        break;
      default:
        others += 1;
    }
  }
  return { dns, ip, email, uri, others };
}

/**
 * The value of a subjectAltName extension, DNS names first; undefined when there is no name, since an empty one is not allowed.
 * @throws DerError when `parseSubjectAltNames` would reject a name
 */
export function buildSubjectAltNames(names: SubjectAltNameInput): Uint8Array | undefined {
  const dns = (names.dns ?? []).map((name) => {
    if (!dnsName.test(name)) {
      throw new DerError("value", `DNS subjectAltName ${JSON.stringify(name)} is not a host name`);
    }
    return derElement(0x82, Buffer.from(name, "latin1"));
  });
  const ip = (names.ip ?? []).map((name) => {
    const bytes = ipAddressBytes(name);
    if (bytes === undefined) throw new DerError("value", `IP subjectAltName ${JSON.stringify(name)} is not an address`);
    return derElement(0x87, bytes);
  });
  const all = [...dns, ...ip];
  if (all.length > maxNames) throw new DerError("value", `subjectAltName must hold 1 to ${maxNames} names`);
  return all.length === 0 ? undefined : derSequence(...all);
}

function textName(node: DerNode, form: RegExp, kind: string): string {
  const text = latin1(contentOf(node));
  if (!form.test(text)) throw new DerError("value", `a ${kind} subjectAltName is not well-formed`);
  return text;
}

function ipName(node: DerNode): string {
  const text = ipAddressText(contentOf(node));
  if (text === undefined) throw new DerError("value", "an IP subjectAltName must have 4 or 16 bytes");
  return text;
}
