/**
 * Every reason of a controller, with the type of its Event, in log lines, Events, conditions and metrics. `docs/errors.md` describes for each what it
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
  // Issuing and revoking.
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
  // Why a profile cannot be used, or only in part.
  ProfileDefaultAmbiguous: "Warning",
  ProfileNamespaceMissing: "Warning",
  ProfileNamespaceTerminating: "Warning",
  ProfileReady: "Normal",
  ProfileRoleMissing: "Warning",
  // Why no credential is issued.
  AccountRevoked: "Warning",
  AccountTaken: "Warning",
  IssuingFailed: "Warning",
  NameBound: "Warning",
  NoProfile: "Warning",
  OtherKey: "Warning",
  ProfileChanged: "Warning",
  // Why a controller cannot continue.
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

/** One of the reasons of controllers. */
export type Reason = keyof typeof reasons;

/** Every other reason of a log line, with its level. `docs/errors.md` describes for each what it means and what to do; a test compares the two. */
export const logReasons = {
  // The lifecycle of a program.
  Listening: "info",
  Ready: "info",
  Stopped: "info",
  Stopping: "info",
  CommandFailed: "error",
  ConsoleOutput: "info",
  NotifyFailed: "warn",
  ProcessFailed: "error",
  ProcessWarning: "warn",
  // Configuration, files and keys.
  CertificateRenewalFailed: "error",
  CertificateRenewed: "info",
  ConfigurationWarning: "warn",
  PermissionsTooOpen: "warn",
  Reloaded: "info",
  ReloadFailed: "error",
  TrustBundleSelected: "info",
  // The hub and its store.
  AuditFailed: "error",
  ClockBehind: "warn",
  ClockChanged: "warn",
  CompactionFailed: "error",
  CustomResourceNotServed: "error",
  DataDirectoryRestored: "warn",
  EventLoopStalled: "warn",
  HubCreated: "info",
  RecordWriteFailed: "warn",
  RevocationsImported: "info",
  ServiceWriteFailed: "warn",
  StoreWritesAccepted: "info",
  StoreWritesRejected: "error",
  UntrustedSigner: "warn",
  // Requests and connections.
  AcceptFailed: "error",
  AnswerAbandoned: "warn",
  AnswerBrokenOff: "error",
  ConnectionLimitReached: "warn",
  KubeletCredentialPresented: "warn",
  RequestFailed: "error",
  RevokedCredentialUsed: "warn",
  WebhookCallFailed: "warn",
  // Controllers, and the programs for any Kubernetes.
  ControllersStarted: "info",
  EventWriteFailed: "warn",
  ReconcileError: "warn",
  ReconcileRequeued: "debug",
  WatchFailed: "warn",
  LeaderChanged: "info",
  LeaderElected: "info",
  LeaderElectionStarted: "info",
  LeadershipLost: "warn",
  LeaseUpdateFailed: "warn",
  PolicyFailed: "error",
  PolicyUndefined: "warn",
  ReviewDecided: "debug",
  ReviewFailed: "error",
  RevocationsNotServed: "warn",
  RevocationsServed: "info",
  RevocationsSynced: "info",
  RevocationsUnavailable: "warn",
  WebhookRegistered: "info",
  WebhookRegistrationFailed: "warn",
  // The agents.
  AccessRequested: "info",
  AccessRequestedAgain: "warn",
  AgentStarted: "info",
  ApprovalPending: "info",
  AttemptFailed: "warn",
  CertificateRequested: "info",
  ClusterAvailable: "info",
  ClusterCreated: "info",
  ClusterDetached: "error",
  ClusterFound: "info",
  ClusterUnavailable: "error",
  CredentialAccepted: "info",
  CredentialLost: "error",
  CredentialRejected: "error",
  EarlyRenewalScheduled: "info",
  HubLeft: "warn",
  HubSelected: "info",
  RecoveryRequested: "warn",
  RegisteringAgain: "warn",
  RenewalFailed: "warn",
  RenewalRecovered: "info",
  RenewalScheduled: "info",
  RotationCommandFailed: "warn",
  RotationCommandRun: "info",
  ServerAddressUpdated: "info",
  StatusWithheld: "error",
  TrustBundleUpdated: "info",
} as const;

/** One of the reasons of either table. */
export type LogReason = Reason | keyof typeof logReasons;

// Decisions, issued and revoked credentials; all other reasons are marks, which describe a state and repeat.
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
