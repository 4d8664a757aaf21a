import {
  StatusError,
  internalError,
  type Status,
  type StatusCause,
  type StatusDetails,
} from "../apimachinery/status.ts";
import type { Reply } from "./http-types.ts";
import { truncate } from "../apimachinery/truncate.ts";

/** The Status for any error of a handler: a StatusError as it is, anything else as an InternalError that names only the request. */
export function statusOf(error: unknown, requestId: string): Status {
  if (error instanceof StatusError) return error.toStatus();
  return internalError(`the hub's log has the cause under request ${requestId}`).toStatus();
}

/** A Status as a reply; `Retry-After` follows from its details. */
export function statusReply(status: Status): Reply {
  const retryAfter = status.details?.retryAfterSeconds;
  return {
    status: status.code ?? 200,
    contentType: "application/json",
    body: JSON.stringify(bounded(status)),
    headers: {
      ...(retryAfter === undefined ? {} : { "retry-after": String(retryAfter) }),
      ...(status.code === 403 ? { "x-content-type-options": "nosniff" } : {}),
    },
  };
}

/** What a reply may quote of a request, in characters, so that a refusal costs less than the request. */
const maxCharacters = { message: 16_384, cause: 2_048, name: 1_024 } as const;
const maxCauses = 64;
/** All causes together, in characters of their messages and fields. */
const allCauses = 32_768;

function bounded(status: Status): Status {
  const { message, details } = status;
  return {
    ...status,
    ...(message === undefined ? {} : { message: truncate(message, maxCharacters.message) }),
    ...(details === undefined ? {} : { details: boundedDetails(details) }),
  };
}

function boundedDetails(details: StatusDetails): StatusDetails {
  const { name, causes } = details;
  return {
    ...details,
    ...(name === undefined ? {} : { name: truncate(name, maxCharacters.name) }),
    ...(causes === undefined ? {} : { causes: boundedCauses(causes) }),
  };
}

/** The first causes, as many as there is room for; at least one. */
function boundedCauses(causes: readonly StatusCause[]): readonly StatusCause[] {
  const shown = causes.slice(0, maxCauses).map(boundedCause);
  let left = allCauses;
  const fitting = shown.findIndex(({ message, field = "" }, index) => {
    left -= message.length + field.length;
    return left < 0 && index > 0;
  });
  return fitting < 0 ? shown : shown.slice(0, fitting);
}

function boundedCause(cause: StatusCause): StatusCause {
  const { message, field } = cause;
  return {
    ...cause,
    message: truncate(message, maxCharacters.cause),
    ...(field === undefined ? {} : { field: truncate(field, maxCharacters.name) }),
  };
}

const escapes: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;" };

/** A request that was not allowed because an authorizer failed: 500 in plain text. Source: apiserver endpoints/handlers/responsewriters InternalError. */
export class UndecidedRequest extends Error {
  override readonly name = "UndecidedRequest";
  readonly code = "authorizer";

  constructor(uri: string, why: string) {
    const text = `Internal Server Error: ${JSON.stringify(uri)}: ${why}`;
    super(text.replaceAll(/[&<>]/g, (character) => escapes[character] ?? character));
  }
}
