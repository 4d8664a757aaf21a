import type { Readable, Duplex } from "node:stream";
import { StatusError, badRequest, internalError } from "../../apimachinery/status.ts";
import type { KubeletAnswer, KubeletResponse, KubeletUpgrade } from "./kubelet.ts";
import type { Call } from "../resource-call.ts";
import { breakOff, writeHead } from "../respond.ts";
import { responseWriter } from "../response-writer.ts";
import { upgradeType, type Upgrade } from "../http-types.ts";
import type { Clock } from "../../apimachinery/clock.ts";

/** Milliseconds without a byte after which a connection is closed. Source: kubelet's streamingConnectionIdleTimeout. */
const idleMs = 4 * 3600 * 1000;
/** Milliseconds in which a kubelet must send the reason of a refusal. */
const refusalMs = 10_000;

/** Relays a log as it arrives. @throws StatusError for what the kubelet refuses. Source: apiserver pkg/registry/generic/rest ResponseChecker */
export async function relayLog(call: Call, answer: KubeletAnswer, signal: AbortSignal): Promise<void> {
  const response = responseOf(answer);
  const { status } = response;
  if (status < 200 || status > 206) {
    const text = await refusalText(call, response);
    if (status === 400) throw badRequest(text);
    if (status === 404)
      throw new StatusError("NotFound", text === "" ? "the log was not found" : text, { details: {} });
    throw refusal(call, status, text);
  }
  await relay(call, { status: 200, headers: { "content-type": "text/plain" }, body: response.body }, signal);
}

/** Relays an answer with its status, type and body; no other header, and no redirect. @throws StatusError where the kubelet refuses the hub */
export async function relayAnswer(call: Call, answer: KubeletAnswer, signal: AbortSignal): Promise<void> {
  const response = responseOf(answer);
  const { status, headers, body } = response;
  const isOfHub = status === 401 || status === 403 || (status >= 300 && status < 400);
  const isUnknown = status < 200 || status > 599;
  if (isOfHub || isUnknown) throw refusal(call, status, await refusalText(call, response));
  const type = headers["content-type"];
  const relayed = {
    "content-type": typeof type === "string" ? type : "text/plain",
    "x-content-type-options": "nosniff",
  };
  await relay(call, { status, headers: relayed, body }, signal);
}

/** Answers 101 and carries the bytes of the other protocol until one side ends. @throws StatusError where the kubelet switches to another one than requested */
export async function relayUpgrade(
  call: Call,
  of: { readonly upgrade: Upgrade; readonly answer: KubeletUpgrade; readonly signal: AbortSignal },
): Promise<void> {
  const { upgrade, answer, signal } = of;
  const wanted = upgradeType(call.request);
  const { upgrade: got } = answer.headers;
  if (typeof got !== "string" || got.toLowerCase() !== wanted) {
    answer.socket.destroy();
    throw internalError("error dialing backend: the kubelet switched to another protocol than the client asked for");
  }
  upgrade.socket.write(switchingHead(call, answer));
  call.streaming(101);
  await tunnel({
    client: upgrade.socket,
    clientHead: upgrade.head,
    kubelet: answer.socket,
    kubeletHead: answer.head,
    clock: call.options.clock,
    idleMs,
    signal,
  });
}

const switchedNames: readonly string[] = [
  "upgrade",
  "sec-websocket-accept",
  "sec-websocket-protocol",
  "sec-websocket-extensions",
  "x-stream-protocol-version",
];

function switchingHead(call: Call, { headers }: KubeletUpgrade): string {
  const own = Object.entries(call.common()).flatMap(([name, value]) => [value].flat().map((one) => `${name}: ${one}`));
  const relayed = switchedNames.flatMap((name) => [headers[name] ?? []].flat(2).map((value) => `${name}: ${value}`));
  return ["HTTP/1.1 101 Switching Protocols", "connection: Upgrade", ...own, ...relayed, "", ""].join("\r\n");
}

interface Relayed {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Readable;
}

/** Sends a body no faster than the client reads it; one that the kubelet breaks off ends so that the client knows. */
async function relay(call: Call, { status, headers, body }: Relayed, signal: AbortSignal): Promise<void> {
  const { response, options, flow } = call;
  writeHead(response, status, { "cache-control": "no-cache, private", ...call.common(), ...headers });
  (response as { flushHeaders?: () => void }).flushHeaders?.();
  call.streaming(status);
  const writer = responseWriter({ response, buffer: call.buffer(), turn: () => options.turns.next(flow) });
  const guard = idleGuard({ clock: options.clock, idleMs, cut: () => void body.destroy() });
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      guard.touch();
      writer.push([chunk]);
      await writer.ready();
      if (writer.isClosed()) return;
    }
  } catch {
    breakOff(response);
    return;
  } finally {
    guard.end();
  }
  if (signal.aborted) breakOff(response);
  else writer.end();
}

function refusalText({ options }: Call, { body }: KubeletResponse): Promise<string> {
  return beginningOf(body, { clock: options.clock, ms: refusalMs });
}

