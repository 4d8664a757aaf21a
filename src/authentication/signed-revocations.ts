import { compactVerify } from "jose/jws/compact/verify";
import { arrayAt, isFields, numberAt, stringAt, type Fields } from "../apis/json-fields.ts";
import {
  revocationTargets,
  type CredentialRevocationSpec,
  type RevocationTarget,
} from "../apis/credential-revocation.ts";
import type { TokenKey } from "./service-account-keys.ts";

/** The type of a signed list of revocations, so that it is no token of anybody. */
export const revocationListType = "pratique-revocations+jwt";
/** For whom such a list is. */
export const revocationListAudience = "pratique-revocations";

/** A list whose signature is right. */
export interface SignedRevocations {
  /** When it was signed, in milliseconds since the epoch. */
  readonly issuedAt: number;
  readonly revocations: readonly ListedRevocation[];
}

export interface ListedRevocation {
  readonly name: string;
  readonly spec: CredentialRevocationSpec;
}

/** A text is no signed list of revocations, or none of this hub. The message follows the name of the file. */
export class RevocationListError extends Error {
  readonly code: "form" | "signature";

  constructor(code: RevocationListError["code"], message: string) {
    super(message);
    this.name = "RevocationListError";
    this.code = code;
  }
}

const maxLength = 32 * 1024 * 1024;

/**
 * Reads what `GET /revocations` answered, signed by one of `keys`. A list that has ended is read too: what was revoked then is known, and it
 * is only added to. @throws RevocationListError
 * @see RFC 7515; RFC 7519 section 4.1.3
 */
export async function readSignedRevocations(text: string, keys: readonly TokenKey[]): Promise<SignedRevocations> {
  const token = text.trim();
  if (token.length > maxLength || !/^[\w-]+\.[\w-]+\.[\w-]+$/.test(token)) {
    throw new RevocationListError(
      "form",
      "is no signed list of revocations; make one with pratique revocations export",
    );
  }
  const claims = await verified(token, keys);
  const audience = claims["aud"];
  const issuedAt = numberAt(claims, "iat");
  if (!Array.isArray(audience) || !audience.includes(revocationListAudience) || issuedAt === undefined) {
    throw new RevocationListError("form", "is signed by this hub, but is no list of revocations");
  }
  return { issuedAt: issuedAt * 1000, revocations: arrayAt(claims, "revocations").map(listed) };
}

async function verified(token: string, keys: readonly TokenKey[]): Promise<Fields> {
  for (const { key, alg } of keys) {
    try {
      const { payload, protectedHeader } = await compactVerify(token, key, { algorithms: [alg] });
      const claims: unknown = JSON.parse(Buffer.from(payload).toString("utf8"));
      if (protectedHeader.typ === revocationListType && isFields(claims)) return claims;
    } catch {
      // Whatever is wrong with it, this key has not signed such a list.
    }
  }
  throw new RevocationListError("signature", "is not signed by the key of ServiceAccount tokens of this hub");
}

function listed(value: unknown): ListedRevocation {
  if (!isFields(value)) throw new RevocationListError("form", "holds something that is no revocation");
  const expiresAt = stringAt(value, "expiresAt");
  const target = Object.fromEntries(
    revocationTargets.flatMap((field) => (value[field] === undefined ? [] : [[field, value[field]]])),
  ) as RevocationTarget;
  return { name: stringAt(value, "name"), spec: { ...target, ...(expiresAt === "" ? {} : { expiresAt }) } };
}
