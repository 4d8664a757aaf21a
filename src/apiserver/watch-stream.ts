import type { OnAbort } from "../apimachinery/abort-listeners.ts";
import type { Clock } from "../apimachinery/clock.ts";
import { StatusError } from "../apimachinery/status.ts";
import type { WatchEnd, WatchHandle, WatchItem } from "../registry/watch.ts";
import { onDisconnect } from "./connections/disconnect.ts";
import type { Outgoing } from "./http-types.ts";
import { responseWriter, type Piece } from "./response-writer.ts";
import type { SendBuffer } from "./connections/send-buffers.ts";

/** One event: bytes, or texts that are encoded when the client reads them. */
export type Frame = Buffer | { readonly pieces: readonly string[]; readonly length: number };

/** How a watch's items become bytes; `error` wraps a Status. Encoders keep what readers can share. */
export interface FrameEncoder {
  readonly contentType: string;
  readonly item: (item: WatchItem) => Frame;
  /** How many characters `item` would have to encode; 0 where its bytes are known, or are text of the cache. */
  readonly cost: (item: WatchItem) => number;
  readonly error: (error: StatusError) => Buffer;
}

export interface WatchStreamOptions {
  readonly handle: WatchHandle;
  readonly response: Outgoing;
  /** The share of this watch in the send buffers. */
  readonly buffer: SendBuffer;
  /** Waits until the next part of many or large events may be encoded. */
  readonly turn: () => Promise<void>;
  readonly encoder: FrameEncoder;
  readonly clock: Clock;
  /** Milliseconds after which the server ends the stream in the normal way. */
  readonly timeoutMs: number;
  readonly bookmarks: boolean;
  /** Each ends the stream early: the hub shuts down, or the account or credential of the watcher ends. */
  readonly signals: readonly AbortSignal[];
  readonly onAbort: OnAbort;
  /** Called with the events that were written, bookmarks among them. */
  readonly wrote: (events: readonly Frame[]) => void;
  /** Called when the watch is ended because the history moved on without it. */
  readonly terminated: () => void;
}

/** How often a quiet watch gets a bookmark, and how long before its end it gets the last one. */
const bookmarkEveryMs = 60_000;
const lastBookmarkMs = 2_000;
/** A shared reason: without one, each abort creates an exception with a stack of its own. */
const ended = "the watch has ended";
/** How many references to events are taken from the history at once. */
const itemsPerTake = 32;
/** Frames are joined up to about this size, so that one write serves many events. */
const writeBytes = 128 * 1024;
/** How many characters are encoded at once when events arrive, and in a turn. */
const maxCost = { now: 16 * 1024, inTurn: 64 * 1024 } as const;
/** From so many characters on, an event waits for room in the send buffers. */
const largeCost = 16 * 1024;

/**
 * Returns `wake` to be called when the handle may have items, and `done`, which resolves when the stream has ended. For a slow reader at
 * most one event is encoded: while its socket is full it only keeps its position, and loses it when that history expires.
 */
export function watchStream(options: WatchStreamOptions): { readonly wake: () => void; readonly done: Promise<void> } {
  const { handle, response, buffer, turn, encoder } = options;
  const ending = new AbortController();
  const source = frameSource(handle, encoder, buffer);
  let isTurnAwaited = false;
  let finished = false;
  let finish: () => void;
  let leaving: readonly (() => void)[] = [];
  const done = new Promise<void>((resolve) => void (finish = resolve));
  const writer = responseWriter({ response, buffer, turn, onReady: () => pump() });

  const end = (last?: Buffer): void => {
    if (finished) return;
    finished = true;
    ending.abort(ended);
    for (const leave of leaving) leave();
    handle.close();
    if (last !== undefined) writer.push([last]);
    writer.end();
    finish();
  };
  const write = (frames: readonly Frame[]): void => {
    if (frames.length === 0) return;
    writer.push(piecesOf(frames));
    options.wrote(frames);
    if (!writer.isFull()) source.written();
  };
  const pumpLater = async (permission: Promise<unknown>): Promise<void> => {
    isTurnAwaited = true;
    await permission;
    isTurnAwaited = false;
    pump(maxCost.inTurn);
  };
  const pump = (cost: number = maxCost.now): void => {
    if (isTurnAwaited || finished || writer.isFull()) return;
    source.written();
    const { frames, next } = source.next(cost);
    write(frames);
    if (next === "wait") return;
    if (next === "expired") {
      options.terminated();
      end(encoder.error(slowReader()));
    } else if (next === "ended") end();
    else if (next === "more") void pumpLater(turn());
    else if ("room" in next) void pumpLater(buffer.reserve(next.room).then(turn));
    else end(encoder.error(next));
  };
  const bookmark = (): void => {
    // Changes without an event advance the position as well.
    pump();
    if (isTurnAwaited || finished || writer.isFull()) return;
    const revision = handle.revision();
    if (revision !== undefined) write([encoder.item({ type: "BOOKMARK", revision, initialEnd: false })]);
  };

  leaving = options.signals.map((signal) => options.onAbort(signal, () => end()));
  onDisconnect(response, () => end());
  response.on("error", () => end());
  if (options.signals.some((signal) => signal.aborted)) end();
  void sendBookmarks(options, { bookmark, end, signal: ending.signal });
  return { wake: () => pump(), done };
}

