/** A decision that an approver on the hub has still to make. */
export type OpenDecision = "certificate" | "acceptance";

/** What an agent of a cluster reports while it runs. Times in milliseconds since the epoch; texts contain no secret. */
export type KlusterletEvent =
  | { readonly kind: "started"; readonly cluster: string; readonly agent: string; readonly place: string }
  /** The hub in use, with the bootstrap credential or with the agent's own. */
  | { readonly kind: "hub"; readonly server: string; readonly as: "bootstrap" | "agent" }
  | { readonly kind: "cluster-created" | "cluster-found"; readonly cluster: string; readonly server: string }
  /** A certificate was requested; `found` where an earlier run had created the request with the same key. */
  | {
      readonly kind: "requested";
      readonly request: string;
      readonly fingerprint: string;
      readonly agent: string;
      readonly found: boolean;
    }
  /** The pending decisions; `commands` are those for the approver. Reported again when it changes. */
  | {
      readonly kind: "waiting";
      readonly open: readonly OpenDecision[];
      readonly agent: string;
      readonly commands: readonly string[];
    }
  /** Why the request has no certificate yet, from the hub's conditions: reason and message. Reported again when it changes. */
  | { readonly kind: "left-to-approver"; readonly request: string; readonly message: string }
  | { readonly kind: "issued" | "renewed"; readonly request: string; readonly expiresAt: number }
  /** The certificate in use, and when it is renewed. */
  | { readonly kind: "planned"; readonly at: number; readonly expiresAt: number }
  /** The hub accepts the cluster, and the agent sends a heartbeat every so many milliseconds. */
  | { readonly kind: "accepted"; readonly everyMs: number }
  | { readonly kind: "available" }
  | { readonly kind: "unavailable"; readonly message: string }
  /** The hub's clock and this one differ too far for the status to be written. */
  | { readonly kind: "withheld"; readonly message: string }
  /** The hub denies the cluster, or no longer knows it. */
  | { readonly kind: "denied" | "detached"; readonly message: string }
  /** Something failed and is retried, at `at` where that is known. Reported once for each reason. */
  | { readonly kind: "failed"; readonly message: string; readonly at?: number | undefined }
  /** The agent registers again. */
  | { readonly kind: "registering-again"; readonly message: string }
  /** The agent switches to another hub. */
  | { readonly kind: "leaving-hub"; readonly server: string; readonly message: string }
  /** The hub's cluster-info has other CAs, or another address, which are stored. */
  | { readonly kind: "trusts"; readonly pins: readonly string[] }
  | { readonly kind: "moved"; readonly server: string };

/** Receives events as they happen; must not throw. */
export type KlusterletReport = (event: KlusterletEvent) => void;
