import type { Clock } from "../core/clock.ts";

/** One line of the hub's log; details hold no secrets. */
export interface LogEntry {
  readonly level: "debug" | "info" | "warn" | "error";
  readonly message: string;
  readonly [detail: string]: unknown;
}

/** How to run a hub; the command line fills it from flags of the same names. */
export interface HubOptions {
  readonly dataDir: string;
  readonly bindAddress: string;
  /** 0 picks a free port. */
  readonly securePort: number;
  /** More names and addresses for the serving certificate. */
  readonly tlsSans: readonly string[];
  readonly authorizationModes: readonly string[];
  readonly anonymousAuth: boolean;
  readonly tokenAuthFile?: string | undefined;
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
  readonly auditLogPath?: string | undefined;
  readonly maxRequestsInflight: number;
  readonly release: string;
  readonly log: (entry: LogEntry) => void;
  /** What the hub takes for the time; default the wall clock. */
  readonly clock?: Clock | undefined;
}
