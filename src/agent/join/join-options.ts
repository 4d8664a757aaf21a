import type { Clock } from "../../apimachinery/clock.ts";
import type { ServingWish } from "./join-folder.ts";
import type { PrivateFiles } from "../../host/private-files.ts";

/** The discovery methods; each is complete in itself. */
export type Discovery =
  | {
      /** A bootstrap token proves the hub to the machine and the machine to the hub. */
      readonly kind: "token";
      /** `host:port` or an https URL. */
      readonly endpoint: string;
      /** `<id>.<secret>`. */
      readonly token: string;
      /** `sha256:<hex>`, one of which a CA of the hub must match. */
      readonly pins: readonly string[];
      /** Trust any hub that can sign with the token; then `pins` must be empty. Default false. */
      readonly unsafeSkipCaVerification?: boolean | undefined;
    }
  | {
      /** A trusted kubeconfig names the hub. */
      readonly kind: "file";
      /** A path, or an https URL that is read with the roots of the system. */
      readonly location: string;
      /** Used in place of the credentials in the file; required where it has none. */
      readonly token?: string | undefined;
    }
  | {
      /** A kubelet's bootstrap kubeconfig: address, CA and credential, with no discovery before the request. */
      readonly kind: "bootstrap-kubeconfig";
      readonly path: string;
    };

/** The parameters of a join; times in milliseconds. */
export interface JoinOptions {
  readonly discovery: Discovery;
  /** Default: the host name in lower case. */
  readonly nodeName?: string | undefined;
  /** Default: see `joinDefaults`; so for `kubeconfig`. */
  readonly certDir?: string | undefined;
  readonly kubeconfig?: string | undefined;
  /** How long to wait for a decision on the request, default 900000 (15 minutes). */
  readonly waitMs?: number | undefined;
  /** How long discovery retries, default 10000 (10 seconds). */
  readonly discoveryTimeoutMs?: number | undefined;
  /** Join again with a new key, whatever exists. Default false. */
  readonly force?: boolean | undefined;
  /** Records that the agent renews a serving certificate as well. */
  readonly serving?: ServingWish | undefined;
  /** `wallClock` on a real machine. */
  readonly clock: Clock;
  /** Returns [0, 1); spreads simultaneous actions of many machines. */
  readonly random?: (() => number) | undefined;
  /** Ends the join with the code `aborted`; a later join resumes it. */
  readonly signal?: AbortSignal | undefined;
  /** Default: the machine's own. */
  readonly files?: PrivateFiles | undefined;
  /** Default `pratique-agent`. */
  readonly userAgent?: string | undefined;
}

/** The result of a join. */
export interface Joined {
  /** `already-joined`: an earlier join was complete, and nothing was changed. */
  readonly outcome: "joined" | "already-joined";
  readonly nodeName: string;
  readonly server: string;
  readonly certDir: string;
  /** The kubeconfig to use. */
  readonly kubeconfig: string;
  /** The link to the file with certificate and key. */
  readonly credentialFile: string;
  /** When the certificate expires, in milliseconds since the epoch. */
  readonly validUntil: number;
  /** The name of the certificate request; absent when none was needed. */
  readonly requestName?: string;
}
