/**
 * The TLS server name under which a hub shows a certificate of the newest CA, without a cross-certificate: a client that reaches
 * `caCheckPath` under it trusts that CA. No DNS server knows the name.
 */
export const caCheckServerName = "next-ca.pratique.invalid";

/** Where a machine shows, with its own credential, that it trusts the newest CA. */
export const caCheckPath = "/.well-known/pratique/ca-check";

/** The path of the last release: a hub still answers it, and an agent falls back to it where a hub does not know the other one. */
export const deprecatedCaCheckPath = "/.well-known/pratique/ca-rehearsal";
