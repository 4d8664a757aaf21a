import { celFunction, libraryType, type CelFunction } from "../cel/environment.ts";
import { passCost } from "../cel/sizes.ts";
import { celFailure, type CelOpaque, type CelValue } from "../cel/values.ts";
import { parseAddress } from "./ip-address.ts";
import { truncate } from "../../apimachinery/truncate.ts";

/** The parts of an absolute URI or an absolute path, as Go's net/url sees them. */
export interface GoUrl {
  readonly scheme: string;
  /** With its port; IPv6 in brackets. */
  readonly host: string;
  readonly hostname: string;
  readonly port: string;
  /** Escaped where Go escapes it. */
  readonly path: string;
  /** Each key with all its values, unescaped. Malformed pairs are omitted. */
  readonly query: ReadonlyMap<string, readonly string[]>;
  /** Equal in two URLs that are the same. */
  readonly identity: string;
}

/** A URL, or why the text is invalid. */
export type ParsedUrl = { readonly url: GoUrl } | { readonly problem: string };

/** Reads an absolute URI or an absolute path. Source: Go net/url ParseRequestURI, then Parse; apiserver cel/library urls. */
export function parseGoUrl(text: string): ParsedUrl {
  const whole = partsOf(text);
  if (typeof whole === "string") return { problem: problemOf(text, whole) };
  // The check treats the fragment as part of the preceding text; the result does not.
  const hash = text.indexOf("#");
  if (hash < 0) return { url: urlOf(whole, "") };
  const parts = partsOf(text.slice(0, hash));
  const fragment = unescape(text.slice(hash + 1), "path");
  if (typeof parts === "string") return { problem: problemOf(text, parts) };
  if (fragment === undefined) return { problem: problemOf(text, escapeProblem(text.slice(hash + 1))) };
  return { url: urlOf(parts, text.slice(hash + 1)) };
}

interface Parts {
  readonly scheme: string;
  readonly opaque: string;
  readonly user: string;
  readonly host: string;
  readonly path: string;
  readonly rawQuery: string;
}

function partsOf(text: string): Parts | string {
  // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
  if (/[\u0000-\u001f\u007f]/.test(text)) return "net/url: invalid control character in URL";
  if (text === "") return "empty url";
  if (text === "*") return { ...noParts, path: "*" };
  if (text.startsWith(":")) return "missing protocol scheme";
  const given = /^([A-Za-z][A-Za-z0-9+.-]*):/.exec(text)?.[1];
  const [rest, rawQuery] = cut(given === undefined ? text : text.slice(given.length + 1), "?");
  return hierarchyOf({ ...noParts, scheme: given?.toLowerCase() ?? "", rawQuery }, rest);
}

const noParts: Parts = { scheme: "", opaque: "", user: "", host: "", path: "", rawQuery: "" };

function hierarchyOf(parts: Parts, rest: string): Parts | string {
  if (!rest.startsWith("/")) return parts.scheme === "" ? "invalid URI for request" : { ...parts, opaque: rest };
  if (parts.scheme === "" || !rest.startsWith("//")) return withPath(parts, rest);
  const slash = rest.indexOf("/", 2);
  const authority = authorityOf(slash < 0 ? rest.slice(2) : rest.slice(2, slash));
  if (typeof authority === "string") return authority;
  return withPath({ ...parts, ...authority }, slash < 0 ? "" : rest.slice(slash));
}

function cut(text: string, separator: string): readonly [before: string, after: string] {
  const index = text.indexOf(separator);
  return index < 0 ? [text, ""] : [text.slice(0, index), text.slice(index + 1)];
}

function withPath(parts: Parts, path: string): Parts | string {
  return unescape(path, "path") === undefined ? escapeProblem(path) : { ...parts, path };
}

