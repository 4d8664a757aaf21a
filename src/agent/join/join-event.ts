import type { JoinErrorCode } from "../../credentials/join-error.ts";

/** What a join reports while it runs, in this order where all of it happens. Texts and names contain no secret. */
export type JoinEvent =
  /** The first request is sent; no hub is trusted yet. */
  | { readonly kind: "discovering"; readonly server: string }
  /** A try failed for a temporary reason; reported once per reason, and retried until the discovery timeout. */
  | {
      readonly kind: "retrying";
      readonly code: JoinErrorCode;
      readonly message: string;
      /** The timeout of all tries, in milliseconds; absent during the wait for a decision, which has its own. */
      readonly forMs?: number;
    }
  /** The hub answers again, after a failure that was reported during the wait for a decision. */
  | { readonly kind: "reconnected"; readonly server: string }
  /** The clocks differ by more than 30 seconds: `aheadMs` is how far this one is ahead of the hub's, negative when behind. */
  | { readonly kind: "clock-differs"; readonly aheadMs: number; readonly message: string }
  /** The discovery file and cluster-info name different servers; that of the file is used. */
  | { readonly kind: "server-differs"; readonly used: string; readonly other: string }
  /** The hub is verified. `by` names the evidence; `caPins` are the pins of its CA certificates. */
  | {
      readonly kind: "verified";
      readonly server: string;
      readonly caPins: readonly string[];
      readonly by: "pin" | "token" | "file";
    }
  /** The private key exists; `reused` when an earlier join that did not end has generated it. */
  | { readonly kind: "key-ready"; readonly fingerprint: string; readonly reused: boolean }
  | {
      readonly kind: "request-created" | "request-found";
      readonly name: string;
      readonly fingerprint: string;
      readonly nodeName: string;
    }
  /** The decision is pending; `commands` are those for the approver. Reported once. */
  | {
      readonly kind: "waiting-for-approval";
      readonly name: string;
      readonly fingerprint: string;
      readonly commands: readonly string[];
    }
  /** The hub does not approve the request automatically, and reports why: another key has the node name. Reported again when the reason changes. */
  | { readonly kind: "left-to-approver"; readonly name: string; readonly message: string }
  /** A request for access is on the hub. The words are for the approver to compare. */
  | {
      readonly kind: "access-asked";
      readonly name: string;
      readonly found: boolean;
      readonly fingerprint: string;
      readonly words: readonly string[];
      readonly vouchedBy: "pin" | "nobody";
    }
  /** The decision on access is pending; `until` is the timeout, in milliseconds since the epoch. Reported once. */
  | {
      readonly kind: "waiting-for-access";
      readonly name: string;
      readonly fingerprint: string;
      readonly commands: readonly string[];
      readonly until: number;
    }
  /** The requested profile does not exist on the hub; reported again when the message changes. */
  | { readonly kind: "access-profile-missing"; readonly name: string; readonly message: string }
  /** Approved, and the hub cannot issue access until an administrator has created what is missing. Reported again when the reason changes. */
  | { readonly kind: "access-blocked"; readonly name: string; readonly reason: string; readonly message: string }
  /** Approved and not yet signed. */
  | { readonly kind: "approved"; readonly name: string }
  /** The certificate is issued and verified; `validUntil` in milliseconds since the epoch. */
  | { readonly kind: "issued"; readonly name: string; readonly validUntil: number }
  /** The credential of an earlier interrupted join is still valid; only the rest of the files was missing. */
  | { readonly kind: "credential-found"; readonly path: string; readonly validUntil: number }
  | { readonly kind: "written"; readonly path: string };

/** Receives the events of a join as they happen; must not throw. */
export type JoinReport = (event: JoinEvent) => void;
