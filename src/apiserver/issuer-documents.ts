import { jsonWebKeySet, type TokenKey } from "../authentication/service-account-keys.ts";
import type { Reply } from "./http-types.ts";

/** Who gives out tokens here, and the keys with which anybody can verify them. */
export interface PublishedIssuer {
  readonly issuer: string;
  readonly keys: readonly TokenKey[];
}

/** Where these documents are served. */
export const issuerPaths: readonly string[] = ["/.well-known/openid-configuration", "/openid/v1/jwks"];

/**
 * The documents by which other services verify tokens of ServiceAccounts, by path; none where the issuer is no https URL, as OpenID
 * asks for one. `serverAddress` is this hub's `host:port`.
 * @see OpenID Connect Discovery 1.0 section 4; KEP-1393
 */
export function issuerDocument(
  path: string,
  { issuer, keys }: PublishedIssuer,
  serverAddress: string,
): Reply | undefined {
  if (!issuer.startsWith("https://")) return undefined;
  switch (path) {
    case "/openid/v1/jwks":
      return published("application/jwk-set+json", jsonWebKeySet(keys));
    case "/.well-known/openid-configuration":
      return published("application/json", {
        issuer,
        jwks_uri: `https://${serverAddress}/openid/v1/jwks`,
        response_types_supported: ["id_token"],
        subject_types_supported: ["public"],
        id_token_signing_alg_values_supported: [...new Set(keys.map(({ alg }) => alg))].sort(),
      });
    default:
      return undefined;
  }
}

/** They change with the keys only, and those with a restart. */
function published(contentType: string, body: object): Reply {
  return { status: 200, contentType, body: JSON.stringify(body), headers: { "cache-control": "public, max-age=3600" } };
}
