import { createServer as createHttpServer, type IncomingMessage } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";

/** A proxy on a real socket of this machine. It carries every connection to one port here, whatever place was asked for. */
export interface TestProxy {
  readonly port: number;
  /** `HOST:PORT` of every connection that was asked for, with `USER:PASSWORD@` where they were given. */
  readonly asked: readonly string[];
  close(): Promise<void>;
}

export interface TestProxyOptions {
  /** Where connections go. */
  readonly to: number;
  /** `USER:PASSWORD` that it wants. */
  readonly wants?: string;
  /** Its own certificate: then it is spoken to over TLS. */
  readonly tls?: { readonly cert: string; readonly key: string };
}

/** A proxy for HTTP CONNECT. */
export async function startConnectProxy(options: TestProxyOptions): Promise<TestProxy> {
  const asked: string[] = [];
  const server = options.tls === undefined ? createHttpServer() : createHttpsServer(options.tls);
  server.on("connect", (request: IncomingMessage, socket: Socket) => {
    socket.on("error", () => undefined);
    const [, basic = ""] = (request.headers["proxy-authorization"] ?? "").split(" ");
    const user = Buffer.from(basic, "base64").toString();
    asked.push(`${user === "" ? "" : `${user}@`}${request.url}`);
    if (options.wants !== undefined && options.wants !== user) {
      socket.end(
        "HTTP/1.1 407 Proxy Authentication Required\r\nproxy-authenticate: Basic\r\ncontent-length: 0\r\n\r\n",
      );
      return;
    }
    carry(socket, options.to, "HTTP/1.1 200 Connection established\r\n\r\n");
  });
  return listening(server, asked);
}

/** A proxy for SOCKS 5. @see RFC 1928, RFC 1929 */
export async function startSocksProxy(options: TestProxyOptions): Promise<TestProxy> {
  const asked: string[] = [];
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    void talk(socket, asked, options).catch(() => socket.destroy());
  });
  return listening(server, asked);
}

async function talk(socket: Socket, asked: string[], { to, wants }: TestProxyOptions): Promise<void> {
  const [, count = 0] = await bytes(socket, 2);
  const methods = await bytes(socket, count);
  const method = wants === undefined ? 0 : 2;
  if (!methods.includes(method)) return void socket.end(Buffer.from([5, 255]));
  socket.write(Buffer.from([5, method]));
  const user = method === 2 ? await userOf(socket) : "";
  if (method === 2) {
    socket.write(Buffer.from([1, user === wants ? 0 : 1]));
    if (user !== wants) return void socket.end();
  }
  const [, , , kind = 0] = await bytes(socket, 4);
  const host = await hostOf(socket, kind);
  const port = (await bytes(socket, 2)).readUInt16BE();
  asked.push(`${user === "" ? "" : `${user}@`}${host}:${port}`);
  // It answers with the address that it is bound to, here one of IPv6.
  carry(socket, to, Buffer.from([5, 0, 0, 4, ...Array.from({ length: 18 }, () => 0)]));
}

async function userOf(socket: Socket): Promise<string> {
  const [, length = 0] = await bytes(socket, 2);
  const name = await bytes(socket, length);
  const [secretLength = 0] = await bytes(socket, 1);
  return `${name.toString()}:${(await bytes(socket, secretLength)).toString()}`;
}

async function hostOf(socket: Socket, kind: number): Promise<string> {
  if (kind === 1) return [...(await bytes(socket, 4))].join(".");
  if (kind === 4) return `[${(await bytes(socket, 16)).toString("hex")}]`;
  const [length = 0] = await bytes(socket, 1);
  return (await bytes(socket, length)).toString();
}

async function bytes(socket: Socket, length: number): Promise<Buffer> {
  if (length === 0) return Buffer.alloc(0);
  for (;;) {
    const found = socket.read(length) as Buffer | null;
    if (found !== null) return found;
    if (socket.readableEnded || socket.destroyed) throw new TypeError("the client has gone");
    await new Promise((resolve) => {
      for (const event of ["readable", "end", "close"]) socket.once(event, resolve);
    });
  }
}

function carry(socket: Socket, to: number, greeting: string | Buffer): void {
  const onward = connect(to, "127.0.0.1", () => {
    socket.write(greeting);
    socket.pipe(onward).pipe(socket);
  });
  onward.on("error", () => socket.destroy());
  socket.on("close", () => onward.destroy());
}

async function listening(server: Server, asked: readonly string[]): Promise<TestProxy> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    asked,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}
