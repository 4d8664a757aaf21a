import type { CaPin } from "../../trust/pins.ts";
import { JoinError } from "../../credentials/join-error.ts";

/** What is said of a hub whose CA is none of the pinned ones; `kept` names what it was not told. */
export function pinMismatch(at: {
  /** The endpoint as it may be shown. */
  readonly shown: string;
  readonly wanted: readonly CaPin[];
  readonly found: readonly CaPin[];
  readonly kept: string;
}): JoinError {
  const { shown, wanted, found, kept } = at;
  return new JoinError(
    "pin-mismatch",
    `the CA of the hub at ${shown} is not the pinned one: wanted ${wanted.join(" or ")}, found ${found.join(", ")}. ` +
      `The pin is of another hub, or of a CA that this one has replaced, or the connection is intercepted; ${kept}. ` +
      "The hub prints its pin at its start, and `pratique ca status` beside it shows all of them",
  );
}
