import { errorText } from "../apimachinery/error-text.ts";
import { StatusError } from "../apimachinery/status.ts";
import { ConnectionError } from "./client.ts";

/** What the failure of a call to a server means, for a log line or a person. Nothing is escaped yet. */
export function failureMessage(error: unknown): string {
  if (error instanceof StatusError && error.code === 401)
    return "the server does not accept the credentials (401 Unauthorized)";
  if (error instanceof ConnectionError && error.code === "TIMEOUT") return "the server did not answer in time";
  return errorText(error);
}
