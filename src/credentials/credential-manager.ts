import type { KeptName } from "./credential-event.ts";
import type { Manager, Turn } from "./run-managers.ts";

/** The storage of a credential. */
export interface CredentialStorage<Held, Issued> {
  /** Reads the credential in use. @throws JoinError no-access where there is none that can be used */
  readonly open: () => Promise<Held>;
  /** Closes what `open` opened. */
  readonly close?: (held: Held) => void;
  /** Replaces the credential in use with the issued one. @throws JoinError write-failed */
  readonly install: (issued: Issued, held: Held) => Promise<void>;
}

/** The next step for a credential. */
export type DueStep =
  | Exclude<Turn, { readonly kind: "again" }>
  | { readonly kind: "renew" }
  /** It can no longer be renewed with itself; `run` gets another one. */
  | { readonly kind: "recover"; readonly run: (signal: AbortSignal) => Promise<Turn> };

/** When a credential is renewed; it stores the tries. */
export interface RenewalSchedule<Held, Issued> {
  readonly next: (held: Held) => Promise<DueStep>;
  /** Another one is installed. */
  readonly renewed: (issued: Issued, held: Held) => Promise<void>;
  /** A renewal failed. @throws any error that is no failure of a call */
  readonly failed: (error: unknown, held: Held, signal: AbortSignal) => Promise<Turn>;
}

/** The parts of a credential manager. */
export interface CredentialParts<Held, Answer, Issued> {
  readonly name: KeptName;
  readonly storage: CredentialStorage<Held, Issued>;
  /** Requests the next credential and waits for it. */
  readonly request: (held: Held, signal: AbortSignal) => Promise<Answer>;
  /** Verifies that the certificate is the requested one and that the hub accepts it. @throws JoinError bad-certificate, clock-skew */
  readonly proof: (answer: Answer, held: Held) => Promise<Issued>;
  readonly schedule: RenewalSchedule<Held, Issued>;
}

/**
 * Renews one credential: the one in use stays until the next one is requested, verified and installed. The parts differ by credential;
 * the order of the steps is the same for all.
 */
export function credentialManager<Held, Answer, Issued>(parts: CredentialParts<Held, Answer, Issued>): Manager {
  const { name, storage, request, proof, schedule } = parts;

  async function renewed(held: Held, signal: AbortSignal): Promise<Turn> {
    let issued: Issued;
    try {
      issued = await proof(await request(held, signal), held);
      await storage.install(issued, held);
    } catch (error) {
      return schedule.failed(error, held, signal);
    }
    await schedule.renewed(issued, held);
    return { kind: "again" };
  }

  return {
    name,
    act: async (signal) => {
      const held = await storage.open();
      try {
        const step = await schedule.next(held);
        switch (step.kind) {
          case "wait":
          case "lost":
            return step;
          case "recover":
            return await step.run(signal);
          case "renew":
            return await renewed(held, signal);
        }
      } finally {
        storage.close?.(held);
      }
    },
  };
}
