/** What kind of fault a value has: not of the type, beyond its range, not of its syntax, a key that is never allowed, or nested beyond 100 levels. */
export type DecodeErrorCode = "type" | "range" | "format" | "forbiddenKey" | "tooDeep";

/** JSON that is not an object of the kind it claims to be; the API answers 400. `path` is where, e.g. `spec.containers[0].name`, empty for the whole. */
export class DecodeError extends Error {
  readonly code: DecodeErrorCode;
  readonly path: string;

  constructor(code: DecodeErrorCode, path: string, message: string) {
    super(message);
    this.name = "DecodeError";
    this.code = code;
    this.path = path;
  }
}
