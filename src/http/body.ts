import { StatusError } from "../core/status.ts";
import type { Incoming } from "./exchange.ts";

/** The largest body that any request may have, in bytes. Source: apiserver's MaxRequestBodyBytes. */
export const maxBodyBytes: number = 3 * 1024 * 1024;

/** How much of a refused body is still taken, and for how long, so that its sender gets to see the answer. */
const lingerBytes = 16 * 1024 * 1024;
const lingerMs = 5_000;

/** What a body may take. */
export interface BodyLimits {
  readonly timeoutMs: number;
  /** Default 3145728 (3 MiB). */
  readonly maxBytes?: number;
  /** Awaited once, before more than so many bytes are read. What it rejects with ends the reading. */
  readonly large?: { readonly fromBytes: number; readonly admitted: () => Promise<void> };
}

/** Reads a whole body. @throws StatusError RequestEntityTooLarge, Timeout, or BadRequest when the client breaks off. */
export function readBody(request: Incoming, limits: BodyLimits): Promise<Buffer> {
  const { maxBytes = maxBodyBytes, large } = limits;
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
      request.off("data", onData).off("end", onEnd).off("error", onError).off("aborted", onError).off("close", onError);
    };
    const fail = (error: unknown): void => {
      stop();
      linger(request);
      reject(error);
    };
    const onData = (chunk: Buffer): void => {
      size += chunk.length;
      if (size > maxBytes) return fail(tooLarge(maxBytes));
      chunks.push(chunk);
      if (large !== undefined && size > large.fromBytes && !isAdmitted) awaitAdmission(large.admitted);
    };
    let isAdmitted = false;
    const awaitAdmission = (admitted: () => Promise<void>): void => {
      isAdmitted = true;
      request.pause();
      admitted().then(() => request.resume(), fail);
    };
    const onEnd = (): void => {
      stop();
      resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, size));
    };
    const onError = (): void => fail(new StatusError("BadRequest", "the request body ended early"));
    // Who has gone by now will not be heard of again.
    if (request.destroyed) {
      onError();
      return;
    }
    if (Number(request.headers["content-length"] ?? 0) > maxBytes) {
      fail(tooLarge(maxBytes));
      return;
    }
    if (large !== undefined && Number(request.headers["content-length"] ?? 0) > large.fromBytes)
      awaitAdmission(large.admitted);
    request.on("data", onData).on("end", onEnd).on("error", onError).on("aborted", onError).on("close", onError);
  });
}

function tooLarge(maxBytes: number): StatusError {
  return new StatusError("RequestEntityTooLarge", `Request entity too large: limit is ${maxBytes}`);
}

/** Takes the rest of a refused body and forgets it; who sends without end, or never ends, loses the connection. */
function linger(request: Incoming): void {
  let left = lingerBytes;
  const cut = (): void => void request.destroy();
  const timer = setTimeout(cut, lingerMs);
  timer.unref();
  request.on("data", (chunk: Buffer) => {
    left -= chunk.length;
    if (left < 0) cut();
  });
  request.once("error", () => undefined);
  for (const end of ["end", "close"] as const) request.once(end, () => clearTimeout(timer));
}