/** @throws StatusError where the kubelet has switched protocols without a request for it. */
function responseOf(answer: KubeletAnswer): KubeletResponse {
  if (answer.kind === "response") return answer;
  answer.socket.destroy();
  throw internalError("error dialing backend: the kubelet switched protocols without being asked to");
}

/** A kubelet that refuses the hub does not refuse the client: its code would blame the client's credential. */
function refusal({ info, resource }: Call, status: number, text: string): StatusError {
  const whose = resource.plural === "nodes" ? `node ${info.name}` : `the node of pod ${info.name}`;
  const next =
    status === 401 || status === 403
      ? "; the kubelet must trust the hub's CA (authentication.x509.clientCAFile), and the user kube-apiserver-kubelet-client must be allowed nodes/proxy"
      : "";
  return internalError(`the kubelet of ${whose} answered ${status}${text === "" ? "" : `: ${text}`}${next}`);
}

/** How much of a refusal is relayed, in bytes. */
const maxTextBytes = 2048;

/** The beginning of a body as text, of at most 2048 bytes; what has arrived within `ms` milliseconds where it does not end. */
export async function beginningOf(
  body: Readable,
  { clock, ms }: { readonly clock: Clock; readonly ms: number },
): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  const guard = idleGuard({ clock, idleMs: ms, cut: () => void body.destroy() });
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      length += chunk.length;
      if (length >= maxTextBytes) break;
    }
  } catch {
    // What has arrived is returned.
  }
  guard.end();
  return Buffer.concat(chunks).toString("utf8", 0, maxTextBytes).trim();
}

/** Calls `cut` once nothing has arrived for `idleMs` milliseconds; `touch` is called for each piece, `end` once. */
export function idleGuard({
  clock,
  idleMs,
  cut,
}: Pick<TunnelOptions, "clock" | "idleMs"> & { readonly cut: () => void }): {
  readonly touch: () => void;
  readonly end: () => void;
} {
  const ended = new AbortController();
  let activeAt = clock.now();
  void atDeadline(clock, { deadline: () => activeAt + idleMs, signal: ended.signal, act: cut });
  return {
    touch: () => {
      activeAt = clock.now();
    },
    end: () => ended.abort(),
  };
}

/** Longer waits are taken in parts: timers hold 32 bits. */
const maxSleepMs = 24 * 3600 * 1000;

/** Calls `act` at a moment that may move on meanwhile, in milliseconds of the clock; never after `signal` has aborted. */
export async function atDeadline(
  clock: Clock,
  {
    deadline,
    signal,
    act,
  }: { readonly deadline: () => number; readonly signal: AbortSignal; readonly act: () => void },
): Promise<void> {
  while (!signal.aborted) {
    const leftMs = deadline() - clock.now();
    if (leftMs <= 0) return act();
    await clock.sleep(Math.min(leftMs, maxSleepMs), signal);
  }
}

export interface TunnelOptions {
  readonly client: Duplex;
  /** What the client has sent behind its request. */
  readonly clientHead: Buffer;
  readonly kubelet: Duplex;
  /** What the kubelet has sent behind its answer. */
  readonly kubeletHead: Buffer;
  readonly clock: Clock;
  /** Milliseconds without a byte in either direction after which both connections are closed. */
  readonly idleMs: number;
  /** Closes both connections at once. */
  readonly signal: AbortSignal;
}

/** Milliseconds in which the other side takes what was sent before the end of one side. */
const lingerMs = 30_000;

/**
 * Carries bytes between two connections, each no faster than the other reads, until one of them ends; resolves when both are closed.
 * No byte is read as HTTP any more.
 */
export async function tunnel(options: TunnelOptions): Promise<void> {
  const { client, kubelet, clock, idleMs, signal } = options;
  const ended = new AbortController();
  const cut = (): void => {
    client.destroy();
    kubelet.destroy();
  };
  const both = Promise.all([carry(client, kubelet), carry(kubelet, client)]);
  const { touch, end } = idleGuard({ clock, idleMs, cut });
  client.on("data", touch);
  kubelet.on("data", touch);
  if (options.clientHead.length > 0) kubelet.write(options.clientHead);
  if (options.kubeletHead.length > 0) client.write(options.kubeletHead);
  client.pipe(kubelet);
  kubelet.pipe(client);
  signal.addEventListener("abort", cut, { once: true });
  if (signal.aborted) cut();
  const linger = async (): Promise<void> => {
    await Promise.race([onceClosed(client), onceClosed(kubelet)]);
    await clock.sleep(lingerMs, ended.signal);
    cut();
  };
  void linger();
  await both;
  signal.removeEventListener("abort", cut);
  ended.abort();
  end();
}

/** Ends `to` when `from` has closed, behind what it has still to take; resolves when `from` has closed. */
async function carry(from: Duplex, to: Duplex): Promise<void> {
  from.on("error", () => from.destroy());
  await onceClosed(from);
  to.end();
  // Nothing reads what it still sends.
  to.resume();
}

function onceClosed(stream: Duplex): Promise<void> {
  if (stream.closed) return Promise.resolve();
  return new Promise((resolve) => void stream.once("close", () => resolve()));
}
