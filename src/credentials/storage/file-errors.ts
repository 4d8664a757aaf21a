import {
  systemErrorCode,
  systemErrorText,
  systemErrorWords,
  type FailedOperation,
} from "../../apimachinery/system-error.ts";
import { JoinError } from "../join-error.ts";

/** Runs a step on a file; `advice` gives the next step in place of that of the system's errors. @throws JoinError write-failed that names the path */
export async function onFile<T>(
  operation: FailedOperation,
  step: () => Promise<T>,
  advice?: (code: string | undefined) => string,
): Promise<T> {
  try {
    return await step();
  } catch (error) {
    const causeCode = systemErrorCode(error);
    const message =
      advice === undefined
        ? systemErrorText(error, operation)
        : `${systemErrorWords(error, operation).what}: ${advice(causeCode)}`;
    throw new JoinError("write-failed", message, { cause: error, causeCode });
  }
}
