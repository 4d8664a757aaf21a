import type { TLSSocket } from "node:tls";
import type { Http2ServerRequest, ServerHttp2Session } from "node:http2";
import type { Incoming } from "../http-types.ts";

/** How many certificates of a presented chain are looked at. */
const maxChain = 10;

const none: readonly Uint8Array[] = [];

/** Reads what a connection presented, once per connection. */
export type PeerCertificates = (request: Incoming) => readonly Uint8Array[];

/**
 * The certificates a client presented, leaf first, as DER; nothing about them is verified. `socket.authorized` is never read: a resumed
 * session reports true there without any certificate (seen on Node 20).
 */
export function peerCertificates(): PeerCertificates {
  const known = new WeakMap<object, readonly Uint8Array[]>();
  return (request) => {
    const session = (request as Http2ServerRequest).stream?.session as ServerHttp2Session | undefined;
    const connection: object = session ?? request.socket;
    const seen = known.get(connection);
    if (seen !== undefined) return seen;
    const chain = chainOf((session?.socket ?? request.socket) as TLSSocket);
    known.set(connection, chain);
    return chain;
  };
}

function chainOf(socket: TLSSocket): readonly Uint8Array[] {
  const leaf = socket.getPeerX509Certificate?.();
  if (leaf === undefined) return none;
  const chain: Uint8Array[] = [];
  for (
    let one: typeof leaf | undefined = leaf;
    one !== undefined && chain.length < maxChain;
    one = one.issuerCertificate
  ) {
    const raw = one.raw;
    if (chain.some((other) => Buffer.compare(other, raw) === 0)) break;
    chain.push(raw);
  }
  return chain;
}
