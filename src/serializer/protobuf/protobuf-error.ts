/** What is wrong with protobuf bytes, or with an object to be encoded. */
export type ProtobufErrorCode =
  /** The bytes do not begin with `k8s\0`. */
  | "magic"
  /** Truncated, overlong or otherwise not a protobuf message. */
  | "malformed"
  /** More bytes or more nested messages than this server accepts. */
  | "too-large"
  /** A known field has another wire type than its own. */
  | "wire-type"
  /** Text that is not UTF-8. */
  | "utf8"
  /** A value outside the range or form of its field. */
  | "value"
  /** No built-in kind of that name. */
  | "unknown-kind"
  /** An envelope in an encoding other than plain protobuf. */
  | "unsupported";

/** Thrown by the protobuf codec; its message contains no contents of the object. */
export class ProtobufError extends Error {
  readonly code: ProtobufErrorCode;

  constructor(code: ProtobufErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "ProtobufError";
    this.code = code;
  }
}
