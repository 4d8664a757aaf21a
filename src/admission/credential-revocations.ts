import type { UserInfo } from "../apimachinery/user.ts";
import { forbidden } from "../apimachinery/status.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import { revokedText } from "../apis/credential-revocation.ts";
import { accessGroup } from "../apis/access-request.ts";
import { stringAt } from "../apis/json-fields.ts";
import { credentialOf, lockOutAnnotation, revocationIndex } from "../apis/revocation-index.ts";
import type { AdmissionPlugin } from "./admission.ts";

export interface CredentialRevocationOptions {
  /** The number of revocations. */
  readonly size: () => number;
  /** The user whose certificate the hub issues at each start. */
  readonly operator: string;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Called with the user who deletes the revocation of this uid, before the delete. */
  readonly removing: (uid: string, username: string) => void;
}

/** Far more than an operator revokes by hand, and few enough for memory. */
const maxRevocations = 20_000;

/**
 * Prevents a user from revoking the credential of its own request by mistake and from locking out the operator of the hub permanently,
 * and limits the number of revocations. Authorization decides which users may revoke at all.
 */
export function credentialRevocationAdmission(options: CredentialRevocationOptions): AdmissionPlugin {
  return {
    name: "PratiqueCredentialRevocation",
    concerns: ({ group, plural }) => group === accessGroup && plural === "credentialrevocations",
    validate: async ({ resource, operation, object, oldObject, user, name }) => {
      const uid = oldObject?.metadata.uid;
      if (operation === "DELETE" && uid !== undefined) options.removing(uid, user.username);
      const why = operation === "CREATE" && object !== undefined ? objection(object, user, options) : undefined;
      if (why !== undefined) throw forbidden(resource, name, why);
    },
  };
}

/** Why this revocation may not be created, or undefined where it may. */
function objection(object: ApiObject, user: UserInfo, options: CredentialRevocationOptions): string | undefined {
  if (options.size() >= maxRevocations) {
    return `there are ${maxRevocations} revocations already; delete those that are no longer needed`;
  }
  if (stringAt(object, "spec", "user") === options.operator) {
    return `the hub makes a certificate for ${JSON.stringify(options.operator)} at each start, and no such certificate could be used again: revoke its certificate by the fingerprint, and restart the hub for another`;
  }
  const isMeant = object.metadata.annotations?.[lockOutAnnotation] === "accepted";
  if (isMeant || !covers(object, user, options.now())) return undefined;
  return `${revokedText(object)} is what you came in with, and you would be locked out: use another credential, or set annotation ${lockOutAnnotation} to "accepted"`;
}

function covers(object: ApiObject, user: UserInfo, now: number): boolean {
  const alone = revocationIndex();
  alone.put(object);
  return alone.find(credentialOf(user), now) !== undefined;
}
