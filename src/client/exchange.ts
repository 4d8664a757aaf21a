import { request as plainRequest, type Agent, type IncomingMessage, type OutgoingHttpHeaders } from "node:http";
import { Agent as TlsAgent, request as tlsRequest, type RequestOptions } from "node:https";
import { ConnectionError } from "./client.ts";

/** One request. TLS is used where `agent` is one of `node:https`; `content-length` is added for a body. */
export interface ExchangeOptions extends RequestOptions {
  readonly agent: Agent;
  readonly signal: AbortSignal;
  readonly headers: Readonly<OutgoingHttpHeaders>;
  readonly body?: Buffer | undefined;
  /** How often the request is repeated when the server closed the kept connection that it was sent on. */
  readonly staleRetries: number;
  /** Time without data after which TCP probes the connection, in milliseconds; default: as the agent has it. */
  readonly tcpProbeMs?: number;
  /** The error to throw for a failure of the connection; default: that of node. */
  readonly failure?: (error: NodeJS.ErrnoException) => Error;
}

/**
 * Sends a request and resolves with the head of the reply, whatever its status. @throws what `failure` makes of a failed connection,
 * ConnectionError ABORTED when `signal` aborts, node's own error when the options are not valid
 */
export async function exchange(options: ExchangeOptions): Promise<IncomingMessage> {
  for (let attempt = 0; ; attempt += 1) {
    // Node reports the abort to a request only once it has a connection, for which a proxy may let it wait.
    const outcome = await unlessAborted(send(options), options.signal);
    if ("message" in outcome) return outcome.message;
    // A kept connection that the server has closed meanwhile says nothing about the server.
    const again = outcome.isStale && attempt < options.staleRetries && !options.signal.aborted;
    if (!again) throw options.failure?.(outcome.error) ?? outcome.error;
  }
}

type Outcome =
  | { readonly message: IncomingMessage }
  | { readonly error: NodeJS.ErrnoException; readonly isStale: boolean };

function send({
  body,
  staleRetries: _retries,
  tcpProbeMs,
  failure: _failure,
  ...options
}: ExchangeOptions): Promise<Outcome> {
  return new Promise((resolve) => {
    const start = options.agent instanceof TlsAgent ? tlsRequest : plainRequest;
    const headers = body === undefined ? options.headers : { ...options.headers, "content-length": body.length };
    const request = start({ ...options, headers });
    if (tcpProbeMs !== undefined) request.once("socket", (socket) => socket.setKeepAlive(true, tcpProbeMs));
    request.once("response", (message) => resolve({ message }));
    // Stays attached: an error after the head reaches the message as well. A long body may still be being written when it comes.
    request.on("error", (error: NodeJS.ErrnoException) => {
      resolve({ error, isStale: request.reusedSocket && (error.code === "ECONNRESET" || error.code === "EPIPE") });
    });
    request.end(body);
  });
}

/** The whole body of a reply, or undefined for one of more than `maxBytes`, whose connection is then closed. @throws node's error when it ends early */
export async function wholeBody(message: IncomingMessage, maxBytes: number): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of message as AsyncIterable<Buffer>) {
    length += chunk.length;
    // Leaving the loop destroys the message, and with it the connection.
    if (length > maxBytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** `value`, or the end of waiting for it when `signal` aborts. @throws ConnectionError ABORTED */
export async function unlessAborted<T>(value: T | Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined || !(value instanceof Promise)) return value;
  let stop = (): void => undefined;
  const aborted = new Promise<never>((_resolve, reject) => {
    stop = () => reject(new ConnectionError("ABORTED", "the call was aborted"));
  });
  signal.addEventListener("abort", stop);
  if (signal.aborted) stop();
  try {
    return await Promise.race([value, aborted]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}
