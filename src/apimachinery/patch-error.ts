/**
 * Why a patch was not applied. `malformed`: it is no patch of its type (400). `failed`: it is one, and the object does not
 * admit it (422). `testFailed`: an operation `test` of it does not hold (422). `tooLarge`: it asks for more work than is granted (413).
 */
export type PatchErrorCode = "malformed" | "failed" | "testFailed" | "tooLarge";

/** A patch that was not applied; nothing was changed. */
export class PatchError extends Error {
  readonly code: PatchErrorCode;

  constructor(code: PatchErrorCode, message: string) {
    super(message);
    this.name = "PatchError";
    this.code = code;
  }
}
