import { Agent as PlainAgent, type IncomingMessage } from "node:http";
import { Agent as TlsAgent } from "node:https";
import { ConnectionError } from "../client/client.ts";
import { exchange, wholeBody } from "../client/exchange.ts";
import { connectThrough, requiredProxy } from "../client/proxy.ts";
import type { Clock } from "../apimachinery/clock.ts";
import { isJsonObject, ownValue } from "../apimachinery/json-value.ts";
import type { CompiledPolicy, Judgement } from "./deciding-policy.ts";

/** An OPA server that is asked. */
export type OpaServer = CompiledPolicy & { readonly retire: () => void; readonly close: () => void };

export interface OpaOptions {
  /** Plain http is left to the caller to judge. */
  readonly url: URL;
  /** Where the rule stands below `data`. */
  readonly path: readonly string[];
  /** For a whole answer, in milliseconds. */
  readonly timeoutMs: number;
  /** The only roots that are trusted; undefined: those of the runtime. */
  readonly caPem: string | undefined;
  readonly token: string | undefined;
  /** Carries every connection to an https:// server; it may hold a password. Undefined: none. */
  readonly proxyUrl?: string | undefined;
  readonly clock: Clock;
}

const maxSockets = 64;
const maxInFlight = 256;
const maxResponseBytes = 1 << 20;

/** A failure of one question; the message holds nothing that the server said. */
class OpaError extends Error {
  override readonly name = "OpaError";
  readonly code: "unreachable" | "failed";
  constructor(code: OpaError["code"], message: string) {
    super(message);
    this.code = code;
  }
}

/**
 * Asks an OPA server over its REST data API, on connections that are kept. Redirects are not followed; an answer in time of status 200
 * that is JSON is the only one that counts. @throws ConnectionError INVALID_PROXY. Source: OPA docs, REST API, "Get a Document (with Input)".
 */
export function opaServer(options: OpaOptions): OpaServer {
  const { timeoutMs, clock } = options;
  const closing = new AbortController();
  const agent = agentFor(options, closing.signal);
  const send = sender(options, agent);
  let underWay = 0;
  let isRetired = false;

  const close = (): void => {
    // A question that came too late may have left a connection to the proxy that is not open yet.
    closing.abort();
    agent.destroy();
  };
  const end = (): void => {
    if (isRetired && underWay === 0) close();
  };

  async function answered(body: Buffer, signal: AbortSignal): Promise<Judgement> {
    const message = await send(body, signal);
    return judgementOf(message.statusCode ?? 0, await wholeText(message));
  }

  async function ask(input: unknown): Promise<Judgement> {
    if (underWay >= maxInFlight) return { error: "too many questions to OPA at once" };
    underWay += 1;
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
      underWay -= 1;
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
