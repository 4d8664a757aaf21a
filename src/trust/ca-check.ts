/**
 * The TLS server name under which a hub presents a certificate of the newest CA, without a cross-certificate: a client that reaches
 * `caCheckPath` under it trusts that CA. The name is not in DNS.
 */
export const caCheckServerName = "next-ca.pratique.invalid";

/** The path where a machine proves, with its own credential, that it trusts the newest CA. */
export const caCheckPath = "/.well-known/pratique/ca-check";

/** The path of the previous release: a hub still serves it, and an agent falls back to it where a hub does not serve the new one. */
export const deprecatedCaCheckPath = "/.well-known/pratique/ca-rehearsal";
