import type { Clock } from "../../apimachinery/clock.ts";
import type { ServingWish } from "./join-folder.ts";
import type { PrivateFiles } from "../../host/private-files.ts";

/** How a machine learns whom to trust; each way is complete in itself. */
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
      /** Believe whoever can sign with the token; then `pins` must be empty. Default false. */
      readonly unsafeSkipCaVerification?: boolean | undefined;
    }
  | {
      /** A kubeconfig vouches for the hub. */
      readonly kind: "file";
      /** A path, or an https URL that is read with the roots of the system. */
      readonly location: string;
      /** Used in place of the credentials in the file; needed where it has none. */
      readonly token?: string | undefined;
    }
  | {
      /** A kubelet's bootstrap kubeconfig: address, CA and credential, with no questions before the request. */
      readonly kind: "bootstrap-kubeconfig";
      readonly path: string;
    };

/** What a join needs to know; times in milliseconds. */
export interface JoinOptions {
  readonly discovery: Discovery;
  /** Default: the host name in lower case. */
  readonly nodeName?: string | undefined;
  /** Default: see `joinDefaults`; so for `kubeconfig`. */
  readonly certDir?: string | undefined;
  readonly kubeconfig?: string | undefined;
  /** How long to wait for a decision on the request, default 900000 (15 minutes). */
  readonly waitMs?: number | undefined;
  /** How long discovery may try again, default 10000 (10 seconds). */
  readonly discoveryTimeoutMs?: number | undefined;
  /** Join again with a new key, whatever is there. Default false. */
  readonly force?: boolean | undefined;
  /** Leaves word for the agent to keep a serving certificate as well. */
  readonly serving?: ServingWish | undefined;
  /** `wallClock` on a real machine. */
  readonly clock: Clock;
  /** Yields [0, 1); spreads what many machines would else do at once. */
  readonly random?: (() => number) | undefined;
  /** Ends the join with the code `aborted`; a later join goes on where this one stood. */
  readonly signal?: AbortSignal | undefined;
  /** Default: the machine's own. */
  readonly files?: PrivateFiles | undefined;
  /** Default `pratique-agent`. */
  readonly userAgent?: string | undefined;
}

/** What a machine holds after a join. */
export interface Joined {
  /** `already-joined`: an earlier join had done it all, and nothing was changed. */
  readonly outcome: "joined" | "already-joined";
  readonly nodeName: string;
  readonly server: string;
  readonly certDir: string;
  /** The kubeconfig to use. */
  readonly kubeconfig: string;
  /** The link to the file that holds certificate and key. */
  readonly credentialFile: string;
  /** When the certificate expires, in milliseconds since the epoch. */
  readonly validUntil: number;
  /** The name of the certificate request; absent when none was needed. */
  readonly requestName?: string;
}
