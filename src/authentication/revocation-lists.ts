import { createHash } from "node:crypto";
import {
  parseRevocationList,
  RevocationListFormError,
  verifyRevocationList,
  type ParsedRevocationList,
} from "../pki/revocation-list.ts";
import { revocationName } from "../apis/credential-revocation.ts";
import { decodePem, PemError } from "../pki/pem.ts";
import type { TrustRoot } from "../pki/verify-chain.ts";
import type { TokenKey } from "./service-account-keys.ts";
import {
  readSignedRevocations,
  RevocationListError,
  type ListedRevocation,
  type SignedRevocations,
} from "./signed-revocations.ts";

/** What the signatures of lists are verified with; each is asked for only where the list needs it. */
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
 * Reads a list that this hub has signed: what `GET /revocations` answered, or revocation lists of X.509 in PEM or DER. A list that has ended
 * is read too: what was revoked then is known, and it is only added to. @throws RevocationListError
 * @see RFC 5280 section 5; RFC 7468 section 6
 */
export async function readRevocationLists(bytes: Uint8Array, trust: RevocationListTrust): Promise<SignedRevocations> {
  const ders = listsIn(bytes);
  if (ders === undefined) {
    return readSignedRevocations(Buffer.from(bytes).toString("utf8"), await trust.keys());
  }
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
    // OpenSSL writes words between the lists.
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
