import type { KeptName } from "./credential-event.ts";
import type { Manager, Turn } from "./run-managers.ts";

/** Where a credential is kept. */
export interface CredentialStorage<Held, Issued> {
  /** Reads what is in use now. @throws JoinError no-access where nothing of use is there */
  readonly open: () => Promise<Held>;
  /** Ends what `open` began. */
  readonly close?: (held: Held) => void;
  /** Puts what was issued in the place of what is in use. @throws JoinError write-failed */
  readonly install: (issued: Issued, held: Held) => Promise<void>;
}

/** What is due for a credential. */
export type DueStep =
  | Exclude<Turn, { readonly kind: "again" }>
  | { readonly kind: "renew" }
  /** It cannot be renewed with itself any more; `run` gets another one. */
  | { readonly kind: "recover"; readonly run: (signal: AbortSignal) => Promise<Turn> };

/** When a credential is renewed; it remembers what was tried. */
export interface RenewalSchedule<Held, Issued> {
  readonly next: (held: Held) => Promise<DueStep>;
  /** Another one is in its place. */
  readonly renewed: (issued: Issued, held: Held) => Promise<void>;
  /** A renewal failed. @throws what is no failure of the world */
  readonly failed: (error: unknown, held: Held, signal: AbortSignal) => Promise<Turn>;
}

/** The parts of which a credential is kept. */
export interface CredentialParts<Held, Answer, Issued> {
  readonly name: KeptName;
  readonly storage: CredentialStorage<Held, Issued>;
  /** Requests the next credential and waits for it. */
  readonly request: (held: Held, signal: AbortSignal) => Promise<Answer>;
  /** Proves that the answer is what was requested and that the hub accepts it. @throws JoinError bad-certificate, clock-skew */
  readonly proof: (answer: Answer, held: Held) => Promise<Issued>;
  readonly schedule: RenewalSchedule<Held, Issued>;
}

/**
 * Keeps one credential: what is in use stays until the next one is requested, proven and installed. Its parts decide where, what, how
 * and when; the order of the steps is the same for all.
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
