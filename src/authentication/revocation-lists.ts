import { createHash } from "node:crypto";
import { compactVerify } from "jose/jws/compact/verify";
import {
  parseRevocationList,
  RevocationListFormError,
  verifyRevocationList,
  type ParsedRevocationList,
} from "../pki/revocation-list.ts";
import {
  revocationName,
  revocationTargets,
  type CredentialRevocationSpec,
  type RevocationTarget,
} from "../apis/credential-revocation.ts";
import { decodePem, PemError } from "../pki/pem.ts";
import type { TrustRoot } from "../pki/verify-chain.ts";
import type { TokenKey } from "./service-account-keys.ts";
import { arrayAt, isFields, numberAt, stringAt, type Fields } from "../apis/json-fields.ts";

/** The keys that verify the signatures of lists; each is called only where the list needs it. */
export interface RevocationListTrust {
  /** Those of ServiceAccount tokens. */
  readonly keys: () => Promise<readonly TokenKey[]>;
  /** The CAs of the hub. */
  readonly roots: () => Promise<readonly TrustRoot[]>;
}

const crlLabel = "X509 CRL";
/** For each CA that a hub has trusted. */
const maxLists = 16;
const maxPemCharacters = 8 << 20;

/**
 * Reads a list that this hub has signed: a response of `GET /revocations`, or revocation lists of X.509 in PEM or DER. An expired list
 * is accepted too, since its revocations stay valid and are only added to. @throws RevocationListError
 * @see RFC 5280 section 5; RFC 7468 section 6
 */
export async function readRevocationLists(bytes: Uint8Array, trust: RevocationListTrust): Promise<SignedRevocations> {
  const ders = listsIn(bytes);
  if (ders === undefined) return readSignedRevocations(Buffer.from(bytes).toString("utf8"), await trust.keys());
  const lists = ders.map(parsed);
  const roots = await trust.roots();
  if (!lists.every((list) => verifyRevocationList(list, roots))) {
    const which = lists.length === 1 ? "is" : `holds ${lists.length} revocation lists, of which at least one is`;
    throw new RevocationListError("signature", `${which} not signed by a CA of this hub`);
  }
  return {
    issuedAt: Math.max(...lists.map(({ thisUpdate }) => thisUpdate)),
    revocations: lists.flatMap(revocationsOf),
  };
}

/** The DER of each revocation list of X.509; undefined where the file is something else. */
function listsIn(bytes: Uint8Array): readonly Uint8Array[] | undefined {
  const sequenceTag = 0x30;
  if (bytes[0] === sequenceTag) return [bytes];
  const text = Buffer.from(bytes).toString("latin1");
  if (!text.includes(`-----BEGIN ${crlLabel}-----`)) return undefined;
  try {
    // OpenSSL writes text between the lists.
    const blocks = decodePem(text, { surroundingText: "ignore", maxLength: maxPemCharacters });
    if (blocks.length > maxLists || blocks.some(({ label }) => label !== crlLabel)) {
      throw new RevocationListError("form", `must hold at most ${maxLists} revocation lists, and nothing else in PEM`);
    }
    return blocks.map((block) => block.bytes);
  } catch (error) {
    if (error instanceof PemError) throw new RevocationListError("form", `is no list of revocations: ${error.message}`);
    throw error;
  }
}

function parsed(der: Uint8Array): ParsedRevocationList {
  try {
    return parseRevocationList(der);
  } catch (error) {
    if (!(error instanceof RevocationListFormError)) throw error;
    throw new RevocationListError("form", `is no revocation list of X.509 that can be taken: ${error.message}`);
  }
}

/** Named after what they revoke, so that the same list adds nothing a second time. */
function revocationsOf({ rawIssuer, revoked }: ParsedRevocationList): readonly ListedRevocation[] {
  const issuer = createHash("sha256").update(rawIssuer).digest("hex");
  const serials = new Set(revoked.map(({ serialNumber }) => serialNumber));
  return [...serials].map((serialNumber) => {
    const spec = { certificate: { serialNumber, issuer } };
    return { name: revocationName(spec), spec };
  });
}

/** The type of a signed list of revocations, so that no list passes as a token. */
export const revocationListType = "pratique-revocations+jwt";
/** The audience of such a list. */
export const revocationListAudience = "pratique-revocations";

/** A list with a valid signature. */
export interface SignedRevocations {
  /** When it was signed, in milliseconds since the epoch. */
  readonly issuedAt: number;
  readonly revocations: readonly ListedRevocation[];
}

export interface ListedRevocation {
  readonly name: string;
  readonly spec: CredentialRevocationSpec;
}

/** The text is not a signed list of revocations, or not one of this hub. The message follows the name of the file. */
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
 * Reads a response of `GET /revocations`, signed by one of `keys`. An expired list is accepted too, since its revocations stay valid and
 * are only added to. @throws RevocationListError
 * @see RFC 7515; RFC 7519 section 4.1.3
 */
async function readSignedRevocations(text: string, keys: readonly TokenKey[]): Promise<SignedRevocations> {
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
      // Any error means that this key has not signed such a list.
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
