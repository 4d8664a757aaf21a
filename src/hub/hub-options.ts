import type { ConnectionLimits } from "../http/connection-limiter.ts";
import type { StreamLimits } from "../http/stream-limiter.ts";
import type { Clock } from "../core/clock.ts";
import type { LogEntry } from "../core/log-entry.ts";
import type { AccessRequestLimits } from "./access-requests.ts";
import type { OidcFlags } from "./oidc-flags.ts";
import type { ServingApprovalFlags } from "./serving-approval.ts";

/** How to run a hub; the command line fills it from flags of the same names. */
export interface HubOptions {
  readonly dataDir: string;
  readonly bindAddress: string;
  /** 0 picks a free port. */
  readonly securePort: number;
  /** More names and addresses for the serving certificate. */
  readonly tlsSans: readonly string[];
  /** Empty where a file names the authorizers instead. */
  readonly authorizationModes: readonly string[];
  /** The policies of mode ABAC, one JSON object on each line. */
  readonly authorizationPolicyFile?: string | undefined;
  /** The service that mode Webhook asks. */
  readonly authorizationWebhook?:
    | {
        readonly configFile: string;
        readonly version: "v1" | "v1beta1";
        readonly authorizedMs: number;
        readonly unauthorizedMs: number;
      }
    | undefined;
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
  /** Where tokens of ServiceAccounts say they come from, first the one for new tokens; default https://kubernetes.default.svc. */
  readonly serviceAccountIssuers?: readonly string[];
  /** The private key that signs new tokens; default the hub's own, made at the first start. */
  readonly serviceAccountSigningKeyFile?: string | undefined;
  /** Further keys whose tokens are believed: public or private keys in PEM, several in a file. */
  readonly serviceAccountKeyFiles?: readonly string[];
  /** The names of the API, for one of which a token must be meant; default the issuers. */
  readonly apiAudiences?: readonly string[];
  /** The longest life that may be asked for; default no bound. */
  readonly serviceAccountMaxTokenExpirationSeconds?: number | undefined;
  /** Let tokens of pods hold a year where a kubelet asks for the usual hour; default true. */
  readonly serviceAccountExtendTokenExpiration?: boolean;
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
  /** An audit.k8s.io/v1 Policy; default that of `default-audit-policy.ts`. */
  readonly auditPolicyFile?: string | undefined;
  /** Admission plugins to run besides those that always do. */
  readonly enableAdmissionPlugins?: readonly string[];
  /** Admission plugins not to run. */
  readonly disableAdmissionPlugins?: readonly string[];
  /** How wide the door for machines without a credential is; default `defaultAccessRequestLimits`. */
  readonly accessRequests?: AccessRequestLimits;
  /** How many CertificateSigningRequests of one user may be undecided at once; default 5000. */
  readonly maxUndecidedCertificateRequests?: number;
  /** Default `audit/audit.log` in the data directory; `-` is stdout, and `none` or nothing writes no log. */
  readonly auditLogPath?: string | undefined;
  /** When the file is put aside; default 100, and 0 never. */
  readonly auditLogMaxSizeMb?: number | undefined;
  /** How many such files are kept; default 10, and 0 keeps all. */
  readonly auditLogMaxBackups?: number | undefined;
  /** How long they are kept; default 30, and 0 keeps them for ever. */
  readonly auditLogMaxAgeDays?: number | undefined;
  /** A kubeconfig whose server is sent the events. */
  readonly auditWebhookConfigFile?: string | undefined;
  /** Default 400. */
  readonly auditWebhookBatchMaxSize?: number | undefined;
  /** Default 30000 (30 seconds). */
  readonly auditWebhookBatchMaxWaitMs?: number | undefined;
  /** Default 10000 (10 seconds). */
  readonly auditWebhookInitialBackoffMs?: number | undefined;
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
