import { isIPv6 } from "node:net";

/**
 * Whether Go would take `text` for the target of a request: an absolute URI or a path that begins with a slash.
 * Source: Go net/url ParseRequestURI.
 */
export function isRequestUri(text: string): boolean {
  // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
  if (text === "" || /[\u0000-\u001f\u007f]/.test(text) || text.startsWith(":")) return false;
  if (text === "*") return true;
  const scheme = /^[a-zA-Z][a-zA-Z0-9+.-]*:/.exec(text)?.[0] ?? "";
  const question = text.indexOf("?", scheme.length);
  const rest = text.slice(scheme.length, question < 0 ? undefined : question);
  if (!rest.startsWith("/")) return scheme !== "";
  if (scheme === "" || !rest.startsWith("//")) return hasValidEscapes(rest);
  const slash = rest.indexOf("/", 2);
  const authority = rest.slice(2, slash < 0 ? undefined : slash);
  return isAuthority(authority) && (slash < 0 || hasValidEscapes(rest.slice(slash)));
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

/** Whether `text` is one address of a mail, with or without the name of its owner. Source: Go net/mail ParseAddress. */
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
