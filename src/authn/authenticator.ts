import type { UserInfo } from "../core/user.ts";

/** What an authenticator may look at. Nothing here has been verified. */
export interface RequestFacts {
  /** The Authorization header as sent. */
  readonly authorization: string | undefined;
  /** The DER of the certificates that the client presented, leaf first; empty without one. */
  readonly peerCertificates: readonly Uint8Array[];
}

/** `absent`: this request carries nothing for me. `rejected`: it carries something for me, and it is wrong; the request must end as 401. */
export type Authentication =
  | { readonly kind: "authenticated"; readonly user: UserInfo }
  | { readonly kind: "absent" }
  | { readonly kind: "rejected"; readonly reason: string };

/** Says who a request comes from. A thrown error is an outage, never a verdict. */
export type Authenticator = (request: RequestFacts) => Promise<Authentication>;
