import type { ObjectSchema } from "../../apimachinery/schema.ts";
import {
  about,
  atomic,
  bool,
  int32,
  list,
  maxLength,
  object,
  oneOf,
  required,
  str,
  time,
  accessPart,
  accessKindSchema,
} from "./shorthand.ts";

// Issued credentials and revocations.

const revokedCertificate = accessPart("RevokedCertificate", "A certificate by its number.", {
  serialNumber: about("Lower-case hexadecimal, two digits a byte, without leading zero bytes.", required(str(1))),
  issuer: about(
    "The SHA-256 of the DER of the issuer's name, in lower-case hexadecimal; default any issuer that is trusted.",
    str(2),
  ),
});

const revokedSecret = accessPart("RevokedSecret", "The Secret that a token stands on.", {
  namespace: about("Its namespace.", required(str(1))),
  name: about("Its name.", required(str(2))),
});

const revocationSpec = accessPart(
  "CredentialRevocationSpec",
  "What is revoked, by one of the first six fields; that cannot change.",
  {
    user: about("Every credential of this user, now and later; the exact name.", maxLength(1024, str(1))),
    fingerprint: about("A certificate by the SHA-256 of its DER, in lower-case hexadecimal.", str(2)),
    certificate: about("A certificate by its serial number.", object(3, revokedCertificate)),
    credentialID: about("A credential as user extra names it: JTI=<id> for a token of a ServiceAccount.", str(4)),
    bootstrapTokenID: about("A bootstrap token by its first six characters.", str(5)),
    secret: about("Tokens of ServiceAccounts from this Secret, or bound to it.", object(6, revokedSecret)),
    reason: about("The reason, as a sentence.", maxLength(1024, str(7))),
    expiresAt: about("When the revocation ends; default when every credential that it covers has expired.", time(8)),
  },
);

const revocationStatus = accessPart("CredentialRevocationStatus", "What the server says of a revocation.", {
  revokedBy: about("Who revoked, as authenticated.", str(1)),
  enforced: about("The API itself refuses what is revoked.", bool(2)),
});

/** `CredentialRevocation`. */
export const credentialRevocationSchema: ObjectSchema = accessKindSchema(
  "CredentialRevocation",
  "Credentials that count no longer, from the moment at which this is stored.",
  {
    spec: about("What is revoked.", required(object(2, revocationSpec))),
    status: about("What the server says of it.", object(3, revocationStatus)),
  },
);

const credentialIdentity = accessPart("CredentialIdentity", "Who holds a credential.", {
  username: about("The user that it makes its holder.", required(str(1))),
  purpose: about("Client, Serving or Access.", required(oneOf(["Client", "Serving", "Access"], str(2)))),
});

const credentialIssue = accessPart("CredentialIssue", "One credential that was given out.", {
  credentialID: about("As user extra names it; absent for tokens, of which nothing is kept.", str(1)),
  serialNumber: about("Of a certificate, in lower-case hexadecimal.", str(2)),
  issuer: about("The SHA-256 of the DER of the issuer's name, in lower-case hexadecimal.", str(3)),
  notBefore: about("From when it holds.", time(4)),
  notAfter: about("Until when it holds.", time(5)),
  requestedBy: about("Who asked for it, as authenticated.", str(6)),
  approvedBy: about("Who approved it, or which rule.", str(7)),
  request: about("The request that it answers.", str(8)),
  key: about("The fingerprint of a certificate's public key.", str(9)),
  generation: about("Which of all that were given out, counted from 1.", int32(10)),
  firstUsed: about("When the credential was first used, to within ten minutes.", time(11)),
});

const credentialRecovery = accessPart("CredentialRecovery", "A machine that came back.", {
  request: about("The request that was approved.", required(str(1))),
  time: about("When.", required(time(2))),
});

const issuedCredentialSpec = accessPart("IssuedCredentialSpec", "Whose credentials these are; that cannot change.", {
  identity: about("Who holds them.", required(object(1, credentialIdentity))),
});

const issuedCredentialStatus = accessPart(
  "IssuedCredentialStatus",
  "What was given out, the newest last, and when its holder was last seen.",
  {
    issued: about("The last eight that were given out.", list(1, credentialIssue, atomic)),
    count: about("How many were given out in all.", int32(2)),
    lastSeen: about("When the holder last made a request, to within ten minutes.", time(3)),
    warnedOf: about("The end of the credential of which an Event has warned.", time(4)),
    expiredOf: about("The end of the credential of which an Event has said that it expired.", time(6)),
    recoveries: about(
      "The last sixteen times at which the holder was approved again after its credential had ended.",
      list(5, credentialRecovery, atomic),
    ),
  },
);

/** `IssuedCredential`. */
export const issuedCredentialSchema: ObjectSchema = accessKindSchema(
  "IssuedCredential",
  "The credentials of one machine for one purpose, as they were given out. The server keeps it; nothing secret is in it.",
  {
    spec: about("Whose they are.", required(object(2, issuedCredentialSpec))),
    status: about("What was given out.", object(3, issuedCredentialStatus)),
  },
);
