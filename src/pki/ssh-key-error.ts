/** Why a public key in OpenSSH form is refused. */
export type SshKeyErrorCode = "malformed" | "unsupported" | "weak";

/** A public key that cannot be used. The message holds no part of the key. */
export class SshKeyError extends Error {
  override readonly name = "SshKeyError";
  readonly code: SshKeyErrorCode;

  constructor(code: SshKeyErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}
