/** A credential, and the file by which other programs find it. */
export interface CredentialName {
  readonly kind: "token" | "client-certificate" | "serving-certificate";
  readonly path: string;
}

/** What an event speaks of: a credential, or the CAs of the hub. */
export interface KeptName {
  readonly kind: CredentialName["kind"] | "ca";
  readonly path: string;
}

/** What an agent that keeps credentials tells while it runs. Times in milliseconds since the epoch; texts hold no secret. */
export type AgentEvent = KeptName &
  (
    | {
        /** It is there, for the account or node `subject`, and will be renewed at `at`. Told once for each that is issued. */
        readonly event: "planned";
        readonly at: number;
        readonly expiresAt: number;
        readonly subject: string;
      }
    /** A certificate was asked for; `found` where an earlier run had done so with the same key. */
    | { readonly event: "requested"; readonly request: string; readonly found: boolean }
    /** The request has no certificate yet; `commands` are those with which an approver would approve it, `waitsFor` is what the hub says of it, once it says so. */
    | {
        readonly event: "waiting";
        readonly request: string;
        readonly commands: readonly string[];
        /** Until when this try waits; the next goes on with the same request. */
        readonly until?: number | undefined;
        readonly waitsFor?: string | undefined;
      }
    | { readonly event: "renewed"; readonly expiresAt: number }
    /** Another CA, of this pin, signs by now, so it will be renewed at `at`, before its time. */
    | { readonly event: "hastened"; readonly at: number; readonly signer: string }
    /** It has expired, and the machine asks to come back with its key; `waitsFor` is what the hub says of that, once it says so. */
    | { readonly event: "returning"; readonly expiresAt: number; readonly waitsFor?: string | undefined }
    /** A try failed; the next one is at `at`. Absent `expiresAt`: there is none yet. */
    | {
        readonly event: "failed";
        readonly message: string;
        readonly at: number;
        readonly expiresAt?: number | undefined;
      }
    /** The hub told of other CAs, which are believed from now on. */
    | { readonly event: "trusts"; readonly pins: readonly string[] }
    /** The hub told of another address, where it was reached; it is in the kubeconfig from now on. */
    | { readonly event: "moved"; readonly server: string }
    /** The hub has refused it time and again since `since`, before its end. Told once for each that is refused, and after a restart. */
    | { readonly event: "refused"; readonly since: number; readonly message: string }
    /** It was refused, and is not any more: the hub takes it again, or another one is there. */
    | { readonly event: "accepted" }
    /** The hub does not take the token any more, and the machine asks for access anew. */
    | { readonly event: "asking-again"; readonly message: string }
    /** It cannot be kept any longer; it is looked at again when its files change. */
    | { readonly event: "lost"; readonly message: string }
    /** It was lost, and can be kept again. */
    | { readonly event: "mended" }
  );

/** Receives the events of an agent as they happen; must not throw. */
export type AgentReport = (event: AgentEvent) => void;
