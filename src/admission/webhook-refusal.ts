import { isJsonObject, ownValue, type JsonObject } from "../apimachinery/json-value.ts";
import { StatusError, type StatusCause, type StatusDetails } from "../apimachinery/status.ts";

/**
 * The error for a request that a webhook refused, made from the Status it gave: at least code 400.
 * Source: apiserver pkg/admission/plugin/webhook/errors ToStatusErr.
 */
export function webhookRefusal(webhook: string, status: JsonObject = {}): StatusError {
  const denied = `admission webhook ${JSON.stringify(webhook)} denied the request`;
  const [message, reason] = [textIn(status, "message"), textIn(status, "reason")];
  const code = ownValue(status, "code");
  const explained = message === "" ? reason : message;
  return new StatusError("", explained === "" ? `${denied} without explanation` : `${denied}: ${explained}`, {
    code: typeof code === "number" && Number.isInteger(code) && code >= 400 && code <= 599 ? code : 400,
    ...(reason === "" ? {} : { foreignReason: reason.slice(0, 256) }),
    ...detailsIn(status),
  });
}

const maxCauses = 64;

function detailsIn(status: JsonObject): { readonly details?: StatusDetails } {
  const details = ownValue(status, "details");
  if (!isJsonObject(details)) return {};
  const retryAfter = ownValue(details, "retryAfterSeconds");
  const causes = ownValue(details, "causes");
  const texts = (["name", "group", "kind", "uid"] as const).flatMap((field) => {
    const text = textIn(details, field);
    return text === "" ? [] : [[field, text]];
  });
  return {
    details: {
      ...(Object.fromEntries(texts) as StatusDetails),
      ...(Array.isArray(causes) ? { causes: causes.slice(0, maxCauses).filter(isJsonObject).map(causeOf) } : {}),
      ...(typeof retryAfter === "number" && Number.isInteger(retryAfter) && retryAfter > 0
        ? { retryAfterSeconds: Math.min(retryAfter, 2 ** 31 - 1) }
        : {}),
    },
  };
}

function causeOf(cause: JsonObject): StatusCause {
  const field = textIn(cause, "field");
  return {
    reason: textIn(cause, "reason"),
    message: textIn(cause, "message"),
    ...(field === "" ? {} : { field }),
  };
}

function textIn(object: JsonObject, field: string): string {
  const value = ownValue(object, field);
  return typeof value === "string" ? value : "";
}
