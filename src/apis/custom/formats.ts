import { isIPv4, isIPv6 } from "node:net";
import { DurationError, parseDuration } from "../../apimachinery/duration.ts";
import { dnsLabelProblems, dnsSubdomainProblems } from "../../apimachinery/names.ts";
import { utf8Length } from "../../apimachinery/utf8.ts";

/**
 * Whether `text` is of a format; undefined for formats that Kubernetes does not know, which are not checked. Hyphens in the name of a format
 * are ignored. Source: apiextensions-apiserver pkg/apiserver/validation/formats.go, kube-openapi strfmt.
 */
export function formatCheck(format: string): ((text: string) => boolean) | undefined {
  return formats.get(format.replaceAll("-", ""));
}

/** Maximum length for every format but byte and password; limits the time of the checks. */
const maxCharacters = 4096;

function short(check: (text: string) => boolean): (text: string) => boolean {
  return (text) => text.length <= maxCharacters && check(text);
}

const hexUuid = "[0-9a-f]{8}-?[0-9a-f]{4}-?";
const formats: ReadonlyMap<string, (text: string) => boolean> = new Map<string, (text: string) => boolean>([
  ["bsonobjectid", (text) => /^[0-9a-fA-F]{24}$/.test(text)],
  ["byte", isBase64],
  ["cidr", short(isCidr)],
  ["creditcard", short(isCreditCard)],
  ["date", short(isDate)],
  ["datetime", short(isDateTime)],
  ["duration", short(isDuration)],
  ["email", short(isEmail)],
  ["hexcolor", (text) => /^#?(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})$/.test(text)],
  ["hostname", short(isHostname)],
  ["ipv4", short(isIpWithDot)],
  ["ipv6", short(isPlainIpv6)],
  ["isbn", short((text) => isIsbn10(text) || isIsbn13(text))],
  ["isbn10", short(isIsbn10)],
  ["isbn13", short(isIsbn13)],
  ["k8slongname", short((text) => dnsSubdomainProblems(text).length === 0)],
  ["k8sshortname", short((text) => dnsLabelProblems(text).length === 0)],
  ["mac", short(isMac)],
  ["password", () => true],
  ["rgbcolor", short(isRgbColour)],
  ["ssn", (text) => /^\d{3}[- ]\d{2}[- ]\d{4}$/.test(text)],
  ["uri", (text) => isRequestUri(text)],
  ["uuid", matcher(`${hexUuid}[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}`)],
  ["uuid3", matcher(`${hexUuid}3[0-9a-f]{3}-?[0-9a-f]{4}-?[0-9a-f]{12}`)],
  ["uuid4", matcher(`${hexUuid}4[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}`)],
  ["uuid5", matcher(`${hexUuid}5[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}`)],
]);

function matcher(source: string): (text: string) => boolean {
  const expression = new RegExp(`^${source}$`, "i");
  return (text) => expression.test(text);
}

/** Padded, in whole groups, not empty. Two checks, since one regular expression would need a stack as deep as the text is long. */
function isBase64(text: string): boolean {
  if (text === "" || text.length % 4 !== 0) return false;
  const padding = text.endsWith("==") ? 2 : Number(text.endsWith("="));
  return !/[^A-Za-z0-9+/]/.test(text.slice(0, text.length - padding));
}

function isDate(text: string): boolean {
  const [, year, month, day] = /^(\d{4})-(\d{2})-(\d{2})$/.exec(text) ?? [];
  if (year === undefined || month === undefined || day === undefined) return false;
  const date = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.getUTCDate() === Number(day);
}

function isDateTime(text: string): boolean {
  const [date = "", time = ""] = text.toLowerCase().split("t");
  const clock = /^(?:[01][0-9]|2[0-3])(?::[0-5][0-9]){2}(?:.[0-9]+)?(?:z|[+-][0-9]{2}:[0-9]{2})$/;
  return isDate(date) && clock.test(time);
}

const units = ["ns", "us", "µs", "ms", "s", "m", "h", "hr", "d", "w", "wk"];
const unitPrefixes = ["nano", "micro", "milli", "sec", "min", "hour", "day", "week"];

/** A duration of Go, or one as Scala writes it: `22 ns`, `3 days`. */
function isDuration(text: string): boolean {
  try {
    parseDuration(text);
    return true;
  } catch (error) {
    if (!(error instanceof DurationError)) throw error;
  }
  if (text.length > 256) return false;
  return [...text.matchAll(/\d+\s*([A-Za-zµ]+)/g)].some(([, unit = ""]) => {
    const lower = unit.toLowerCase();
    return units.includes(lower) || unitPrefixes.some((prefix) => lower.startsWith(prefix));
  });
}

const wide = "a-zA-Z0-9\\p{S}\\p{L}";
const onlyLabel = new RegExp(`^[${wide}](?:-?[${wide}]{0,62})?$`, "u");
const label = new RegExp(`^[${wide}](?:[${wide}-]{0,61}[${wide}])?$`, "u");

function isHostname(text: string): boolean {
  const labels = text.split(".");
  if (utf8Length(text) > 255 || labels.some((part) => utf8Length(part) > 63)) return false;
  if (labels.length === 1) return onlyLabel.test(text);
  return labels.slice(0, -1).every((part) => label.test(part)) && /^\p{L}{2,63}$/u.test(labels.at(-1) ?? "");
}

/** Leading zeros in the parts of an IPv4 address are accepted, as in Go before 1.17. */
function isIp(text: string): boolean {
  return isPlainIpv6(text) || isIPv4(text.replaceAll(/(^|\.)0+(?=\d)/g, "$1"));
}

function isPlainIpv6(text: string): boolean {
  return isIPv6(text) && !text.includes("%");
}

function isIpWithDot(text: string): boolean {
  return text.includes(".") && isIp(text);
}

function isCidr(text: string): boolean {
  const slash = text.indexOf("/");
  const address = text.slice(0, slash);
  const bits = text.slice(slash + 1);
  if (slash < 0 || !isIp(address) || !/^\d{1,3}$/.test(bits)) return false;
  return Number(bits) <= (address.includes(":") ? 128 : 32);
}

function isMac(text: string): boolean {
  if (
    !/^(?:[0-9a-fA-F]{2}(?::[0-9a-fA-F]{2})+|[0-9a-fA-F]{2}(?:-[0-9a-fA-F]{2})+|[0-9a-fA-F]{4}(?:\.[0-9a-fA-F]{4})+|[0-9a-fA-F]+)$/.test(
      text,
    )
  ) {
    return false;
  }
  const digits = text.replaceAll(/[^0-9a-fA-F]/g, "").length;
  return digits === 12 || digits === 16 || digits === 40;
}

const byteText = "(?:0|[1-9]\\d?|1\\d\\d?|2[0-4]\\d|25[0-5])";
const rgbColour = new RegExp(`^rgb\\(\\s*${byteText}\\s*,\\s*${byteText}\\s*,\\s*${byteText}\\s*\\)$`);

function isRgbColour(text: string): boolean {
  return rgbColour.test(text);
}

function isIsbn10(text: string): boolean {
  const plain = text.replaceAll(/[\s-]+/g, "");
  if (!/^(?:[0-9]{9}X|[0-9]{10})$/.test(plain)) return false;
  const sum = plain
    .split("")
    .reduce((total, digit, index) => total + (10 - index) * (digit === "X" ? 10 : Number(digit)), 0);
  return sum % 11 === 0;
}

function isIsbn13(text: string): boolean {
  const plain = text.replaceAll(/[\s-]+/g, "");
  if (!/^[0-9]{13}$/.test(plain)) return false;
  const sum = plain.split("").reduce((total, digit, index) => total + Number(digit) * (index % 2 === 0 ? 1 : 3), 0);
  return sum % 10 === 0;
}

const cardNumber =
  /^(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35\d{3})\d{11})$/;

