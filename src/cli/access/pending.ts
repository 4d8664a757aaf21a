import type { Args, Run } from "../command.ts";
import type { Io } from "../io.ts";
import { writeResult } from "../output.ts";
import { withServer, type ServerAccess } from "../server-access.ts";
import { pendingData, readPending, type PendingEntry, type PendingKind, type PendingRequests } from "./pending-list.ts";
import { pendingText, unseenLines, entriesText, entryName } from "./pending-text.ts";
import { type Backoff, jitteredBackoffMs } from "../../client/backoff.ts";
import { ConnectionError, type Client } from "../../client/client.ts";
import { StatusError } from "../../apimachinery/status.ts";
import { failureOf } from "../failure.ts";
import { jsonText, printable, writeLine } from "../printable.ts";

/** Prints the pending requests, the oldest of each kind first; kinds that may not be read are reported on standard error. */
export const pending: Run = async (args, io) => {
  return withServer(args, io, async (server) => {
    if (args.on("watch") || args.on("watch-only")) return watchPending(args, io, server);
    const found = await readPending(server.client, io.clock.now());
    for (const line of unseenLines(found)) io.stderr.write(`${line}\n`);
    await writeResult(args, io, {
      data: pendingData(found),
      table: () => pendingText(found, { io, isWide: args.text("output") === "wide" }),
    });
  });
};

/** Changes within this time are printed together, and a burst of requests costs one list. */
const togetherMs = 500;
const backoff: Backoff = { initialMs: 1000, maxMs: 30_000 };

/**
 * Prints the pending requests, then each new or changed one, until a signal. After any failure of the connection, the next list prints
 * the difference from the last one. @throws StatusError Forbidden where no kind may be listed; any error of the first list
 */
async function watchPending(args: Args, io: Io, { client, config }: ServerAccess): Promise<void> {
  const signal = io.interrupted();
  const notify = (text: string): void => writeLine(io.stderr, text);
  const shown = printer(args, io);
  let failures = 0;
  async function look(isFirst: boolean): Promise<PendingRequests> {
    const found = await readPending(client, io.clock.now());
    if (failures > 0) notify(`connected to ${config.server} again`);
    failures = 0;
    if (isFirst) {
      for (const line of unseenLines(found)) io.stderr.write(`${line}\n`);
      notify(`waiting for new and changed requests at ${config.server}; Ctrl-C ends`);
    }
    await shown(found, isFirst && args.on("watch-only"));
    return found;
  }
  for (let isFirst = true; !signal.aborted;) {
    try {
      const found = await look(isFirst);
      isFirst = false;
      await anyChange(client, found, signal);
      await io.clock.sleep(togetherMs, signal);
    } catch (error) {
      if (signal.aborted) break;
      if (isFirst || !mayPass(error)) throw error;
      failures += 1;
      if (failures === 1) notify(`no connection to ${config.server}, trying again: ${failureOf(error, args).message}`);
      await io.clock.sleep(jitteredBackoffMs(backoff, failures, Math.random), signal);
    }
  }
}

/** Resolves at the first change of a watched kind, or when a stream ends, as each does after a while. */
async function anyChange(client: Client, { versions }: PendingRequests, signal: AbortSignal): Promise<void> {
  const over = new AbortController();
  const either = AbortSignal.any([signal, over.signal]);
  try {
    await Promise.race(
      versions.map(async ({ resource, resourceVersion }) => {
        for await (const { type } of client.watch(resource, { resourceVersion, signal: either })) {
          if (type !== "BOOKMARK") return;
        }
      }),
    );
  } finally {
    over.abort();
  }
}

/** A lost connection, an API that starts or is overloaded, and an expired version, which the next list recovers from. */
function mayPass(error: unknown): boolean {
  if (error instanceof StatusError) return error.code === 410 || error.code === 429 || error.code >= 500;
  return error instanceof ConnectionError;
}

/** Prints the difference from the last list; the first time everything, unless that is to be left out. */
function printer(args: Args, io: Io): (found: PendingRequests, skip: boolean) => Promise<void> {
  const output = args.text("output");
  const isWide = output === "wide";
  const isTable = isWide || output === "table";
  const headed = new Set<PendingKind>();
  let before: ReadonlyMap<string, string> | undefined;

  return async (found, skip) => {
    const entries = pendingData(found);
    const texts = new Map(entries.map((entry) => [entryName(entry), jsonText(entry)]));
    const known = before ?? new Map<string, string>();
    const changed = entries.filter((entry) => known.get(entryName(entry)) !== texts.get(entryName(entry)));
    const gone = [...known.keys()].filter((name) => !texts.has(name));
    const isEmpty = before === undefined && entries.length === 0;
    before = texts;
    if (skip) return;
    if (isEmpty && isTable) io.stdout.write(pendingText(found, { io, isWide }));
    else await print(changed);
    // Data is a stream of pending requests; it has no form for one that is no longer pending.
    if (isTable) for (const name of gone) io.stdout.write(`${printable(name)} is no longer pending\n`);
  };

  async function print(changed: readonly PendingEntry[]): Promise<void> {
    if (output === "json") {
      for (const entry of changed) io.stdout.write(`${jsonText(entry, 2)}\n`);
    } else if (output === "yaml") {
      const { yamlText } = await import("../yaml-text.ts");
      for (const entry of changed) io.stdout.write(`---\n${yamlText(entry)}`);
    } else {
      const text = entriesText(changed, { io, isWide, hasHeadings: (kind) => !headed.has(kind) });
      for (const { kind } of changed) headed.add(kind);
      io.stdout.write(text);
    }
  }
}
