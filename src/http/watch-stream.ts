import type { OnAbort } from "../core/abort-listeners.ts";
import type { Clock } from "../core/clock.ts";
import { StatusError } from "../core/status.ts";
import type { WatchEnd, WatchHandle, WatchItem } from "../registry/watch.ts";
import type { Outgoing } from "./exchange.ts";
import { endWith, writeChunk } from "./respond.ts";

/** How a watch's items become bytes; `error` wraps a Status. Encoders keep what readers can share. */
export interface FrameEncoder {
  readonly contentType: string;
  readonly item: (item: WatchItem) => Buffer;
  readonly error: (error: StatusError) => Buffer;
}

export interface WatchStreamOptions {
  readonly handle: WatchHandle;
  readonly response: Outgoing;
  readonly encoder: FrameEncoder;
  readonly clock: Clock;
  /** Milliseconds after which the server ends the stream in the normal way. */
  readonly timeoutMs: number;
  readonly bookmarks: boolean;
  /** Each ends the stream early: the hub shuts down, or who watches is nobody any more. */
  readonly signals: readonly AbortSignal[];
  readonly onAbort: OnAbort;
  /** Called with the events that were written, bookmarks among them. */
  readonly wrote: (events: readonly Buffer[]) => void;
}

/** How often a quiet watch is told where it stands, and how long before its end. */
const bookmarkEveryMs = 60_000;
const lastBookmarkMs = 2_000;
/** A reason made once: without one, each abort makes an exception with a stack of its own. */
const ended = "the watch has ended";
/** Few, as each may be an object of a megabyte. */
const itemsPerTake = 32;
/** Frames are joined up to about this size, so that one write serves many events. */
const writeBytes = 256 * 1024;

/**
 * Returns `wake` to be called when the handle may have items, and `done`, which resolves when the stream has ended. Nothing is buffered
 * for a slow reader: while its socket is full it only keeps its place, and loses it when the history moves on without it.
 */
export function watchStream(options: WatchStreamOptions): { readonly wake: () => void; readonly done: Promise<void> } {
  const { handle, response, encoder, clock } = options;
  const ending = new AbortController();
  let blocked = false;
  let finished = false;
  let finish: () => void;
  let leaving: readonly (() => void)[] = [];
  const done = new Promise<void>((resolve) => {
    finish = resolve;
  });

  const end = (last?: Buffer): void => {
    if (finished) return;
    finished = true;
    ending.abort(ended);
    for (const leave of leaving) leave();
    handle.close();
    if (last === undefined) response.end();
    else endWith(response, last);
    finish();
  };
  const write = (frames: readonly Buffer[]): void => {
    const [first] = frames;
    if (first === undefined || finished) return;
    blocked = !writeChunk(response, frames.length === 1 ? first : Buffer.concat(frames));
    options.wrote(frames);
  };
  const pump = (): void => {
    while (!blocked && !finished) {
      const { frames, next } = nextFrames(handle, encoder);
      write(frames);
      if (next === "expired") end(encoder.error(slowReader()));
      else if (next === "ended") end();
      else if (typeof next !== "string") end(encoder.error(next));
      if (next !== "more") return;
    }
  };
  const bookmark = (): void => {
    // Also what no event came of moves the place on.
    pump();
    if (!blocked) write([encoder.item({ type: "BOOKMARK", revision: handle.revision(), initialEnd: false })]);
  };
  const run = async (): Promise<void> => {
    const endsAt = clock.now() + options.timeoutMs;
    // A timer may fire a moment early, so the last bookmark is counted and not told from the time that is left.
    let last = !options.bookmarks || options.timeoutMs <= lastBookmarkMs;
    while (!finished) {
      const left = endsAt - clock.now();
      if (left <= 0) return end();
      if (last) {
        await clock.sleep(left, ending.signal);
        continue;
      }
      const untilLast = Math.max(left - lastBookmarkMs, 0);
      last = untilLast <= bookmarkEveryMs;
      await clock.sleep(Math.min(bookmarkEveryMs, untilLast), ending.signal);
      bookmark();
    }
  };

  response.on("drain", () => {
    blocked = false;
    pump();
  });
  response.on("close", () => end());
  response.on("error", () => end());
  leaving = options.signals.map((signal) => options.onAbort(signal, () => end()));
  if (options.signals.some((signal) => signal.aborted)) end();
  void run();
  return { wake: pump, done };
}

/** Frames for one write, and whether there may be more. */
function nextFrames(
  handle: WatchHandle,
  encoder: FrameEncoder,
): { readonly frames: readonly Buffer[]; readonly next: "more" | "wait" | WatchEnd } {
  const frames: Buffer[] = [];
  for (let size = 0; size < writeBytes;) {
    const items = handle.take(itemsPerTake);
    if (typeof items === "string" || !("length" in items)) return { frames, next: items };
    if (items.length === 0) return { frames, next: "wait" };
    for (const item of items) {
      const frame = encoder.item(item);
      size += frame.length;
      frames.push(frame);
    }
  }
  return { frames, next: "more" };
}

function slowReader(): StatusError {
  return new StatusError("Expired", "too old resource version: the watch was read too slowly; list again");
}
