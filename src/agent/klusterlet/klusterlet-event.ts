/** A decision that somebody on the hub has still to make. */
export type OpenDecision = "certificate" | "acceptance";

/** What an agent of a cluster tells while it runs. Times in milliseconds since the epoch; texts hold no secret. */
export type KlusterletEvent =
  | { readonly kind: "started"; readonly cluster: string; readonly agent: string; readonly place: string }
  /** Which hub is spoken to, with the bootstrap credential or with its own. */
  | { readonly kind: "hub"; readonly server: string; readonly as: "bootstrap" | "agent" }
  | { readonly kind: "cluster-created" | "cluster-found"; readonly cluster: string; readonly server: string }
  /** A certificate was asked for; `found` where an earlier run had done so with the same key. */
  | {
      readonly kind: "requested";
      readonly request: string;
      readonly fingerprint: string;
      readonly agent: string;
      readonly found: boolean;
    }
  /** What is waited for; `commands` are those that an approver would type. Told anew when it changes. */
  | {
      readonly kind: "waiting";
      readonly open: readonly OpenDecision[];
      readonly agent: string;
      readonly commands: readonly string[];
    }
  /** Why the request has no certificate yet, as the hub says it: reason and message. Told anew when it changes. */
  | { readonly kind: "left-to-approver"; readonly request: string; readonly message: string }
  | { readonly kind: "issued" | "renewed"; readonly request: string; readonly expiresAt: number }
  /** The certificate in use, and when it will be renewed. */
  | { readonly kind: "planned"; readonly at: number; readonly expiresAt: number }
  /** The hub lets the cluster in, and it beats every so many milliseconds. */
  | { readonly kind: "accepted"; readonly everyMs: number }
  | { readonly kind: "available" }
  | { readonly kind: "unavailable"; readonly message: string }
  /** The hub's clock and this one differ so far that the status is not written. */
  | { readonly kind: "withheld"; readonly message: string }
  /** The hub shuts the cluster out, or does not know it any more. */
  | { readonly kind: "denied" | "detached"; readonly message: string }
  /** Something failed and is tried again, at `at` where that is known. Told once for each reason. */
  | { readonly kind: "failed"; readonly message: string; readonly at?: number | undefined }
  /** The agent registers anew. */
  | { readonly kind: "registering-again"; readonly message: string }
  /** It goes to another hub. */
  | { readonly kind: "leaving-hub"; readonly server: string; readonly message: string }
  /** The hub told of other CAs, or of another address, which are written down. */
  | { readonly kind: "trusts"; readonly pins: readonly string[] }
  | { readonly kind: "moved"; readonly server: string };

/** Receives events as they happen; must not throw. */
export type KlusterletReport = (event: KlusterletEvent) => void;
