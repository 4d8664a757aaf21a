/** The kind of error of a value: wrong type, out of range, wrong syntax, a forbidden key, or nested beyond 100 levels. */
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
