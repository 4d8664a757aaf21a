/**
 * Every reason that a controller gives, with the type of its Event, in a log line, an Event, a condition and a metric alike. `docs/errors.md` says of each what it
 * means and what to do; a test compares the two.
 */
export const reasons = {
  // Decisions.
  AccessRequestApproved: "Normal",
  AccessRequestDenied: "Normal",
  AccessRequestExpired: "Normal",
  CertificateApproved: "Normal",
  CertificateDenied: "Normal",
  CertificateFailed: "Warning",
  ClusterAccepted: "Normal",
  ClusterDenied: "Normal",
  // What was given out, and taken back.
  AccessGranted: "Normal",
  AccessRevoked: "Normal",
  AccessSuperseded: "Normal",
  BootstrapTokenExpired: "Normal",
  CertificateIssued: "Normal",
  CredentialCloned: "Warning",
  CredentialExpired: "Warning",
  CredentialExpiring: "Warning",
  CredentialRenewed: "Normal",
  CredentialRevoked: "Normal",
  CredentialUnseen: "Warning",
  RevocationRemoved: "Normal",
  // Why a profile cannot be used, or not as it was meant.
  ProfileDefaultAmbiguous: "Warning",
  ProfileNamespaceMissing: "Warning",
  ProfileNamespaceTerminating: "Warning",
  ProfileReady: "Normal",
  ProfileRoleMissing: "Warning",
  // Why nothing is issued.
  AccountRevoked: "Warning",
  AccountTaken: "Warning",
  IssuingFailed: "Warning",
  NameBound: "Warning",
  NoProfile: "Warning",
  OtherKey: "Warning",
  ProfileChanged: "Warning",
  // Why a controller cannot go on.
  AddOnObjectsLeft: "Warning",
  // Manual approval may be what the operator chose.
  ApprovalNotAllowed: "Normal",
  AvailableUnknown: "Warning",
  ClusterNameReserved: "Warning",
  ClusterNotApproved: "Warning",
  ClusterSetupFailed: "Warning",
  InstanceDeletionFailed: "Warning",
  NamesNotAccepted: "Warning",
  NodeNameInUse: "Warning",
  ReconcileFailed: "Warning",
  ReconcileRetried: "Warning",
  RecoveryNotApproved: "Warning",
  RequestNotRecognized: "Warning",
  RequesterCloned: "Warning",
  RequesterRevoked: "Warning",
  ServingNotApproved: "Warning",
  UserRevoked: "Warning",
} as const;

/** One of the reasons of the table. */
export type Reason = keyof typeof reasons;

// What was decided, given out and taken back; all others are marks, which say how something stands and are repeated.
const decisions: ReadonlySet<Reason> = new Set<Reason>([
  "AccessRequestApproved",
  "AccessRequestDenied",
  "CertificateApproved",
  "CertificateDenied",
  "ClusterAccepted",
  "ClusterDenied",
  "AccessGranted",
  "AccessRevoked",
  "AccessSuperseded",
  "CertificateIssued",
  "CredentialCloned",
  "CredentialRenewed",
  "CredentialRevoked",
  "RevocationRemoved",
]);

/** Whether a reason is that of a decision, or of a credential that was issued, locked out or revoked. */
export function isDecision(reason: Reason): boolean {
  return decisions.has(reason);
}
