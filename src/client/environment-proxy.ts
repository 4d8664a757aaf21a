import { BlockList, isIP } from "node:net";
import { domainToASCII } from "node:url";

/** The environment of a process. */
export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The proxy that the environment names for an `https://` server, or undefined for a direct connection: HTTPS_PROXY before https_proxy,
 * but never for localhost and loopback addresses, nor for what NO_PROXY lists by name, domain, address, CIDR or with a port. The text may
 * contain a password. @see golang.org/x/net/http/httpproxy
 */
export function environmentProxy(server: string, env: Environment): string | undefined {
  const proxy = first(env["HTTPS_PROXY"], env["https_proxy"]);
  if (proxy === undefined || !URL.canParse(server)) return undefined;
  const url = new URL(server);
  const host = url.hostname.replace(/^\[|\]$/g, "").toLowerCase();
  const port = url.port === "" ? "443" : url.port;
  if (host === "localhost" || isLoopback(host)) return undefined;
  const excluded = (first(env["NO_PROXY"], env["no_proxy"]) ?? "").split(",").map((rule) => rule.trim().toLowerCase());
  if (excluded.includes("*") || excluded.some((rule) => matches(rule, host, port))) return undefined;
  return /^[a-z][a-z0-9+.-]*:\/\/[^/]/i.test(proxy) ? proxy : `http://${proxy}`;
}

function first(...values: readonly (string | undefined)[]): string | undefined {
  return values.find((value) => value !== undefined && value !== "");
}

function isLoopback(host: string): boolean {
  return contains(host, "127.0.0.0", 8) || contains(host, "::1", 128);
}

function matches(rule: string, host: string, port: string): boolean {
  const [network = "", prefix = ""] = rule.split("/");
  if (rule.includes("/")) return isPrefix(network, prefix) && contains(host, network, Number(prefix));
  const { name, port: wanted } = split(rule);
  if (name === "" || (wanted !== "" && wanted !== port)) return false;
  const kind = isIP(name);
  return kind === 0 ? isBelow(host, name) : contains(host, name, kind === 4 ? 32 : 128);
}

function isBelow(host: string, name: string): boolean {
  // `example.com` matches itself and its subdomains; `.example.com` and `*.example.com` only the subdomains.
  const [, below = "", base = ""] = /^(\*?\.)?(.*)$/.exec(name) ?? [];
  const domain = domainToASCII(base);
  return domain !== "" && (host.endsWith(`.${domain}`) || (below === "" && host === domain));
}

/** As Go's net.SplitHostPort: without exactly one colon outside of brackets all of it is the host. */
function split(rule: string): { readonly name: string; readonly port: string } {
  const bracketed = /^\[([^\]]*)\]:([^:]*)$/.exec(rule);
  const plain = /^([^:[\]]*):([^:]*)$/.exec(rule);
  const [, name = rule, port = ""] = bracketed ?? plain ?? [];
  return { name, port };
}

function isPrefix(network: string, prefix: string): boolean {
  const kind = isIP(network);
  return kind !== 0 && /^\d{1,3}$/.test(prefix) && Number(prefix) <= (kind === 4 ? 32 : 128);
}

function contains(host: string, network: string, prefix: number): boolean {
  const kind = isIP(host);
  if (kind === 0) return false;
  const list = new BlockList();
  list.addSubnet(network, prefix, isIP(network) === 4 ? "ipv4" : "ipv6");
  return list.check(host, kind === 4 ? "ipv4" : "ipv6");
}
