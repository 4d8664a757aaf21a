import { type ObjectSchema, type Field } from "../../apimachinery/schema.ts";
import {
  about,
  atomic,
  bool,
  between,
  conditions,
  int32,
  int64,
  list,
  maxItems,
  maxLength,
  object,
  oneOf,
  required,
  str,
  stringMap,
  strings,
  time,
  accessPart,
  accessKindSchema,
} from "./shorthand.ts";

// Access requests, profiles, and recovery policies.

const yearSeconds = 366 * 86_400;

const accessRequestSpec = accessPart("AccessRequestSpec", "What a machine asks, and what it says of itself.", {
  pubKey: about(
    "The machine's public key in OpenSSH's form: ssh-rsa of at least 2048 bits, ecdsa-sha2-nistp256 or ssh-ed25519. The answer is sealed to it.",
    required(str(1)),
  ),
  profile: about("The AccessProfile that is asked for; default the one that is marked as default.", str(2)),
  hostname: about("What the machine calls itself. Shown to approvers, and not verified.", maxLength(253, str(3))),
  claims: about("What else the machine says of itself. Shown to approvers, and not verified.", stringMap(4)),
  proof: about(
    "A signature of the key over name, key and CA, which shows that the machine holds the key; in base64.",
    maxLength(4096, str(5)),
  ),
});

const decidedProfile = accessPart("DecidedProfile", "The profile as it was at the decision.", {
  name: about("Its name.", required(str(1))),
  uid: about("Its uid.", required(str(2))),
  generation: about("Its generation.", required(int64(3))),
});

const accessDecision = accessPart("AccessDecision", "One decision, as the API stamped it.", {
  user: about("Who decided, as authenticated or impersonated.", required(str(1))),
  time: about("When.", required(time(2))),
  verdict: about("Approved, Denied or Revoked.", required(str(3))),
  reason: about("Why, in the words of who decided.", str(4)),
  words: about("Whether the pairing words were compared: Compared or NotCompared.", str(5)),
  fingerprint: about("The key that was decided on.", str(6)),
  profile: about("The profile that was decided on; nothing is granted once it is another.", object(7, decidedProfile)),
  impersonator: about("Who was authenticated, where that user impersonated the one who decided.", str(8)),
});

const accessReturn = accessPart("AccessReturn", "When a machine was approved before.", {
  request: about("The last request by which.", required(str(1))),
  since: about("When for the first time.", time(2)),
  times: about("How often.", required(int32(3))),
});

const accessEvidence = accessPart("AccessEvidence", "What the API itself saw of a request.", {
  sourceAddress: about("Where the request came from; empty where the API could not see it.", str(1)),
  userAgent: about("What the client called itself.", str(2)),
  requester: about("Who asked, as authenticated.", str(3)),
  possession: about("Proven where the machine has shown that it holds the key, else Unproven.", str(4)),
  earlierRequests: about("How many other requests of the same key there were.", int32(5)),
  returning: about("Of a machine whose key was approved before.", object(6, accessReturn)),
});

const accessSeal = accessPart("AccessSeal", "How the answer is sealed.", {
  scheme: about("rsa-oaep-sha512 or hpke.", required(str(1))),
  kem: about("The key encapsulation of RFC 9180.", str(2)),
  kdf: about("The key derivation of RFC 9180.", str(3)),
  aead: about("The cipher of token and CA.", required(str(4))),
  info: about("What the sealed key is bound to, in base64.", str(5)),
});

const accessGrant = accessPart("AccessGrant", "What was made for a request, and goes with it.", {
  namespace: about("The namespace of the ServiceAccount.", str(1)),
  serviceAccount: about("Its name.", str(2)),
  uid: about("Its uid.", str(3)),
  bootstrapSecret: about("The Secret of the bootstrap token that was handed over.", str(4)),
});

const accessRequestStatus = accessPart("AccessRequestStatus", "The decisions, and the sealed answer.", {
  accepted: about("Set by an approver to grant access.", bool(1)),
  denied: about("Set by an approver to deny the request.", bool(2)),
  revoked: about("Set by an approver to revoke the granted access.", bool(3)),
  reason: about("Why, set together with one of these; it moves into the decision.", str(4)),
  wordsCompared: about(
    "Set by an approver who has compared the pairing words; the API moves it into the decision.",
    bool(5),
  ),
  ready: about("The answer is there.", bool(6)),
  key: about("The key of token and CA, sealed to the machine's key; in base64.", str(7)),
  token: about("The bearer token, sealed; in base64.", str(8)),
  ca: about("The CA in PEM, sealed; in base64.", str(9)),
  bootstrapToken: about("A bootstrap token, sealed, where the profile hands one over; in base64.", str(10)),
  seal: about("How key, token and CA are sealed.", object(11, accessSeal)),
  fingerprint: about("The SHA-256 fingerprint of the key, as ssh-keygen shows it.", str(12)),
  decisions: about("Who decided what, and when.", list(13, accessDecision, atomic)),
  expiresAt: about("When the token ends.", time(14)),
  conditions: conditions(15, "Approved, Denied, Issued, Expired, Revoked."),
  evidence: about("What the API itself saw.", object(16, accessEvidence)),
  grant: about("What was made for this request.", object(17, accessGrant)),
});