interface WatchTimers {
  readonly bookmark: () => void;
  readonly end: () => void;
  readonly signal: AbortSignal;
}

/** Calls `bookmark` at its times and `end` at the timeout of the watch, until `signal` aborts. */
async function sendBookmarks(
  { clock, timeoutMs, bookmarks }: WatchStreamOptions,
  { bookmark, end, signal }: WatchTimers,
): Promise<void> {
  const endsAt = clock.now() + timeoutMs;
  // A timer may fire early, so the last bookmark is counted and not derived from the remaining time.
  let last = !bookmarks || timeoutMs <= lastBookmarkMs;
  while (!signal.aborted) {
    const left = endsAt - clock.now();
    if (left <= 0) return end();
    if (last) {
      await clock.sleep(left, signal);
      continue;
    }
    const untilLast = Math.max(left - lastBookmarkMs, 0);
    last = untilLast <= bookmarkEveryMs;
    await clock.sleep(Math.min(bookmarkEveryMs, untilLast), signal);
    bookmark();
  }
}

function piecesOf(frames: readonly Frame[]): readonly Piece[] {
  const pieces: Piece[] = [];
  for (const frame of frames) {
    if (Buffer.isBuffer(frame)) pieces.push(frame);
    else pieces.push(...frame.pieces);
  }
  return pieces;
}

/** Frames of one part, and what the next part waits for: a turn, room, new items, or nothing, as the watch ends. */
interface FramePart {
  readonly frames: readonly Frame[];
  readonly next: "more" | "wait" | WatchEnd | { readonly room: number };
}

interface FrameSource {
  /** Encodes up to so many characters, and at least one item. */
  readonly next: (maxCharacters: number) => FramePart;
  /** Releases the reservation for the frames of the last part, which the client has read. */
  readonly written: () => void;
}

/** Encodes the items of the handle; items that are not encoded yet are kept as references. */
function frameSource(handle: WatchHandle, encoder: FrameEncoder, buffer: SendBuffer): FrameSource {
  let ahead: readonly WatchItem[] = [];
  let at = 0;
  let reserved = 0;
  /** The cost of the item that waits for room. */
  let asked: number | undefined;

  /** The next item without taking it, or why there is none. */
  const peek = (): WatchItem | "wait" | WatchEnd => {
    if (at === ahead.length) {
      const taken = handle.take(itemsPerTake);
      if (typeof taken === "string" || !("length" in taken)) return taken;
      [ahead, at] = [taken, 0];
    }
    return ahead[at] ?? "wait";
  };
  /** Reserves room for a large item; what to wait for where it has none yet. */
  const reserve = (cost: number, isFirst: boolean): "more" | { readonly room: number } | undefined => {
    if (asked === undefined && !isFirst) return "more";
    if (asked === undefined && !buffer.tryReserve(cost)) {
      asked = cost;
      return { room: cost };
    }
    reserved += cost;
    return undefined;
  };
  return {
    written: () => {
      if (reserved === 0) return;
      buffer.remove(reserved);
      reserved = 0;
    },
    next: (maxCharacters) => {
      const frames: Frame[] = [];
      let [size, characters] = [0, 0];
      while (size < writeBytes) {
        const item = peek();
        if (typeof item === "string" || !("type" in item)) return { frames, next: item };
        const cost = encoder.cost(item);
        characters += cost;
        if (characters > maxCharacters && (frames.length > 0 || maxCharacters < maxCost.inTurn)) {
          return { frames, next: "more" };
        }
        const missing = cost > largeCost ? reserve(cost, frames.length === 0) : undefined;
        if (missing !== undefined) return { frames, next: missing };
        asked = undefined;
        at += 1;
        const frame = encoder.item(item);
        size += frame.length;
        frames.push(frame);
      }
      return { frames, next: "more" };
    },
  };
}

function slowReader(): StatusError {
  return new StatusError("Expired", "too old resource version: the watch was read too slowly; list again");
}
