import { Agent as PlainAgent, type IncomingMessage } from "node:http";
import { Agent as TlsAgent } from "node:https";
import { ConnectionError } from "../client/client.ts";
import { exchange, wholeBody } from "../client/exchange.ts";
import { connectThrough, requiredProxy } from "../client/proxy.ts";
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
  readonly code: "unreachable" | "failed";
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
    const message = await send(body, signal);
    return judgementOf(message.statusCode ?? 0, await wholeText(message));
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
  const target = {
    method: "POST",
    host: url.hostname.replace(/^\[|\]$/g, ""),
    port: url.port === "" ? (url.protocol === "https:" ? 443 : 80) : Number(url.port),
    path: `${url.pathname.replace(/\/+$/, "")}/v1/data/${path.map(encodeURIComponent).join("/")}`,
    agent,
    staleRetries: 1,
    failure: unreachable,
  };
  const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const headers = { "content-type": "application/json", ...authorization };
  return (body, signal) => exchange({ ...target, headers, body, signal });
}

function unreachable(error: NodeJS.ErrnoException): OpaError {
  const why = error instanceof ConnectionError ? error.message : (error.code ?? "failed");
  return new OpaError("unreachable", `OPA cannot be asked: ${why}`);
}

function agentFor({ url, caPem, proxyUrl }: OpaOptions, signal: AbortSignal): PlainAgent | TlsAgent {
  const kept = { keepAlive: true, maxSockets, maxFreeSockets: maxSockets };
  if (url.protocol !== "https:") return new PlainAgent(kept);
  const ca = caPem === undefined ? {} : { ca: caPem };
  const agent = new TlsAgent({ ...kept, minVersion: "TLSv1.2", rejectUnauthorized: true, ...ca });
  if (proxyUrl !== undefined) connectThrough(agent, requiredProxy(proxyUrl), { caPem, signal });
  return agent;
}

async function wholeText(message: IncomingMessage): Promise<string> {
  const body = await wholeBody(message, maxResponseBytes).catch(() => {
    throw new OpaError("failed", "the answer of OPA ended early");
  });
  if (body === undefined) throw new OpaError("failed", `the answer of OPA is longer than ${maxResponseBytes} bytes`);
  return body.toString("utf8");
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