const accessRoleRef = accessPart("AccessRole", "A role that is granted.", {
  kind: about("Role or ClusterRole.", required(oneOf(["Role", "ClusterRole"], str(1)))),
  name: about("Its name.", required(str(2))),
  clusterWide: about("A ClusterRole in all namespaces, and not in that of the profile alone.", bool(3)),
});

const accessBootstrap = accessPart("AccessBootstrapToken", "A bootstrap token that is handed over as well.", {
  ttlSeconds: about("How long it holds; default 900.", int32(1)),
  groups: about("Its extra groups; default that of kubeadm's node tokens.", strings(2, atomic)),
});

const accessRule = accessPart("AccessRule", "A rule that decides by itself.", {
  expression: about("CEL over object, evidence and profile; true means that the rule decides.", required(str(1))),
  effect: about("Approve or Refuse.", required(oneOf(["Approve", "Refuse"], str(2)))),
  message: about("The reason, as a sentence.", str(3)),
});

/** Maximum number of recorded recoveries of one machine, and so of allowed ones. */
export const maxRecoveries = 16;

/** The retention of records of issued credentials. */
const maxSeconds = 400 * 86_400;

/** The conditions, with field numbers from `first` on. */
function terms(first: number): Readonly<Record<string, Field>> {
  return {
    windowSeconds: about(
      "How long after the end of the credential; default 2592000 (30 days).",
      between(60, maxSeconds, int32(first)),
    ),
    times: about("How often in perSeconds; default 3.", between(1, maxRecoveries, int32(first + 1))),
    perSeconds: about("Default 2592000 (30 days).", between(60, maxSeconds, int32(first + 2))),
    networks: about(
      "CIDRs from which, as the API sees the machine; default anywhere.",
      maxItems(64, strings(first + 3, atomic)),
    ),
  };
}

/** The `recovery` of an AccessProfile. */
const accessRecovery = accessPart(
  "AccessRecovery",
  "On which terms a machine whose token has expired gets in again by itself.",
  terms(1),
);

const accessProfileSpec = accessPart("AccessProfileSpec", "What approval grants, and on which terms.", {
  namespace: about("Where the ServiceAccount of each machine lies, and where its roles hold.", required(str(1))),
  roles: about("What is granted there.", maxItems(64, list(2, accessRoleRef, atomic))),
  tokenSeconds: about("How long a token holds, from 600; default 3600.", between(600, yearSeconds, int32(3))),
  audiences: about("Whom tokens are meant for; default the API itself.", strings(4, atomic)),
  bootstrapToken: about("Hands over a bootstrap token too.", object(5, accessBootstrap)),
  approvers: about("How many different approvers must approve; default 1.", between(1, 16, int32(6))),
  pendingSeconds: about(
    "How long a request may wait for an answer; default 86400 (one day).",
    between(60, yearSeconds, int32(7)),
  ),
  sourceNetworks: about("CIDRs that requests must come from; default anywhere.", maxItems(64, strings(8, atomic))),
  requirePossession: about("Refuse requests that do not prove that they hold their key.", bool(9)),
  rules: about(
    "Rules that refuse or approve by themselves, in order; the first that holds decides.",
    maxItems(32, list(10, accessRule, atomic)),
  ),
  recovery: about(
    "On which terms a machine whose token has expired is approved again automatically, with the key that was approved; default not at all.",
    object(11, accessRecovery),
  ),
});

const accessProfileStatus = accessPart("AccessProfileStatus", "Whether what the profile names is there.", {
  conditions: conditions(1, "Ready: whether namespace and roles exist."),
});

/** `AccessRequest`. */
export const accessRequestSchema: ObjectSchema = accessKindSchema(
  "AccessRequest",
  "A request of a machine without a credential; an approver decides; the answer is encrypted to the machine's key.",
  {
    spec: about("The request; it cannot change after creation.", required(object(2, accessRequestSpec))),
    status: about("The decisions, and the sealed answer.", object(3, accessRequestStatus)),
  },
);

/** `AccessProfile`. */
export const accessProfileSchema: ObjectSchema = accessKindSchema(
  "AccessProfile",
  "What approving an AccessRequest grants, and on which terms.",
  {
    spec: about("The terms.", required(object(2, accessProfileSpec))),
    status: about("Whether what it names is there; written by the controller.", object(3, accessProfileStatus)),
  },
);

const recoveryPolicySpec = accessPart("RecoveryPolicySpec", "Which nodes, and on which terms.", {
  nodeNames: about("Exact names, prefix*, *suffix or *.", required(maxItems(64, strings(1, atomic)))),
  ...terms(2),
});

/** `RecoveryPolicy`. */
export const recoveryPolicySchema: ObjectSchema = accessKindSchema(
  "RecoveryPolicy",
  "Nodes with an expired client certificate that prove possession of its key get the next certificate by automatic approval.",
  { spec: about("Which nodes, and on which terms.", required(object(2, recoveryPolicySpec))) },
);
