import { isUtf8 } from "node:buffer";
import {
  childrenOf,
  contentOf,
  DerError,
  expectNode,
  latin1,
  rawOf,
  readOid,
  sequenceOf,
  tags,
  type DerNode,
  parseDer,
} from "./der.ts";
import { derElement, derOid, derSequence } from "./der-writer.ts";
import { oids } from "./oids.ts";

/** One attribute of a name. `text` is undefined where the value is not one of the supported string types. */
export interface NameAttribute {
  readonly oid: string;
  readonly text: string | undefined;
  /** The value with its header. */
  readonly raw: Uint8Array;
}

/** A name as it was encoded, and its relative names in order; strings in it are valid and free of control characters. */
export interface DistinguishedName {
  readonly raw: Uint8Array;
  readonly rdns: readonly (readonly NameAttribute[])[];
}

/** The user of a certificate: CN is the user name, each O a group, in order. An absent CN is `""`. */
export interface Subject {
  readonly commonName: string;
  readonly organizations: readonly string[];
}

const maxAttributes = 64;
const maxValueBytes = 1024;

/**
 * Reads a Name that `parseDer` has already checked.
 * @throws DerError when it is malformed, or a string in it is empty, longer than 1024 bytes, not valid in its own
 * encoding, or holds NUL or another control character
 * @see RFC 5280 section 4.1.2.4
 */
export function parseName(node: DerNode | undefined, what: string): DistinguishedName {
  const name = expectNode(node, tags.sequence, what);
  let count = 0;
  const rdns = childrenOf(name).map((set) => {
    const attributes = childrenOf(expectNode(set, tags.set, `${what}: a relative name`));
    count += attributes.length;
    if (attributes.length === 0 || count > maxAttributes) {
      throw new DerError("value", `${what} has an empty relative name or more than ${maxAttributes} attributes`);
    }
    return attributes.map((attribute) => parseAttribute(attribute, what));
  });
  return { raw: rawOf(name), rdns };
}

/**
 * User and groups of a name.
 * @throws DerError when the CN is repeated (which one counts would be a guess) or CN or O is not text
 */
export function subjectOf(name: DistinguishedName, what: string): Subject {
  const commonNames = attributeTexts(name, oids.commonName, what);
  if (commonNames.length > 1) throw new DerError("value", `${what} has more than one common name`);
  return { commonName: commonNames[0] ?? "", organizations: attributeTexts(name, oids.organization, what) };
}

/**
 * The texts of all attributes of one kind, in order.
 * @throws DerError when one of them is not text
 */
export function attributeTexts(name: DistinguishedName, oid: string, what: string): readonly string[] {
  return name.rdns.flat().flatMap((attribute) => {
    if (attribute.oid !== oid) return [];
    if (attribute.text === undefined) {
      throw new DerError("value", `${what}: attribute ${oid} is not of an accepted string type`);
    }
    return [attribute.text];
  });
}

/**
 * The DER of a Name with one relative name per organization, then the common name; an empty common name is left out.
 * @throws DerError when `parseName` would reject a text
 */
export function buildName(subject: Subject): Uint8Array {
  const rdns = subject.organizations.map((one) => buildRdn(oids.organization, one));
  if (subject.commonName !== "") rdns.push(buildRdn(oids.commonName, subject.commonName));
  return derSequence(...rdns);
}

function parseAttribute(node: DerNode, what: string): NameAttribute {
  const [type, value, extra] = sequenceOf(node, `${what}: an attribute`);
  const oid = readOid(type, `${what}: an attribute type`);
  if (value === undefined || extra !== undefined) {
    throw new DerError("value", `${what}: attribute ${oid} must have exactly one value`);
  }
  return { oid, text: readText(value, `${what}: attribute ${oid}`), raw: rawOf(value) };
}

function readText(node: DerNode, what: string): string | undefined {
  const text = decodeText(node.tag, contentOf(node), what);
  if (text !== undefined) checkText(text, what);
  return text;
}

function decodeText(tag: number, content: Uint8Array, what: string): string | undefined {
  switch (tag) {
    case tags.utf8String:
      if (!isUtf8(content)) throw new DerError("value", `${what} is not valid UTF-8`);
      return Buffer.from(content).toString("utf8");
    case tags.printableString:
      return restricted(content, printable, what);
    case tags.ia5String:
      return restricted(content, ascii, what);
    case tags.numericString:
      return restricted(content, /^[0-9 ]*$/, what);
    case tags.bmpString:
      return decodeUcs2(content, what);
    default:
      return undefined;
  }
}

// `*` and `&` are not in the type, but common certificates have them, and Go accepts them too.
const printable = /^[A-Za-z0-9 '()+,\-./:=?*&]*$/;
// oxlint-disable-next-line no-control-regex -- control characters are rejected later, with their own message
const ascii = /^[\x00-\x7f]*$/;

function restricted(content: Uint8Array, allowed: RegExp, what: string): string {
  const text = latin1(content);
  if (!allowed.test(text)) throw new DerError("value", `${what} has a character that its string type does not allow`);
  return text;
}

function decodeUcs2(content: Uint8Array, what: string): string {
  if (content.length % 2 !== 0) throw new DerError("value", `${what} is not a BMPString`);
  const text = Buffer.from(content).swap16().toString("utf16le");
  if (/[\ud800-\udfff]/.test(text)) throw new DerError("value", `${what} is not a BMPString`);
  return text;
}

function checkText(text: string, what: string): void {
  if (text === "" || Buffer.byteLength(text) > maxValueBytes) {
    throw new DerError("value", `${what} must have 1 to ${maxValueBytes} bytes`);
  }
  // oxlint-disable-next-line no-control-regex -- finding them is the purpose
  if (/[\u0000-\u001f\u007f-\u009f]/.test(text)) throw new DerError("value", `${what} has a control character`);
}

function buildRdn(oid: string, text: string): Uint8Array {
  checkText(text, `attribute ${oid}`);
  if (/\p{Surrogate}/u.test(text)) throw new DerError("value", `attribute ${oid} is not well-formed text`);
  const tag = /^[A-Za-z0-9 '()+,\-./:=?]*$/.test(text) ? tags.printableString : tags.utf8String;
  return derElement(tags.set, derSequence(derOid(oid), derElement(tag, Buffer.from(text, "utf8"))));
}

/** Whether an encoded subject holds nothing but organizations and a common name. */
export function isPlainSubject(rawSubject: Uint8Array): boolean {
  try {
    const { rdns } = parseName(parseDer(rawSubject), "subject");
    return rdns.flat().every(({ oid }) => oid === oids.organization || oid === oids.commonName);
  } catch (error) {
    if (error instanceof DerError) return false;
    throw error;
  }
}
