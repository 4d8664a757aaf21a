import type { Agent } from "node:https";
import type { Duplex } from "node:stream";
import { ConnectionError } from "./client.ts";
import { parseProxy, throughProxy, type Proxy, type ProxyTrust } from "./proxy.ts";

type Connect = Agent["createConnection"];

/** Reads the address of a proxy that is to be used. @throws ConnectionError INVALID_PROXY, which does not repeat the text: it may hold a password. */
export function requiredProxy(text: string): Proxy {
  const proxy = parseProxy(text);
  if (proxy === undefined) {
    throw new ConnectionError(
      "INVALID_PROXY",
      "the proxy must be a URL that begins with http://, https:// or socks5://",
    );
  }
  return proxy;
}

/** From now on each connection of `agent` goes through the proxy, with TLS to the server itself inside. Connecting ends with `signal`. */
export function connectThrough(
  agent: Agent,
  proxy: Proxy,
  options: ProxyTrust & { readonly signal: AbortSignal },
): void {
  const direct = agent.createConnection.bind(agent);
  const tunnelled: Connect = (connection, connected) => {
    const { host, port } = connection as { readonly host?: string | null; readonly port?: number | string | null };
    throughProxy(proxy, { host: host ?? "", port: Number(port) }, options).then(
      // Over that socket the agent does what it does on its own: TLS with the server itself.
      (socket) => connected?.(null, direct(Object.assign(connection, { socket })) as Duplex),
      (error: Error) => connected?.(error, undefined as never),
    );
    return undefined;
  };
  agent.createConnection = tunnelled;
}
