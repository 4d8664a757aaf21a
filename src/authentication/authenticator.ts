import type { UserInfo } from "../apimachinery/user.ts";
import type { Credential } from "../apis/revocation-index.ts";

/** The input of an authenticator. Nothing here is verified. */
export interface RequestFacts {
  /** The Authorization header as sent. */
  readonly authorization: string | undefined;
  /** The DER of the certificates that the client presented, leaf first; empty without one. */
  readonly peerCertificates: readonly Uint8Array[];
  /** The requested path; absent where only a credential is checked. */
  readonly path?: string;
  /** The address and the user agent of the client; absent where only a credential is checked. Neither is evidence. */
  readonly address?: string;
  readonly userAgent?: string;
  /** A token must be meant for one of these; absent means the audiences of the API itself. */
  readonly audiences?: readonly string[];
}

/** `absent`: the request has no credential for this authenticator. `rejected`: it has one, and it is wrong; the response must be 401. */
export type Authentication =
  | {
      readonly kind: "authenticated";
      readonly user: UserInfo;
      /** The requested audiences that the token is meant for; absent for credentials that name none. */
      readonly audiences?: readonly string[];
      /** Identifiers of the credential besides the user; absent where there are none. */
      readonly credential?: Credential;
    }
  | { readonly kind: "absent" }
  | { readonly kind: "rejected"; readonly reason: string };

/** Authenticates a request. A thrown error is an outage, never a verdict. */
export type Authenticator = (request: RequestFacts) => Promise<Authentication>;
