/**
 * The name under which a hub shows a certificate of the newest CA alone, with nobody vouching for it: whoever gets through to
 * `rehearsalPath` there trusts that CA. No DNS knows the name; it is only spoken in TLS.
 */
export const rehearsalName = "next-ca.pratique.invalid";

/** Where a machine shows, with its own credential, that it trusts the newest CA. */
export const rehearsalPath = "/.well-known/pratique/ca-rehearsal";
