import { connect, isIP, type Socket } from "node:net";
import { ConnectionError } from "./client.ts";
import type { Proxy, TunnelTarget } from "./proxy.ts";

interface Dialogue {
  readonly socket: Socket;
  /** The next so many bytes. Rejects when the connection ends before. */
  read(length: number): Promise<Buffer>;
}

/** The reply codes. Source: RFC 1928, section 6. */
const replies: readonly string[] = [
  "",
  "it failed",
  "its rules do not allow it",
  "the network cannot be reached",
  "the host cannot be reached",
  "the connection was refused there",
  "the time to live ran out",
  "it does not know the command",
  "it does not know the kind of address",
];

/**
 * A connection through a SOCKS 5 proxy, which resolves names itself. Rejects with node's error where the proxy is unreachable, and with
 * ConnectionError PROXY where it refuses. @see RFC 1928, RFC 1929
 */
export async function socks5(
  proxy: Proxy,
  target: TunnelTarget,
  { signal, silenceMs }: { readonly signal: AbortSignal; readonly silenceMs: number },
): Promise<Socket> {
  const socket = connect({ host: proxy.host, port: proxy.port, signal });
  socket.setTimeout(silenceMs, () => socket.destroy(noAnswer(proxy)));
  const dialogue = dialogueOn(socket);
  try {
    await authenticate(dialogue, proxy);
    await askFor(dialogue, proxy, target);
  } catch (error) {
    socket.destroy();
    throw error;
  }
  socket.setTimeout(0);
  socket.removeAllListeners("timeout").removeAllListeners("readable").removeAllListeners("end");
  return socket;
}

async function authenticate({ socket, read }: Dialogue, proxy: Proxy): Promise<void> {
  const { user, password } = proxy;
  socket.write(user === undefined ? Buffer.from([5, 1, 0]) : Buffer.from([5, 2, 0, 2]));
  const [version, method] = await read(2);
  if (version !== 5) throw refused(proxy, "it does not speak SOCKS 5");
  if (method === 0) return;
  if (method !== 2 || user === undefined) {
    throw refused(proxy, "it wants a user and a password: socks5://USER:PASSWORD@HOST:PORT");
  }
  const name = Buffer.from(user, "utf8");
  const secret = Buffer.from(password, "utf8");
  if (name.length > 255 || secret.length > 255) throw refused(proxy, "user and password may have 255 bytes each");
  socket.write(Buffer.concat([Buffer.from([1, name.length]), name, Buffer.from([secret.length]), secret]));
  const [, status] = await read(2);
  if (status !== 0) throw refused(proxy, "it does not accept the user and the password");
}

async function askFor({ socket, read }: Dialogue, proxy: Proxy, target: TunnelTarget): Promise<void> {
  const port = Buffer.from([target.port >> 8, target.port & 255]);
  socket.write(Buffer.concat([Buffer.from([5, 1, 0]), addressBytes(target.host), port]));
  const [version, status = 1, , kind] = await read(4);
  if (version !== 5) throw refused(proxy, "it does not speak SOCKS 5");
  if (status !== 0) {
    throw refused(proxy, `no way to ${target.host}:${target.port}, ${replies[status] ?? `reply ${status}`}`);
  }
  // The bound address is not used, but precedes the data of the server.
  const length = kind === 1 ? 4 : kind === 4 ? 16 : ((await read(1))[0] ?? 0);
  await read(length + 2);
}

function addressBytes(host: string): Buffer {
  if (isIP(host) === 4) return Buffer.from([1, ...host.split(".").map(Number)]);
  if (isIP(host) === 6) return Buffer.concat([Buffer.from([4]), ipv6Bytes(host)]);
  const name = Buffer.from(host, "latin1");
  return Buffer.concat([Buffer.from([3, name.length]), name]);
}

function ipv6Bytes(host: string): Buffer {
  // The URL parser has written it in its shortest form, without dots.
  const [head = "", tail] = new URL(`http://[${host}]`).hostname.slice(1, -1).split("::");
  const words = (text: string): number[] =>
    text === "" ? [] : text.split(":").map((word) => Number.parseInt(word, 16));
  const before = words(head);
  const after = words(tail ?? "");
  const all = [...before, ...Array.from({ length: 8 - before.length - after.length }, () => 0), ...after];
  return Buffer.from(all.flatMap((word) => [word >> 8, word & 255]));
}

function dialogueOn(socket: Socket): Dialogue {
  let failure: Error | undefined;
  let wake = (): void => undefined;
  socket.on("error", (error: Error) => {
    failure ??= error;
    wake();
  });
  socket.on("end", () => {
    failure ??= new ConnectionError("PROXY", "the proxy closed the connection: check that it speaks SOCKS 5");
    wake();
  });
  socket.on("readable", () => wake());
  return {
    socket,
    read: async (length) => {
      for (;;) {
        const bytes = socket.read(length) as Buffer | null;
        if (bytes !== null && bytes.length === length) return bytes;
        if (failure !== undefined) throw failure;
        await new Promise<void>((resolve) => (wake = resolve));
      }
    },
  };
}

/** For a proxy that was reached and does not reply. */
export function noAnswer({ shown }: Proxy): ConnectionError {
  return new ConnectionError("PROXY", `the proxy ${shown} does not answer: check its address, and that it runs`);
}

function refused({ shown }: Proxy, why: string): ConnectionError {
  return new ConnectionError("PROXY", `the proxy ${shown} refuses: ${why}`);
}
