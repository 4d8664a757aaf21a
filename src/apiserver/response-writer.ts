import { onDisconnect } from "./connections/disconnect.ts";
import type { Outgoing } from "./http-types.ts";
import type { SendBuffer } from "./connections/send-buffers.ts";

/** Bytes that are sent as they are, or text that is encoded when the connection has room for it. */
export type Piece = Buffer | string;

/** Writes one answer no faster than its client reads it. */
export interface ResponseWriter {
  /** Whether pieces are not written yet, or wait for the client. */
  readonly isFull: () => boolean;
  /** Takes pieces to be written in order; large ones are written in parts while the client reads. */
  readonly push: (pieces: readonly Piece[]) => void;
  /** Resolves when the writer is not full, or the answer has ended. */
  readonly ready: () => Promise<void>;
  /** Ends the answer after the added pieces. */
  readonly end: () => void;
  readonly isClosed: () => boolean;
  /** The bytes that were written to the connection. */
  readonly written: () => number;
}

export interface ResponseWriterOptions {
  readonly response: Outgoing;
  readonly buffer: SendBuffer;
  /** Waits until the next part may be written. */
  readonly turn: () => Promise<void>;
  /** Called when the writer is not full any more. */
  readonly onReady?: () => void;
}

const chunkBytes = 128 * 1024;
const encoder = new TextEncoder();

/** Both protocols' write under one signature. */
function write(response: Outgoing, chunk: Buffer, written: () => void): void {
  (response.write as (chunk: Buffer, written: () => void) => unknown).call(response, chunk, written);
}

/** A writer over a response whose headers were written. Unwritten pieces are dropped when the response closes. */
export function responseWriter(options: ResponseWriterOptions): ResponseWriter {
  const { response, buffer, turn, onReady } = options;
  const queue = pieceQueue();
  let inFlight = 0;
  let written = 0;
  let isEnding = false;
  let isClosed = false;
  let isTurnAwaited = false;
  let isWaitedFor = false;
  const waiting: (() => void)[] = [];

  const hasWindow = (): boolean => inFlight === 0 || buffer.window() - inFlight >= chunkBytes;
  const isFull = (): boolean => !isClosed && (!queue.isEmpty() || !hasWindow());
  const finishIfDone = (): void => {
    if (isEnding && queue.isEmpty() && !isClosed) response.end();
  };
  const flush = (): void => {
    while (!isClosed && !queue.isEmpty() && hasWindow()) {
      const chunk = queue.take(Math.min(chunkBytes, buffer.window()));
      inFlight += chunk.length;
      written += chunk.length;
      buffer.add(chunk.length);
      write(response, chunk, () => taken(chunk.length));
    }
    if (queue.isEmpty()) finishIfDone();
    else void flushLater();
  };
  const flushLater = async (): Promise<void> => {
    if (isTurnAwaited || !hasWindow()) return;
    isTurnAwaited = true;
    await turn();
    isTurnAwaited = false;
    flush();
    settle();
  };
  const settle = (): void => {
    // Most answers are written at once, without waiting for the connection.
    if (!isWaitedFor || isFull()) return;
    isWaitedFor = false;
    for (const resolve of waiting.splice(0)) resolve();
    onReady?.();
  };
  const taken = (bytes: number): void => {
    if (isClosed) return;
    inFlight -= bytes;
    buffer.remove(bytes);
    if (!queue.isEmpty()) void flushLater();
    else settle();
  };
  const close = (): void => {
    isClosed = true;
    queue.clear();
    for (const resolve of waiting.splice(0)) resolve();
  };

  onDisconnect(response, close);
  response.on("error", close);
  return {
    isFull: () => {
      const full = isFull();
      isWaitedFor ||= full;
      return full;
    },
    isClosed: () => isClosed,
    written: () => written,
    push: (pieces) => {
      if (isClosed || isEnding) return;
      queue.add(pieces);
      flush();
    },
    ready: async () => {
      if (!isFull()) return;
      isWaitedFor = true;
      await new Promise<void>((resolve) => void waiting.push(resolve));
    },
    end: () => {
      if (isEnding || isClosed) return;
      isEnding = true;
      finishIfDone();
    },
  };
}

