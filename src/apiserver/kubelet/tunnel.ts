import type { Duplex } from "node:stream";
import type { Clock } from "../../apimachinery/clock.ts";

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
  let activeAt = clock.now();
  const touch = (): void => {
    activeAt = clock.now();
  };
  const cut = (): void => {
    client.destroy();
    kubelet.destroy();
  };
  const both = Promise.all([carry(client, kubelet), carry(kubelet, client)]);
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
  const watchIdle = async (): Promise<void> => {
    while (!ended.signal.aborted) {
      const leftMs = activeAt + idleMs - clock.now();
      if (leftMs <= 0) return cut();
      await clock.sleep(leftMs, ended.signal);
    }
  };
  void linger();
  void watchIdle();
  await both;
  signal.removeEventListener("abort", cut);
  ended.abort();
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
