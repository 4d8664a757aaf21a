import type { AuditOptions } from "../audit/audit-backends.ts";
import type { AuthorizationModeOptions } from "../config-files/authorization-members.ts";
import type { ServiceAccountOptions } from "../ca/service-account-issuer.ts";
import type { ConnectionLimits, StreamLimits } from "../apiserver/connections/connection-limiter.ts";
import type { Clock } from "../apimachinery/clock.ts";
import type { LogEntry } from "../apimachinery/log-entry.ts";
import type { OidcFlags } from "../config-files/oidc-flags.ts";
import type { ServingApprovalFlags } from "../config-files/serving-approval.ts";

/** The options of a hub; the command line fills them from flags of the same names. */
export interface HubOptions extends AuditOptions, AuthorizationModeOptions, ServiceAccountOptions {
  readonly dataDir: string;
  readonly bindAddress: string;
  /** 0 selects a free port. */
  readonly securePort: number;
  /** Additional names and addresses for the serving certificate. */
  readonly tlsSans: readonly string[];
  /** An AuthorizationConfiguration, instead of modes; it is reloaded when it changes. */
  readonly authorizationConfigFile?: string | undefined;
  readonly anonymousAuth: boolean;
  readonly tokenAuthFile?: string | undefined;
  /** An AuthenticationConfiguration: issuers of JSON web tokens, and which paths need no credential. */
  readonly authenticationConfigFile?: string | undefined;
  /** One issuer without such a file; the two exclude each other. */
  readonly oidc?: (OidcFlags & { readonly signingAlgorithms: readonly string[] }) | undefined;
  /** A webhook for tokens that no other authenticator knows. */
  readonly tokenWebhook?:
    | { readonly configFile: string; readonly version: "v1" | "v1beta1"; readonly cacheMs: number }
    | undefined;
  readonly clusterSigningCertFile?: string | undefined;
  readonly clusterSigningKeyFile?: string | undefined;
  readonly clusterSigningDurationSeconds: number;
  /** Approve the client certificates of nodes that join with a token of `token create`. Only effective at the first start. */
  readonly nodeAutoapprove: boolean;
  /** Also approve nodes that join under a name with a valid certificate of another key; default false. Effective at every start. */
  readonly nodeAutoapproveNamesInUse?: boolean;
  /** Which evidence approves serving certificates of nodes; default none. */
  readonly servingApproval?: ServingApprovalFlags | undefined;
  /** A signed list of revocations to add before the port opens, for a hub that was restored from a backup. */
  readonly revocationsFile?: string | undefined;
  /** Accept managed clusters; default no. */
  readonly managedClusters?: { readonly configFile?: string | undefined } | undefined;
  /** Admission plugins to enable besides the default ones. */
  readonly enableAdmissionPlugins?: readonly string[];
  /** Admission plugins to disable. */
  readonly disableAdmissionPlugins?: readonly string[];
  /** Limits for machines without a credential; default `defaultAccessRequestLimits`. */
  readonly accessRequests?: AccessRequestLimits;
  /** The maximum number of undecided CertificateSigningRequests of one user; default 5000. */
  readonly maxUndecidedCertificateRequests?: number;
  /** Together with the next one: the maximum number of requests in flight, shared by the priority levels. */
  readonly maxRequestsInflight: number;
  /** Default 0. */
  readonly maxMutatingRequestsInflight?: number | undefined;
  /** Default 10000. */
  readonly maxWatchesPerUser?: number | undefined;
  /** The types of Node addresses to call a kubelet at, best first; default `defaultKubeletAddressTypes`. */
  readonly kubeletPreferredAddressTypes?: readonly string[] | undefined;
  /** PEM of the CAs of kubelet serving certificates; default none: these are not verified. */
  readonly kubeletCertificateAuthority?: string | undefined;
  /** The maximum number of relayed connections to kubelets; default `defaultStreamLimits`. */
  readonly streamLimits?: StreamLimits;
  /** The maximum bytes of objects with their history in the store; default, as with 0, the result of `defaultQuotaBytes`. */
  readonly quotaBackendBytes?: number | undefined;
  /** The maximum number of open connections. Default: by the file descriptors of the process. */
  readonly connectionLimits?: ConnectionLimits;
  readonly release: string;
  readonly log: (entry: LogEntry) => void;
  /** The clock of the hub; default the wall clock. */
  readonly clock?: Clock | undefined;
}

/** Limits for machines without a credential. */
export interface AccessRequestLimits {
  /** New requests a minute from one address; an IPv6 network of 64 bits counts as one. */
  readonly perAddress: number;
  /** New requests a minute from all addresses. */
  readonly inAll: number;
  /** Requests that wait for an answer at one time. */
  readonly pending: number;
}

/** The default limits. */
export const defaultAccessRequestLimits: AccessRequestLimits = { perAddress: 30, inAll: 600, pending: 1000 };
