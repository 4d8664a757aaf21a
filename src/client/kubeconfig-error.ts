/** Why a kubeconfig cannot be used. */
export type KubeconfigErrorCode =
  | "unparseable"
  | "wrong-type"
  | "missing"
  | "bad-value"
  | "conflict"
  | "unsupported"
  | "unreadable-file";

/** A kubeconfig that cannot be used. The message names file and field, and holds no credential. */
export class KubeconfigError extends Error {
  readonly code: KubeconfigErrorCode;

  constructor(code: KubeconfigErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "KubeconfigError";
    this.code = code;
  }
}
