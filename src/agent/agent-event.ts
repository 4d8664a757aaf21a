/** What an agent that keeps access tells while it runs. Times in milliseconds since the epoch; texts hold no secret. */
export type AgentEvent =
  /** A token is there; it will be renewed at `at`. Told once for each token. */
  | { readonly kind: "planned"; readonly at: number; readonly expiresAt: number; readonly account: string }
  | { readonly kind: "renewed"; readonly expiresAt: number }
  /** A try failed; the next one is at `at`. */
  | { readonly kind: "failed"; readonly message: string; readonly at: number; readonly expiresAt: number }
  /** The hub does not take the token any more, and the machine asks for access anew. */
  | { readonly kind: "asking-again"; readonly message: string };

/** Receives the events of an agent as they happen; must not throw. */
export type AgentReport = (event: AgentEvent) => void;
