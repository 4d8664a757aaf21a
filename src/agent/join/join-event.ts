import type { JoinErrorCode } from "../../credentials/join-error.ts";

/** What a join tells while it goes on, in this order where all of it happens. Texts and names hold no secret. */
export type JoinEvent =
  /** The first question goes out; nobody is trusted yet. */
  | { readonly kind: "discovering"; readonly server: string }
  /** A try failed for a reason that may pass; told once per reason, and tried again until the discovery time is over. */
  | {
      readonly kind: "retrying";
      readonly code: JoinErrorCode;
      readonly message: string;
      /** How long it is tried in all, in milliseconds; absent while a decision is waited for, which has a time of its own. */
      readonly forMs?: number;
    }
  /** The hub answers again, after a failure that was reported while a decision was waited for. */
  | { readonly kind: "reconnected"; readonly server: string }
  /** The clocks differ by more than 30 seconds: `aheadMs` is how far this one is ahead of the hub's, negative when behind. */
  | { readonly kind: "clock-differs"; readonly aheadMs: number; readonly message: string }
  /** The discovery file and cluster-info name different servers; that of the file is used. */
  | { readonly kind: "server-differs"; readonly used: string; readonly other: string }
  /** The hub is who it should be. `by` tells what vouches for it; `caPins` are the pins of its CA certificates. */
  | {
      readonly kind: "verified";
      readonly server: string;
      readonly caPins: readonly string[];
      readonly by: "pin" | "token" | "file";
    }
  /** The private key is there; `reused` when it was made by an earlier join that did not end. */
  | { readonly kind: "key-ready"; readonly fingerprint: string; readonly reused: boolean }
  | {
      readonly kind: "request-created" | "request-found";
      readonly name: string;
      readonly fingerprint: string;
      readonly nodeName: string;
    }
  /** Nobody has decided yet; `commands` are those with which an approver would. Told once. */
  | {
      readonly kind: "waiting-for-approval";
      readonly name: string;
      readonly fingerprint: string;
      readonly commands: readonly string[];
    }
  /** The hub does not approve the request automatically, and says why: another key holds the node name. Told again when the reason changes. */
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
  /** Nobody has decided on access yet; until then it is waited for, in milliseconds since the epoch. Told once. */
  | {
      readonly kind: "waiting-for-access";
      readonly name: string;
      readonly fingerprint: string;
      readonly commands: readonly string[];
      readonly until: number;
    }
  /** The profile that was requested does not exist on the hub; told again when the message changes. */
  | { readonly kind: "access-profile-missing"; readonly name: string; readonly message: string }
  /** Approved, and the hub cannot issue access until somebody has made what is missing. Told again when the reason is another. */
  | { readonly kind: "access-blocked"; readonly name: string; readonly reason: string; readonly message: string }
  /** Approved and not yet signed. */
  | { readonly kind: "approved"; readonly name: string }
  /** The certificate is there and proven to be ours; `validUntil` in milliseconds since the epoch. */
  | { readonly kind: "issued"; readonly name: string; readonly validUntil: number }
  /** A credential of an earlier join that was interrupted is still good; only the rest of the files was missing. */
  | { readonly kind: "credential-found"; readonly path: string; readonly validUntil: number }
  | { readonly kind: "written"; readonly path: string };

/** Receives the events of a join as they happen; must not throw. */
export type JoinReport = (event: JoinEvent) => void;
