/**
 * Why a patch was not applied. `malformed`: it is not a patch of its type (400). `failed`: it is one, but the object does not
 * allow it (422). `testFailed`: an operation `test` of it fails (422). `tooLarge`: it needs more work than the limit (413).
 */
export type PatchErrorCode = "malformed" | "failed" | "testFailed" | "tooLarge";

/** A patch that was not applied; the object is unchanged. */
export class PatchError extends Error {
  readonly code: PatchErrorCode;

  constructor(code: PatchErrorCode, message: string) {
    super(message);
    this.name = "PatchError";
    this.code = code;
  }
}
