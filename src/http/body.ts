import { StatusError } from "../core/status.ts";
import type { Incoming } from "./exchange.ts";

/** The largest request body, in bytes. Source: apiserver's MaxRequestBodyBytes. */
export const maxBodyBytes: number = 3 * 1024 * 1024;

/** Reads a whole body. @throws StatusError RequestEntityTooLarge, BadRequest when the client breaks off or is too slow. */
export function readBody(request: Incoming, limits: { readonly timeoutMs: number }): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const timer = setTimeout(
      () => fail(new StatusError("Timeout", "Timeout: request body was not received in time")),
      limits.timeoutMs,
    );
    timer.unref();
    const stop = (): void => {
      clearTimeout(timer);
      request.off("data", onData).off("end", onEnd).off("error", onError).off("aborted", onError);
    };
    const fail = (error: StatusError): void => {
      stop();
      request.resume();
      reject(error);
    };
    const onData = (chunk: Buffer): void => {
      size += chunk.length;
      if (size > maxBodyBytes)
        fail(new StatusError("RequestEntityTooLarge", `Request entity too large: limit is ${maxBodyBytes}`));
      else chunks.push(chunk);
    };
    const onEnd = (): void => {
      stop();
      resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, size));
    };
    const onError = (): void => fail(new StatusError("BadRequest", "the request body ended early"));
    request.on("data", onData).on("end", onEnd).on("error", onError).on("aborted", onError);
  });
}
