import { Agent as PlainAgent, request as plainRequest, type IncomingMessage, type RequestOptions } from "node:http";
import { Agent as TlsAgent, request as tlsRequest } from "node:https";
import { ConnectionError } from "../client/client.ts";
import { connectThrough, requiredProxy } from "../client/proxy.ts";
import { unlessAborted } from "../client/transport.ts";
import type { Clock } from "../apimachinery/clock.ts";
import { isJsonObject, ownValue } from "../apimachinery/json-value.ts";
import type { CompiledPolicy, Judgement } from "./deciding-policy.ts";

/** The address and limits of an OPA server. */
export type OpaServer = CompiledPolicy & { readonly retire: () => void; readonly close: () => void };

export interface OpaOptions {
  /** The caller decides whether plain http is acceptable. */
  readonly url: URL;
  /** The path of the rule below `data`. */
  readonly path: readonly string[];
  /** For a whole reply, in milliseconds. */
  readonly timeoutMs: number;
  /** The only roots that are trusted; undefined: those of the runtime. */
  readonly caPem: string | undefined;
  readonly token: string | undefined;
  /** Carries every connection to an https:// server; it may contain a password. Undefined: none. */
  readonly proxyUrl?: string | undefined;
  readonly clock: Clock;
}

const maxSockets = 64;
const maxInFlight = 256;
const maxResponseBytes = 1 << 20;

/** A failure of one query; the message contains nothing from the server. */
class OpaError extends Error {
  override readonly name = "OpaError";
  readonly code: "stale" | "unreachable" | "failed";
  constructor(code: OpaError["code"], message: string) {
    super(message);
    this.code = code;
  }
}

/**
 * Queries an OPA server over its REST data API, on kept-alive connections. Redirects are not followed; the only valid reply is JSON with
 * status 200 in time. @throws ConnectionError INVALID_PROXY. Source: OPA docs, REST API, "Get a Document (with Input)".
 */
export function opaServer(options: OpaOptions): OpaServer {
  const { timeoutMs, clock } = options;
  const closing = new AbortController();
  const agent = agentFor(options, closing.signal);
  const send = sender(options, agent);
  let inFlight = 0;
  let isRetired = false;

  const close = (): void => {
    // A query that timed out may have left a connection to the proxy that is still opening.
    closing.abort();
    agent.destroy();
  };
  const end = (): void => {
    if (isRetired && inFlight === 0) close();
  };

  async function answered(body: Buffer, signal: AbortSignal): Promise<Judgement> {
    const sent = send(body, signal).catch((error: unknown) => {
      if (error instanceof OpaError && error.code === "stale" && !signal.aborted) return send(body, signal);
      throw error;
    });
    // Node passes the abort to a request only once it has a connection, for which it may wait on a proxy.
    const message = await unlessAborted(sent, signal);
    return judgementOf(message.statusCode ?? 0, await wholeBody(message));
  }

  async function ask(input: unknown): Promise<Judgement> {
    if (inFlight >= maxInFlight) return { error: "too many questions to OPA at once" };
    inFlight += 1;
    const [late, done] = [new AbortController(), new AbortController()];
    void clock.sleep(timeoutMs, done.signal).then(() => {
      if (!done.signal.aborted) late.abort();
    });
    try {
      return await answered(Buffer.from(JSON.stringify({ input })), late.signal);
    } catch (error) {
      if (late.signal.aborted) return { error: "OPA did not answer in time", away: "timedOut" };
      const isAway = error instanceof OpaError && error.code === "unreachable";
      return {
        error: error instanceof Error ? error.message : "OPA cannot be asked",
        ...(isAway ? { away: "unreachable" as const } : {}),
      };
    } finally {
      done.abort();
      inFlight -= 1;
      end();
    }
  }

  return {
    ask,
    retire: () => {
      isRetired = true;
      end();
    },
    close,
  };
}

type Send = (body: Buffer, signal: AbortSignal) => Promise<IncomingMessage>;

function sender({ url, path, token }: OpaOptions, agent: PlainAgent | TlsAgent): Send {
  const isTls = url.protocol === "https:";
  const start = isTls ? tlsRequest : plainRequest;
  const target: RequestOptions = {
    method: "POST",
    host: url.hostname.replace(/^\[|\]$/g, ""),
    port: url.port === "" ? (isTls ? 443 : 80) : Number(url.port),
    path: `${url.pathname.replace(/\/+$/, "")}/v1/data/${path.map(encodeURIComponent).join("/")}`,
    agent,
  };
  const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` };
  return (body, signal) =>
    new Promise((resolve, reject) => {
      const headers = { "content-type": "application/json", "content-length": body.length, ...authorization };
      const request = start({ ...target, headers, signal });
      request.once("response", resolve);
      request.on("error", (error: NodeJS.ErrnoException) => {
        // A kept-alive connection that the server has closed is no failure of the server.
        const isStale = request.reusedSocket && (error.code === "ECONNRESET" || error.code === "EPIPE");
        const why = error instanceof ConnectionError ? error.message : (error.code ?? "failed");
        reject(new OpaError(isStale ? "stale" : "unreachable", `OPA cannot be asked: ${why}`));
      });
      request.end(body);
    });
}

function agentFor({ url, caPem, proxyUrl }: OpaOptions, signal: AbortSignal): PlainAgent | TlsAgent {
  const kept = { keepAlive: true, maxSockets, maxFreeSockets: maxSockets };
  if (url.protocol !== "https:") return new PlainAgent(kept);
  const ca = caPem === undefined ? {} : { ca: caPem };
  const agent = new TlsAgent({ ...kept, minVersion: "TLSv1.2", rejectUnauthorized: true, ...ca });
  if (proxyUrl !== undefined) connectThrough(agent, requiredProxy(proxyUrl), { caPem, signal });
  return agent;
}

async function wholeBody(message: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of message as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > maxResponseBytes)
        throw new OpaError("failed", `the answer of OPA is longer than ${maxResponseBytes} bytes`);
      chunks.push(chunk);
    }
  } catch (error) {
    throw error instanceof OpaError ? error : new OpaError("failed", "the answer of OPA ended early");
  }
  return Buffer.concat(chunks).toString("utf8");
}

function judgementOf(status: number, body: string): Judgement {
  if (status !== 200) return { error: `OPA answered with status ${status}` };
  let answer: unknown;
  try {
    answer = JSON.parse(body) as unknown;
  } catch {
    return { error: "the answer of OPA is not JSON" };
  }
  if (!isJsonObject(answer)) return { error: "the answer of OPA is no object" };
  const id = ownValue(answer, "decision_id");
  const named = typeof id === "string" && /^[\w.:-]{1,128}$/.test(id) ? { decisionId: id } : {};
  const result = ownValue(answer, "result");
  return { json: result === undefined ? undefined : JSON.stringify(result), ...named };
}