function authorityOf(authority: string): Pick<Parts, "user" | "host"> | string {
  const at = authority.lastIndexOf("@");
  const user = at < 0 ? "" : authority.slice(0, at);
  const host = hostOf(authority.slice(at + 1));
  if ("problem" in host) return host.problem;
  if (!/^[A-Za-z0-9\-._:~!$&'()*+,;=%@]*$/.test(user)) return "net/url: invalid userinfo";
  return unescape(user, "path") === undefined ? escapeProblem(user) : { user, host: host.host };
}

function hostOf(text: string): { readonly host: string } | { readonly problem: string } {
  const close = text.lastIndexOf("]");
  const bracketed = text.startsWith("[");
  if (bracketed && close < 0) return { problem: "missing ']' in host" };
  const colon = bracketed ? close + 1 : text.indexOf(":");
  const port = colon < 0 ? "" : text.slice(colon);
  if (!/^(?::[0-9]*)?$/.test(port)) return { problem: `invalid port ${JSON.stringify(port)} after host` };
  const unsafe = /[^\u0080-\uffffA-Za-z0-9\-_.~!$&'()*+,;=:[\]<>"%]/.exec(text);
  if (unsafe !== null) return { problem: `invalid character ${JSON.stringify(unsafe[0])} in host name` };
  const bytes = unescape(text, "host");
  if (bytes === undefined) return { problem: escapeProblem(text) };
  const host = decodeUtf8(bytes);
  const isValid = !bracketed || isIpv6(host.slice(1, host.lastIndexOf("]")));
  return isValid ? { host } : { problem: "invalid IPv6 literal" };
}

function isIpv6(text: string): boolean {
  const parsed = parseAddress(text);
  return "ip" in parsed && parsed.ip.family === 6;
}

function urlOf(parts: Parts, fragment: string): GoUrl {
  const { scheme, host, rawQuery } = parts;
  const path = escapedPath(parts.path);
  const [, name = host, port = ""] = /^(.*?):([0-9]*)$/s.exec(host.includes("]") ? "" : host) ?? bracketParts(host);
  return {
    scheme,
    host,
    hostname: name,
    port,
    path,
    query: queryOf(rawQuery),
    identity: JSON.stringify([scheme, parts.opaque, parts.user, host, path, rawQuery, fragment]),
  };
}

function bracketParts(host: string): readonly string[] {
  return /^\[(.*)\](?::([0-9]*))?$/s.exec(host) ?? [];
}

/** The path as written where all its characters are allowed, else re-escaped. */
function escapedPath(path: string): string {
  if (/^[A-Za-z0-9\-_.~!$&'()*+,;=:@/[\]%]*$/.test(path)) return path;
  const bytes = unescape(path, "path") ?? new Uint8Array();
  let result = "";
  for (const byte of bytes) {
    const character = String.fromCodePoint(byte);
    const plain = /[A-Za-z0-9\-_.~$&+,/:;=@]/.test(character);
    result += plain ? character : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  }
  return result;
}

function queryOf(rawQuery: string): ReadonlyMap<string, readonly string[]> {
  const query = new Map<string, string[]>();
  for (const pair of rawQuery.split("&")) {
    if (pair === "" || pair.includes(";")) continue;
    const [rawKey, rawValue] = cut(pair, "=");
    const key = unescape(rawKey, "query");
    const value = unescape(rawValue, "query");
    if (key === undefined || value === undefined) continue;
    const values = query.get(decodeUtf8(key)) ?? [];
    values.push(decodeUtf8(value));
    query.set(decodeUtf8(key), values);
  }
  return query;
}

/** The bytes of an escaped text, or undefined where an escape is malformed or not allowed. */
function unescape(text: string, place: "path" | "host" | "query"): Uint8Array | undefined {
  const bytes = new TextEncoder().encode(text);
  const result = new Uint8Array(bytes.length);
  let length = 0;
  for (let index = 0; index < bytes.length; index += 1) {
    let byte = bytes[index] ?? 0;
    if (byte === 0x25) {
      const escaped = escapedByte(bytes, index);
      if (escaped === undefined || (place === "host" && escaped < 0x80 && escaped !== 0x25)) return undefined;
      byte = escaped;
      index += 2;
    } else if (byte === 0x2b && place === "query") byte = 0x20;
    result[length] = byte;
    length += 1;
  }
  return result.subarray(0, length);
}

function escapedByte(bytes: Uint8Array, index: number): number | undefined {
  const digits = String.fromCodePoint(bytes[index + 1] ?? 0, bytes[index + 2] ?? 0);
  return /^[0-9A-Fa-f]{2}$/.test(digits) ? Number.parseInt(digits, 16) : undefined;
}

function decodeUtf8(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}

function escapeProblem(text: string): string {
  const escape = /%(?![0-9A-Fa-f]{2}).{0,2}/s.exec(text)?.[0] ?? /%../s.exec(text)?.[0] ?? "%";
  return `invalid URL escape ${JSON.stringify(escape)}`;
}

function problemOf(text: string, why: string): string {
  return `parse ${JSON.stringify(truncate(text, 256))}: ${why}`;
}

const url = libraryType<GoUrl>("kubernetes.URL", (one, other) => one.identity === other.identity);

/** URLs: `url('https://a/b')` and its parts. Source: apiserver cel/library urls. */
export const urlFunctions: readonly CelFunction[] = [
  celFunction(
    "url(string): kubernetes.URL",
    (text: string) => {
      const parsed = parseGoUrl(text);
      return "problem" in parsed
        ? celFailure(`URL parse error during conversion from string: ${parsed.problem}`)
        : url.wrap(parsed.url);
    },
    passCost,
  ),
  celFunction("isURL(string): bool", (text: string) => "url" in parseGoUrl(text), passCost),
  part("getScheme(): string", ({ scheme }) => scheme),
  part("getHost(): string", ({ host }) => host),
  part("getHostname(): string", ({ hostname }) => hostname),
  part("getPort(): string", ({ port }) => port),
  part("getEscapedPath(): string", ({ path }) => path),
  // Clients choose the keys; defined entries, as here, cannot replace the prototype.
  part("getQuery(): map(string, list(string))", ({ query }) => Object.fromEntries(query)),
];

function part(signature: string, answer: (one: GoUrl) => CelValue): CelFunction {
  return celFunction(`<kubernetes.URL>.${signature}`, (one: CelOpaque) => answer(url.unwrap(one)));
}
