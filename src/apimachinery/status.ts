import { quoted } from "./quoted.ts";

/** Every failure reason of the API, with its HTTP code. Source: apimachinery pkg/api/errors. */
export const reasonCodes = {
  BadRequest: 400,
  Unauthorized: 401,
  Forbidden: 403,
  NotFound: 404,
  MethodNotAllowed: 405,
  NotAcceptable: 406,
  AlreadyExists: 409,
  Conflict: 409,
  Expired: 410,
  RequestEntityTooLarge: 413,
  UnsupportedMediaType: 415,
  Invalid: 422,
  TooManyRequests: 429,
  InternalError: 500,
  ServerTimeout: 500,
  ServiceUnavailable: 503,
  Timeout: 504,
  /** Ours: Kubernetes has none for a store that is full. */
  InsufficientStorage: 507,
} as const;

export type StatusReason = keyof typeof reasonCodes;

/** One cause inside a Status; `reason` is a machine-readable type such as FieldValueInvalid. */
export interface StatusCause {
  readonly reason: string;
  readonly message: string;
  readonly field?: string;
}

export interface StatusDetails {
  readonly name?: string;
  readonly group?: string;
  /** The plural resource, or the Kind where the reason is Invalid. */
  readonly kind?: string;
  readonly uid?: string;
  readonly causes?: readonly StatusCause[];
  readonly retryAfterSeconds?: number;
}

/** The Kubernetes Status object of every error response. */
export interface Status {
  readonly kind: "Status";
  readonly apiVersion: "v1";
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly status: "Success" | "Failure";
  readonly message?: string;
  /** A `StatusReason`, empty, or the own reason of a webhook. */
  readonly reason?: string;
  readonly details?: StatusDetails;
  readonly code?: number;
}

/** The one error that reaches clients; `reason` is the discriminant. Its message contains no secret. */
export class StatusError extends Error {
  readonly reason: StatusReason | "";
  readonly code: number;
  readonly details: StatusDetails | undefined;
  /** Sent in place of `reason`, where a webhook returned a reason of its own. */
  readonly foreignReason: string | undefined;
  /** A token to continue after an expired page of a list. */
  readonly continue: string | undefined;

  constructor(
    reason: StatusReason | "",
    message: string,
    options: {
      readonly details?: StatusDetails;
      readonly code?: number;
      readonly foreignReason?: string;
      readonly continue?: string;
    } = {},
  ) {
    super(message);
    this.name = "StatusError";
    this.reason = reason;
    this.code = options.code ?? (reason === "" ? 500 : reasonCodes[reason]);
    this.details = options.details;
    this.foreignReason = options.foreignReason;
    this.continue = options.continue;
  }

  /** The Status object to send. */
  toStatus(): Status {
    const reason = this.foreignReason ?? this.reason;
    return {
      kind: "Status",
      apiVersion: "v1",
      metadata: this.continue === undefined ? {} : { continue: this.continue },
      status: "Failure",
      message: this.message,
      ...(reason === "" ? {} : { reason }),
      ...(this.details === undefined ? {} : { details: this.details }),
      code: this.code,
    };
  }
}

/** A group and plural, enough to name a resource in a message. */
export interface GroupResource {
  readonly group: string;
  readonly plural: string;
}

/** `plural.group`, or the plural alone for the core group. */
export function qualified(resource: GroupResource): string {
  return resource.group === "" ? resource.plural : `${resource.plural}.${resource.group}`;
}

function about(resource: GroupResource, name: string): StatusDetails {
  return {
    ...(name === "" ? {} : { name }),
    ...(resource.group === "" ? {} : { group: resource.group }),
    kind: resource.plural,
  };
}

export function badRequest(message: string): StatusError {
  return new StatusError("BadRequest", message);
}

export function unauthorized(): StatusError {
  return new StatusError("Unauthorized", "Unauthorized");
}

export function notFound(resource: GroupResource, name: string): StatusError {
  return new StatusError("NotFound", `${qualified(resource)} ${quoted(name)} not found`, {
    details: about(resource, name),
  });
}

export function alreadyExists(resource: GroupResource, name: string): StatusError {
  return new StatusError("AlreadyExists", `${qualified(resource)} ${quoted(name)} already exists`, {
    details: about(resource, name),
  });
}

export function conflict(resource: GroupResource, name: string, why: string): StatusError {
  return new StatusError(
    "Conflict",
    `Operation cannot be fulfilled on ${qualified(resource)} ${quoted(name)}: ${why}`,
    { details: about(resource, name) },
  );
}

export const staleObject =
  "the object has been modified; please apply your changes to the latest version and try again";

/** Forbidden in the API's wording: `pods "x" is forbidden: why`, or `pods is forbidden: why` without a name. */
export function forbidden(resource: GroupResource, name: string, why: string, causes?: StatusCause[]): StatusError {
  const what = name === "" ? qualified(resource) : `${qualified(resource)} ${quoted(name)}`;
  return new StatusError("Forbidden", `${what} is forbidden: ${why}`, {
    details: { ...about(resource, name), ...(causes === undefined ? {} : { causes }) },
  });
}

export function methodNotAllowed(resource: GroupResource, action: string): StatusError {
  return new StatusError(
    "MethodNotAllowed",
    `${action} is not supported on resources of kind ${quoted(qualified(resource))}`,
    {
      details: about(resource, ""),
    },
  );
}

export function internalError(message: string): StatusError {
  return new StatusError("InternalError", `Internal error occurred: ${message}`, {
    details: { causes: [{ reason: "", message }] },
  });
}
