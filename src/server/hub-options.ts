import type { AuditOptions } from "../audit/audit-backends.ts";
import type { AuthorizationModeOptions } from "../config-files/authorization-members.ts";
import type { ServiceAccountOptions } from "../ca/service-account-issuer.ts";
import type { ConnectionLimits, StreamLimits } from "../apiserver/connections/connection-limiter.ts";
import type { Clock } from "../apimachinery/clock.ts";
import type { LogEntry } from "../apimachinery/log-entry.ts";
import type { OidcFlags } from "../config-files/oidc-flags.ts";
import type { ServingApprovalFlags } from "../config-files/serving-approval.ts";

/** How to run a hub; the command line fills it from flags of the same names. */
export interface HubOptions extends AuditOptions, AuthorizationModeOptions, ServiceAccountOptions {
  readonly dataDir: string;
  readonly bindAddress: string;
  /** 0 picks a free port. */
  readonly securePort: number;
  /** More names and addresses for the serving certificate. */
  readonly tlsSans: readonly string[];
  /** An AuthorizationConfiguration, in place of modes; it is read again when it changes. */
  readonly authorizationConfigFile?: string | undefined;
  readonly anonymousAuth: boolean;
  readonly tokenAuthFile?: string | undefined;
  /** An AuthenticationConfiguration: issuers of JSON web tokens, and which paths need no credential. */
  readonly authenticationConfigFile?: string | undefined;
  /** One issuer without such a file; the two exclude each other. */
  readonly oidc?: (OidcFlags & { readonly signingAlgorithms: readonly string[] }) | undefined;
  /** A service that is asked about tokens that nobody else knows. */
  readonly tokenWebhook?:
    | { readonly configFile: string; readonly version: "v1" | "v1beta1"; readonly cacheMs: number }
    | undefined;
  readonly clusterSigningCertFile?: string | undefined;
  readonly clusterSigningKeyFile?: string | undefined;
  readonly clusterSigningDurationSeconds: number;
  /** Approve the client certificates of nodes that join with a token of `token create`. Counts at the first start only. */
  readonly nodeAutoapprove: boolean;
  /** Approve also nodes that join under a name whose certificate, of another key, is good; default false. Counts at every start. */
  readonly nodeAutoapproveNamesInUse?: boolean;
  /** On what evidence serving certificates of nodes are approved; default never. */
  readonly servingApproval?: ServingApprovalFlags | undefined;
  /** A signed list of revocations that are added before the port opens, for a hub that was restored from a backup. */
  readonly revocationsFile?: string | undefined;
  /** Let clusters join as managed clusters; default not. */
  readonly managedClusters?: { readonly configFile?: string | undefined } | undefined;
  /** Admission plugins to run besides those that always do. */
  readonly enableAdmissionPlugins?: readonly string[];
  /** Admission plugins not to run. */
  readonly disableAdmissionPlugins?: readonly string[];
  /** How wide the door for machines without a credential is; default `defaultAccessRequestLimits`. */
  readonly accessRequests?: AccessRequestLimits;
  /** How many CertificateSigningRequests of one user may be undecided at once; default 5000. */
  readonly maxUndecidedCertificateRequests?: number;
  /** Together with the next one: how many requests are served at once, in shares for the levels of priority. */
  readonly maxRequestsInflight: number;
  /** Default 0. */
  readonly maxMutatingRequestsInflight?: number | undefined;
  /** Default 10000. */
  readonly maxWatchesPerUser?: number | undefined;
  /** The types of a Node's addresses at which its kubelet is asked, best first; default `defaultKubeletAddressTypes`. */
  readonly kubeletPreferredAddressTypes?: readonly string[] | undefined;
  /** PEM of the CAs of the kubelets' serving certificates; default none, and these are not verified. */
  readonly kubeletCertificateAuthority?: string | undefined;
  /** How many connections to kubelets are relayed at once; default `defaultStreamLimits`. */
  readonly streamLimits?: StreamLimits;
  /** How many bytes objects with their history may take in the store; default, as with 0, what `defaultQuotaBytes` finds. */
  readonly quotaBackendBytes?: number | undefined;
  /** How many connections may be open. Default: what the file descriptors of the process allow. */
  readonly connectionLimits?: ConnectionLimits;
  readonly release: string;
  readonly log: (entry: LogEntry) => void;
  /** What the hub takes for the time; default the wall clock. */
  readonly clock?: Clock | undefined;
}

/** How wide the door for machines without a credential is. */
export interface AccessRequestLimits {
  /** New requests a minute from one address; an IPv6 network of 64 bits counts as one. */
  readonly perAddress: number;
  /** New requests a minute from everywhere. */
  readonly inAll: number;
  /** Requests that wait for an answer at once. */
  readonly pending: number;
}

/** What a hub allows that is told nothing else. */
export const defaultAccessRequestLimits: AccessRequestLimits = { perAddress: 30, inAll: 600, pending: 1000 };
