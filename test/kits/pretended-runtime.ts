import { createServer, type Socket } from "node:net";

/** A container runtime that runs nothing: a kubelet starts with it, registers its node and serves. */
export interface PretendedRuntime {
  /** For `--container-runtime-endpoint`. */
  readonly endpoint: string;
  close(): void;
}

const frames = { data: 0, headers: 1, settings: 4, ping: 6, windowUpdate: 8 } as const;
const flags = { ack: 1, endStream: 1, endHeaders: 4 } as const;
const preface = 24;

/**
 * Serves the Container Runtime Interface on a Unix socket: the first call of a connection, which asks for the version, is told it, and
 * all others that there is nothing. HTTP/2 is spoken by hand: kubelets give the path of the socket for the authority, which node refuses.
 */
export async function pretendedRuntime(path: string): Promise<PretendedRuntime> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    speak(socket);
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  const close = (): void => {
    for (const socket of sockets) socket.destroy();
    server.close();
  };
  return { endpoint: `unix://${path}`, close };
}

function speak(socket: Socket): void {
  let waiting = Buffer.alloc(0);
  let hasBegun = false;
  const send = (type: number, flag: number, stream: number, payload: Buffer = Buffer.alloc(0)): void => {
    const head = Buffer.alloc(9);
    head.writeUIntBE(payload.length, 0, 3);
    head.writeUInt8(type, 3);
    head.writeUInt8(flag, 4);
    head.writeUInt32BE(stream, 5);
    socket.write(Buffer.concat([head, payload]));
  };
  const answer = (stream: number): void => {
    send(frames.headers, flags.endHeaders, stream, replyHeaders());
    send(frames.data, 0, stream, grpcFrame(stream === 1 ? versionReply() : Buffer.alloc(0)));
    send(frames.headers, flags.endHeaders | flags.endStream, stream, trailers());
  };
  const heed = (type: number, flag: number, stream: number, payload: Buffer): void => {
    if (type === frames.settings && (flag & flags.ack) === 0) send(frames.settings, flags.ack, 0);
    if (type === frames.ping && (flag & flags.ack) === 0) send(frames.ping, flags.ack, 0, payload);
    if (type !== frames.data) return;
    if (payload.length > 0) {
      const size = Buffer.alloc(4);
      size.writeUInt32BE(payload.length);
      send(frames.windowUpdate, 0, 0, size);
    }
    if ((flag & flags.endStream) !== 0) answer(stream);
  };
  send(frames.settings, 0, 0);
  socket.on("data", (chunk: Buffer) => {
    waiting = Buffer.concat([waiting, chunk]);
    if (!hasBegun && waiting.length >= preface) {
      hasBegun = true;
      waiting = waiting.subarray(preface);
    }
    while (hasBegun && waiting.length >= 9) {
      const end = 9 + waiting.readUIntBE(0, 3);
      if (waiting.length < end) return;
      heed(waiting.readUInt8(3), waiting.readUInt8(4), waiting.readUInt32BE(5), waiting.subarray(9, end));
      waiting = waiting.subarray(end);
    }
  });
}

/** `:status: 200` and `content-type: application/grpc`. Source: RFC 7541 appendix A. */
function replyHeaders(): Buffer {
  return Buffer.concat([Buffer.from([0x88, 0x0f, 0x10]), text("application/grpc")]);
}

function trailers(): Buffer {
  return Buffer.concat([Buffer.from([0x00]), text("grpc-status"), text("0")]);
}

function grpcFrame(message: Buffer): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}

/** VersionResponse: version of the kubelet's API, name and version of the runtime, version of its API. */
function versionReply(): Buffer {
  const texts = ["0.1.0", "pretended", "1.0.0", "v1alpha2"];
  return Buffer.concat(texts.flatMap((one, at) => [Buffer.from([((at + 1) << 3) | 2]), text(one)]));
}

/** A text of less than 127 bytes behind its length, as HPACK and protobuf both have it. */
function text(value: string): Buffer {
  return Buffer.concat([Buffer.from([value.length]), Buffer.from(value)]);
}
