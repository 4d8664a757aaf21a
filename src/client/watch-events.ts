import type { IncomingMessage } from "node:http";
import type { ApiObject } from "../apimachinery/object.ts";
import { StatusError } from "../apimachinery/status.ts";
import { ConnectionError, type WatchEvent } from "./client.ts";
import { parsedJson, watchError } from "./replies.ts";
import { connectionError } from "./transport.ts";

/** The events of an open watch, as they arrive, until the server ends it; an event has at most `maxBytes` bytes. @throws StatusError for an event of type ERROR; ConnectionError EVENT_TOO_LARGE, INVALID_EVENT, TRUNCATED, and the codes of a connection that fails. */
export async function* watchEvents<T extends ApiObject>(
  message: IncomingMessage,
  server: string,
  maxBytes: number,
): AsyncGenerator<WatchEvent<T>> {
  const cutter = lineCutter(maxBytes);
  try {
    for await (const chunk of message as AsyncIterable<Buffer>) {
      const lines = cutter.push(chunk);
      if (lines === undefined) throw new ConnectionError("EVENT_TOO_LARGE", `an event exceeds ${maxBytes} bytes`);
      for (const line of lines) yield eventOf<T>(line);
    }
  } catch (error) {
    throw error instanceof StatusError ? error : connectionError(error, server);
  }
  if (cutter.rest().length > 0) throw new ConnectionError("TRUNCATED", "the watch ended inside an event");
}

function eventOf<T extends ApiObject>(line: Buffer): WatchEvent<T> {
  const value = parsedJson(line) as { readonly type?: unknown; readonly object?: T } | undefined | null;
  const { type, object } = value ?? {};
  if (type === "ERROR") throw watchError(object);
  if (typeof object !== "object" || object === null || typeof object.metadata !== "object") {
    throw new ConnectionError("INVALID_EVENT", "the watch sent something that is no event");
  }
  if (isChange(type)) return { type, object };
  if (type === "BOOKMARK") return { type, resourceVersion: object.metadata.resourceVersion ?? "" };
  throw new ConnectionError("INVALID_EVENT", "the watch sent an event of an unknown type");
}

function isChange(type: unknown): type is "ADDED" | "MODIFIED" | "DELETED" {
  return type === "ADDED" || type === "MODIFIED" || type === "DELETED";
}

/** Splits a byte stream into lines; buffers at most `maxBytes` of an unfinished one. */
export interface LineCutter {
  /** The lines that `chunk` completes, without their newline and without blank ones; undefined when a line is too long. */
  push(chunk: Buffer): readonly Buffer[] | undefined;
  /** The rest after the last newline. */
  rest(): Buffer;
}

/** A splitter for streams of JSON objects, one on each line, as a Kubernetes watch sends them. */
export function lineCutter(maxBytes: number): LineCutter {
  let held: Buffer[] = [];
  let heldBytes = 0;

  function push(chunk: Buffer): readonly Buffer[] | undefined {
    const lines: Buffer[] = [];
    let start = 0;
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, start)) {
      const tail = chunk.subarray(start, end);
      if (heldBytes + tail.length > maxBytes) return undefined;
      const line = heldBytes === 0 ? tail : Buffer.concat([...held, tail]);
      held = [];
      heldBytes = 0;
      start = end + 1;
      if (line.length > 0 && !(line.length === 1 && line[0] === 13)) lines.push(line);
    }
    if (start < chunk.length) {
      held.push(chunk.subarray(start));
      heldBytes += chunk.length - start;
    }
    return heldBytes > maxBytes ? undefined : lines;
  }

  return { push, rest: () => Buffer.concat(held) };
}
