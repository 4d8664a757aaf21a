import { isJsonObject } from "../apimachinery/json-value.ts";

/** The names of CAs in the folder; each is the stem of two files, `.crt` and `.key`. */
export interface AuthorityState {
  /** Signs all new certificates. */
  readonly signer: string;
  /** Is trusted already, and signs nothing yet. */
  readonly next?: string;
  /** Signed until the last activation, and is still trusted. */
  readonly previous?: string;
}

/** The phase of a rotation of the CA. */
export type AuthorityPhase = "stable" | "prepared" | "activated";

/** The steps from one CA to the next, in their order; `cancel` undoes `prepare`. */
export type AuthorityStep = "prepare" | "cancel" | "activate" | "revoke";

/** The state of a folder before its first rotation. */
export const firstState: AuthorityState = { signer: "ca" };

/** The phase of the rotation. */
export function phaseOf({ next, previous }: AuthorityState): AuthorityPhase {
  if (previous !== undefined) return "activated";
  return next === undefined ? "stable" : "prepared";
}

/** The state after a step, or the reason why the step is not possible now and which one is. */
export type StepTaken =
  | { readonly kind: "taken"; readonly state: AuthorityState }
  | { readonly kind: "refused"; readonly why: string };

/** Takes a step; `made` is the stem of the new CA for `prepare`. */
export function takeStep(state: AuthorityState, step: AuthorityStep, made = ""): StepTaken {
  const phase = phaseOf(state);
  const taken = (next: AuthorityState): StepTaken => ({ kind: "taken", state: next });
  if (step === "prepare" && phase === "stable") return taken({ signer: state.signer, next: made });
  if (step === "cancel" && state.next !== undefined) return taken({ signer: state.signer });
  if (step === "activate" && state.next !== undefined) return taken({ signer: state.next, previous: state.signer });
  if (step === "revoke" && state.previous !== undefined) return taken({ signer: state.signer });
  return { kind: "refused", why: refusals[phase] };
}

const refusals: Readonly<Record<AuthorityPhase, string>> = {
  stable: "no next CA is prepared; `pratique ca prepare` makes one",
  prepared: "a next CA is prepared and signs nothing yet; `pratique ca activate` comes next",
  activated: "the previous CA is still trusted; `pratique ca revoke` comes next",
};

/** The stems of all trusted CAs, the signer first. */
export function trustedCas({ signer, next, previous }: AuthorityState): readonly string[] {
  return [signer, next, previous].filter((stem) => stem !== undefined);
}

/** The text of a state file. */
export function stateText(state: AuthorityState): string {
  return `${JSON.stringify(state, undefined, 2)}\n`;
}

/** Reads a state file; undefined for invalid text. A stem is never a path out of the folder. */
export function parseState(text: string): AuthorityState | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isJsonObject(value)) return undefined;
  const { signer, next, previous, ...more } = value;
  if (!isStem(signer) || Object.keys(more).length > 0) return undefined;
  if (next !== undefined) return previous === undefined && isOther(next, signer) ? { signer, next } : undefined;
  if (previous === undefined) return { signer };
  return isOther(previous, signer) ? { signer, previous } : undefined;
}

function isOther(value: unknown, signer: string): value is string {
  return isStem(value) && value !== signer;
}

function isStem(value: unknown): value is string {
  return typeof value === "string" && /^ca(-[0-9a-z]{1,32})?$/.test(value);
}
