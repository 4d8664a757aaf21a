import type { UserInfo } from "../apimachinery/user.ts";
import type { Credential } from "../apis/revocation-index.ts";

/** What an authenticator may look at. Nothing here has been verified. */
export interface RequestFacts {
  /** The Authorization header as sent. */
  readonly authorization: string | undefined;
  /** The DER of the certificates that the client presented, leaf first; empty without one. */
  readonly peerCertificates: readonly Uint8Array[];
  /** The path asked for; absent where only a credential is judged. */
  readonly path?: string;
  /** Where the request comes from, and what its client calls itself; absent where only a credential is judged. Neither is evidence. */
  readonly address?: string;
  readonly userAgent?: string;
  /** One of these must be among those that a token is meant for; absent means the audiences of the API itself. */
  readonly audiences?: readonly string[];
}

/** `absent`: this request carries nothing for me. `rejected`: it carries something for me, and it is wrong; the request must end as 401. */
export type Authentication =
  | {
      readonly kind: "authenticated";
      readonly user: UserInfo;
      /** Those asked for that a token is meant for; absent for credentials that name none. */
      readonly audiences?: readonly string[];
      /** By what else than the user the credential can be named; absent where there is nothing else. */
      readonly credential?: Credential;
    }
  | { readonly kind: "absent" }
  | { readonly kind: "rejected"; readonly reason: string };

/** Says who a request comes from. A thrown error is an outage, never a verdict. */
export type Authenticator = (request: RequestFacts) => Promise<Authentication>;