function isCreditCard(text: string): boolean {
  const plain = text.replaceAll(/[^0-9]+/g, "");
  if (!cardNumber.test(plain)) return false;
  const sum = plain
    .split("")
    .reverse()
    .reduce((total, digit, index) => {
      const value = Number(digit) * (index % 2 === 0 ? 1 : 2);
      return total + (value > 9 ? value - 9 : value);
    }, 0);
  return sum % 10 === 0;
}

/**
 * Whether Go accepts `text` as the target of a request: an absolute URI or a path that begins with a slash.
 * Source: Go net/url ParseRequestURI.
 */
function isRequestUri(text: string): boolean {
  if (text === "*") return true;
  // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
  if (text === "" || /^:|[\u0000-\u001f\u007f]/.test(text)) return false;
  const [scheme = ""] = /^[a-zA-Z][a-zA-Z0-9+.-]*:/.exec(text) ?? [];
  const rest = text.slice(scheme.length).replace(/\?.*$/s, "");
  if (!rest.startsWith("/")) return scheme !== "";
  if (scheme === "" || !rest.startsWith("//")) return hasValidEscapes(rest);
  const slash = `${rest}/`.indexOf("/", 2);
  return isAuthority(rest.slice(2, slash)) && hasValidEscapes(rest.slice(slash));
}

function isAuthority(text: string): boolean {
  const at = text.lastIndexOf("@");
  const user = text.slice(0, Math.max(at, 0));
  const host = text.slice(at + 1);
  if (!/^[A-Za-z0-9\-._:~!$&'()*+,;=%@]*$/.test(user) || !hasValidEscapes(user)) return false;
  if (host.startsWith("[")) {
    const end = host.lastIndexOf("]");
    const address = host.slice(1, Math.max(end, 0)).replace(/%25.+$/, "");
    return end > 0 && isIPv6(address) && /^(?::\d*)?$/.test(host.slice(end + 1));
  }
  const colon = host.lastIndexOf(":");
  if (colon >= 0 && !/^\d*$/.test(host.slice(colon + 1))) return false;
  return !/[ #%/?@\\^`{|}[\]]/.test(host);
}

function hasValidEscapes(text: string): boolean {
  return !/%(?![0-9a-fA-F]{2})/.test(text);
}

const atom = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~\\u0080-\\uffff-]+";
const dotAtom = new RegExp(`^${atom}(?:\\.${atom})*$`);
const quoted = /^"(?:[^"\\]|\\.)*"$/;

/** Whether `text` is one mail address, with or without a display name. Source: Go net/mail ParseAddress. */
export function isEmail(text: string): boolean {
  const plain = text.trim();
  const open = plain.lastIndexOf("<");
  if (open < 0 || !plain.endsWith(">")) return isMailbox(plain);
  return isPhrase(plain.slice(0, open).trim()) && isMailbox(plain.slice(open + 1, -1).trim());
}

function isPhrase(text: string): boolean {
  return text === "" || quoted.test(text) || text.split(/\s+/).every((word) => dotAtom.test(word));
}

function isMailbox(text: string): boolean {
  const at = text.lastIndexOf("@");
  const local = text.slice(0, Math.max(at, 0));
  const domain = text.slice(at + 1);
  return (
    at > 0 && (dotAtom.test(local) || quoted.test(local)) && (dotAtom.test(domain) || /^\[[^[\]\\]*\]$/.test(domain))
  );
}