interface PieceQueue {
  readonly add: (pieces: readonly Piece[]) => void;
  readonly isEmpty: () => boolean;
  /** The next bytes, at most so many. */
  readonly take: (maxBytes: number) => Buffer;
  readonly clear: () => void;
}

/** The rest of a text is kept as that text and an offset. */
export function pieceQueue(): PieceQueue {
  let pieces: Piece[] = [];
  let first = 0;
  let offset = 0;

  const advance = (piece: Piece, by: number): void => {
    offset += by;
    if (offset < piece.length) return;
    first += 1;
    offset = 0;
    if (first < pieces.length) return;
    pieces = [];
    first = 0;
  };
  /** Copies of the next piece as much as there is room for; the bytes copied. */
  const copy = (target: Buffer, at: number): number => {
    const piece = pieces[first] as Piece;
    if (typeof piece !== "string") {
      const bytes = piece.copy(target, at, offset);
      advance(piece, bytes);
      return bytes;
    }
    const whole = offset === 0 ? writeWhole(target, piece, at) : undefined;
    if (whole !== undefined) {
      advance(piece, piece.length);
      return whole;
    }
    const { read, written } = encoder.encodeInto(slice(piece, offset, target.length - at), target.subarray(at));
    advance(piece, read);
    return written;
  };

  return {
    add: (added) => {
      for (const piece of added) if (piece.length > 0) pieces.push(piece);
    },
    isEmpty: () => pieces.length === 0,
    clear: () => {
      pieces = [];
      [first, offset] = [0, 0];
    },
    take: (maxBytes) => {
      const piece = pieces[first];
      if (
        piece !== undefined &&
        typeof piece !== "string" &&
        (first === pieces.length - 1 || piece.length - offset >= maxBytes)
      ) {
        const taken = offset === 0 && piece.length <= maxBytes ? piece : piece.subarray(offset, offset + maxBytes);
        advance(piece, taken.length);
        return taken;
      }
      const target = Buffer.allocUnsafe(Math.min(maxBytes, maxBytesOf(pieces, first, offset, maxBytes)));
      let at = 0;
      while (pieces.length > 0) {
        const written = copy(target, at);
        at += written;
        // A character may be longer than the free space.
        if (written === 0 || at === target.length) break;
      }
      return target.subarray(0, at);
    },
  };
}

/** The most bytes of one character. */
const maxCharacterBytes = 4;

/** Writes a text whole, which for many short ones takes a fraction of the time of `encodeInto`; undefined where there may be too little room. */
function writeWhole(target: Buffer, text: string, at: number): number | undefined {
  const room = target.length - at;
  if (text.length > room) return undefined;
  const code = text.length === 1 ? text.charCodeAt(0) : oneByte;
  if (code < oneByte) {
    target[at] = code;
    return 1;
  }
  const written = target.write(text, at);
  // No part of a character is written: where room for any character is left, none was left out.
  return room - written >= maxCharacterBytes || text.length * 3 <= room ? written : undefined;
}

/** Characters below this are one byte each. */
const oneByte = 0x80;

/** As many characters of a text as bytes may hold, and no half of a character. */
function slice(text: string, from: number, maxCharacters: number): string {
  const end = Math.min(from + maxCharacters, text.length);
  const isHalf = end < text.length && end - from > 1 && isHighSurrogate(text.charCodeAt(end - 1));
  return text.slice(from, isHalf ? end - 1 : end);
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff;
}

/** At least the bytes that the next pieces take, or `enough`; a character takes at most three for each of its units. */
function maxBytesOf(pieces: readonly Piece[], first: number, offset: number, enough: number): number {
  let bytes = 0;
  for (let index = first; index < pieces.length && bytes < enough; index += 1) {
    const piece = pieces[index] as Piece;
    const units = piece.length - (index === first ? offset : 0);
    bytes += typeof piece === "string" ? units * 3 : units;
  }
  return bytes;
}
