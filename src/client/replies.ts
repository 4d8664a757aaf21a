import { reasonCodes, StatusError } from "../apimachinery/status.ts";
import { isJsonObject } from "../apimachinery/json-value.ts";
import type { StatusDetails, StatusReason } from "../apimachinery/status.ts";

const reasonOfCode: Readonly<Record<number, readonly [StatusReason, string]>> = {
  400: ["BadRequest", "the server rejected our request for an unknown reason"],
  401: ["Unauthorized", "the server has asked for the client to provide credentials"],
  403: ["Forbidden", "the server does not allow this request"],
  404: ["NotFound", "the server could not find the requested resource"],
  405: ["MethodNotAllowed", "the server does not allow this method on the requested resource"],
  406: ["NotAcceptable", "the server was unable to respond with a content type that the client supports"],
  409: ["Conflict", "the server reported a conflict"],
  410: ["Expired", "the requested version is gone"],
  413: ["RequestEntityTooLarge", "the server refused the request because it is too large"],
  415: ["UnsupportedMediaType", "the server does not know the content type of the request"],
  422: ["Invalid", "the server rejected our request due to an error in our request"],
  429: ["TooManyRequests", "the server has received too many requests and has asked us to try again later"],
  500: ["InternalError", "an error on the server has prevented the request from succeeding"],
  503: ["ServiceUnavailable", "the server is currently unable to handle the request"],
  504: ["Timeout", "the server was unable to return a response in the time allotted"],
};

/**
 * The error of a failed reply: its Status where the body is one, else one by the status code. The body is not trusted; a Status of
 * unknown reason keeps its message, and 410 is Expired whatever its reason. The header `Retry-After` precedes that of the body.
 */
export function replyError(code: number, body: unknown, retryAfter?: string): StatusError {
  const [known, text] = reasonOfCode[code] ?? ["" as const, `the server answered ${code}`];
  const status = isJsonObject(body) && body["kind"] === "Status" ? body : undefined;
  const details = withRetryAfter(status?.["details"], retryAfterMs(code, retryAfter));
  const options = details === undefined ? { code } : { code, details };
  if (status === undefined) return new StatusError(known, text, options);
  const { reason, message } = status;
  const detail = typeof message === "string" && message !== "" ? message : text;
  return new StatusError(code === 410 ? "Expired" : reasonOf(reason), detail, options);
}

/** The error inside a watch event of type ERROR; its code is in the Status. */
export function watchError(object: unknown): StatusError {
  const code = isJsonObject(object) && typeof object["code"] === "number" ? object["code"] : 500;
  return replyError(code, object);
}

/** How long to wait before a retry, in milliseconds, when the reply requires one: 429 or 5xx with whole seconds in Retry-After. */
export function retryAfterMs(code: number, header: string | undefined): number | undefined {
  if (code !== 429 && code < 500) return undefined;
  return header !== undefined && /^\d{1,6}$/.test(header) ? Number(header) * 1000 : undefined;
}

/** The JSON value of a reply or of a line of a watch; undefined where it is not JSON. */
export function parsedJson(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString("utf8"));
  } catch {
    return undefined;
  }
}

function withRetryAfter(given: unknown, ms: number | undefined): StatusDetails | undefined {
  const details: StatusDetails | undefined = isJsonObject(given) ? given : undefined;
  return ms === undefined ? details : { ...details, retryAfterSeconds: ms / 1000 };
}

function reasonOf(reason: unknown): StatusReason | "" {
  return typeof reason === "string" && Object.hasOwn(reasonCodes, reason) ? (reason as StatusReason) : "";
}
