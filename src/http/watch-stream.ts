import type { Clock } from "../core/clock.ts";
import { StatusError } from "../core/status.ts";
import type { WatchHandle, WatchItem } from "../registry/watch.ts";
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
  /** Ends the stream early: the hub shuts down, or the client went away. */
  readonly signal: AbortSignal;
}

/** How often a quiet watch is told where it stands, and how long before its end. */
const bookmarkEveryMs = 60_000;
const lastBookmarkMs = 2_000;
/** A reason made once: without one, each abort makes an exception with a stack of its own. */
const ended = "the watch has ended";
const itemsPerTake = 512;
/** Frames are joined up to this size, so that one write serves many events. */
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
  const done = new Promise<void>((resolve) => {
    finish = resolve;
  });

  const end = (last?: Buffer): void => {
    if (finished) return;
    finished = true;
    ending.abort(ended);
    options.signal.removeEventListener("abort", onAbort);
    handle.close();
    if (last === undefined) response.end();
    else endWith(response, last);
    finish();
  };
  const onAbort = (): void => end();
  const write = (bytes: Buffer): void => {
    blocked = !writeChunk(response, bytes);
  };
  const pump = (): void => {
    while (!blocked && !finished) {
      const items = handle.take(itemsPerTake);
      if (items === "expired") return end(encoder.error(slowReader()));
      if (items.length === 0) return;
      for (const chunk of joined(items.map(encoder.item))) write(chunk);
    }
  };
  const bookmark = (): void => {
    if (!blocked && !finished)
      write(encoder.item({ type: "BOOKMARK", revision: handle.revision(), initialEnd: false }));
  };
  const run = async (): Promise<void> => {
    const endsAt = clock.now() + options.timeoutMs;
    while (!finished) {
      const left = endsAt - clock.now();
      if (left <= 0) return end();
      const untilLast = left - lastBookmarkMs;
      const pause = options.bookmarks && untilLast > 0 ? Math.min(bookmarkEveryMs, untilLast) : left;
      await clock.sleep(pause, ending.signal);
      if (options.bookmarks && pause !== left) bookmark();
    }
  };

  response.on("drain", () => {
    blocked = false;
    pump();
  });
  response.on("close", () => end());
  response.on("error", () => end());
  options.signal.addEventListener("abort", onAbort);
  void run();
  return { wake: pump, done };
}

function* joined(frames: readonly Buffer[]): Generator<Buffer> {
  let batch: Buffer[] = [];
  let size = 0;
  for (const frame of frames) {
    batch.push(frame);
    size += frame.length;
    if (size < writeBytes) continue;
    yield Buffer.concat(batch, size);
    batch = [];
    size = 0;
  }
  if (batch.length === 1) yield batch[0] as Buffer;
  else if (batch.length > 1) yield Buffer.concat(batch, size);
}

function slowReader(): StatusError {
  return new StatusError("Expired", "too old resource version: the watch was read too slowly; list again");
}
