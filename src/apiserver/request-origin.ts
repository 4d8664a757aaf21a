import type { Requester } from "./admitted-request.ts";
import { header, type Incoming } from "./http-types.ts";

/**
 * Whether a page of another site has sent a request with the client certificate that the browser holds. Browsers let every page open
 * WebSockets and send forms anywhere, and add the certificate, but never a bearer token. Source: RFC 6454, section 7.
 */
export function isFromElsewhere(request: Incoming, { credential }: Requester): boolean {
  const origin = header(request, "origin");
  if (origin === undefined || origin === "" || credential?.serialNumber === undefined) return false;
  const host = header(request, ":authority") ?? header(request, "host") ?? "";
  return origin.toLowerCase() !== `https://${host.toLowerCase()}`;
}
