import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Store, StoreEvent } from "../../src/storage/store.ts";

/** One random step. `stale` chooses a wrong revision; `together` means proposed together with the one before. */
export interface Step {
  readonly kind: "create" | "update" | "delete" | "compact";
  readonly key: string;
  readonly stale: boolean;
  readonly together: boolean;
  readonly part: number;
}

const keys = ["/m/a", "/m/aa", "/m/b", "/m/b/c", "/n", "/n/z"];
const prefixes = ["", "/m/", "/m/b", "/n", "/none"];

/** Random histories of up to forty steps over six keys. */
export const histories: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.record({
    kind: fc.oneof(
      { weight: 3, arbitrary: fc.constant("create" as const) },
      { weight: 5, arbitrary: fc.constant("update" as const) },
      { weight: 3, arbitrary: fc.constant("delete" as const) },
      { weight: 1, arbitrary: fc.constant("compact" as const) },
    ),
    key: fc.constantFrom(...keys),
    stale: fc.integer({ min: 0, max: 4 }).map((number) => number === 0),
    together: fc.boolean(),
    part: fc.constantFrom(0.3, 0.7, 1),
  }),
  { minLength: 1, maxLength: 40, size: "max" },
);

type Snapshot = ReadonlyMap<string, { readonly value: string; readonly revision: number }>;

/** What happened, as a plain list of events with a snapshot after each: slow, and plainly right. */
export interface Model {
  readonly base: number;
  readonly events: StoreEvent[];
  readonly snapshots: Snapshot[];
}

/** Random histories, of single writes and of writes proposed together, compared with a naive model at every revision. */
export function describeStoreModel(name: string, open: () => Promise<Store>, numRuns: number): void {
  describe(`${name} against a naive model`, () => {
    it("agrees at every revision after any history, however its writes were batched", async () => {
      let revisions = 0;
      let compactions = 0;
      await fc.assert(
        fc.asyncProperty(histories, async (history) => {
          const store = await open();
          try {
            const model = await runHistory(store, history);
            revisions += model.events.length;
            if ((await store.compactedRevision()) > model.base) compactions += 1;
            await compareWithModel(store, model);
          } finally {
            await store.close();
          }
        }),
        { numRuns },
      );
      expect(revisions).toBeGreaterThan(numRuns * 3);
      expect(compactions).toBeGreaterThan(numRuns / 4);
    });
  });
}

/** Applies a history, judges each answer, and builds the model from the writes that were acknowledged. */
export async function runHistory(store: Store, history: readonly Step[]): Promise<Model> {
  const model: Model = { base: await store.currentRevision(), events: [], snapshots: [new Map()] };
  for (let at = 0; at < history.length;) {
    let end = at + 1;
    while (history[end]?.together === true) end += 1;
    const group = history.slice(at, end);
    const before = model.snapshots.at(-1) ?? new Map();
    const written = await Promise.all(
      group.map(async (step, index) => apply(store, before, { step, mark: `${at + index}` })),
    );
    const events = written
      .filter((event) => event !== undefined)
      .toSorted((one, other) => one.revision - other.revision);
    for (const event of events) record(model, event);
    at = end;
  }
  expect(await store.currentRevision()).toBe(model.base + model.events.length);
  return model;
}

async function apply(
  store: Store,
  before: Snapshot,
  { step, mark }: { readonly step: Step; readonly mark: string },
): Promise<StoreEvent | undefined> {
  const { key } = step;
  const value = new TextEncoder().encode(`${key} ${mark}`);
  const ifRevision = (before.get(key)?.revision ?? 0) + (step.stale ? 1_000_000 : 0);
  switch (step.kind) {
    case "create": {
      const result = await store.create(key, value);
      if (result.kind === "exists") expect(result.current.key).toBe(key);
      return result.kind === "created"
        ? { type: "put", key, value, revision: result.revision, created: true }
        : undefined;
    }
    case "update": {
      const result = await store.update(key, value, { ifRevision });
      if (result.kind === "conflict") expect(result.current.revision).not.toBe(ifRevision);
      return result.kind === "updated"
        ? { type: "put", key, value, revision: result.revision, created: false }
        : undefined;
    }
    case "delete": {
      const result = await store.delete(key, { ifRevision });
      if (result.kind === "conflict") expect(result.current.revision).not.toBe(ifRevision);
      return result.kind === "deleted" ? { type: "delete", key, revision: result.revision } : undefined;
    }
    case "compact": {
      const current = await store.currentRevision();
      const compacted = await store.compactedRevision();
      await store.compact(compacted + Math.floor((current - compacted) * step.part));
      return undefined;
    }
  }
}

function record(model: Model, event: StoreEvent): void {
  expect(event.revision).toBe(model.base + model.events.length + 1);
  const next = new Map(model.snapshots.at(-1));
  if (event.type === "put") {
    expect(next.has(event.key)).toBe(!event.created);
    next.set(event.key, { value: new TextDecoder().decode(event.value), revision: event.revision });
  } else {
    expect(next.delete(event.key)).toBe(true);
  }
  model.events.push(event);
  model.snapshots.push(next);
}

/** Compares every read at every revision that is left, and a watch from each of them. */
export async function compareWithModel(store: Store, model: Model): Promise<void> {
  const compacted = Math.max(await store.compactedRevision(), model.base);
  const below = Array.from({ length: compacted - model.base }, (_, index) => model.base + index);
  const refused = await Promise.allSettled(
    below.flatMap((revision) => [store.get("/n", { revision }), store.list("/n", { revision })]),
  );
  expect(refused.map((outcome) => outcome.status === "rejected" && outcome.reason)).toEqual(
    refused.map(() => expect.objectContaining({ code: "compacted" })),
  );
  for (const [index, snapshot] of model.snapshots.entries()) {
    const revision = model.base + index;
    if (revision < compacted) continue;
    for (const prefix of prefixes) {
      const { values } = await store.list(prefix, { revision });
      expect(values.map(readable)).toEqual(expected(snapshot, prefix));
    }
    for (const key of keys) {
      const { value } = await store.get(key, { revision });
      expect(value === undefined ? undefined : readable(value)).toEqual(
        expected(snapshot, key).find((entry) => entry.key === key),
      );
    }
    const prefix = prefixes[index % prefixes.length] ?? "";
    const events = model.events.filter((event) => event.revision > revision && event.key.startsWith(prefix));
    expect((await replay(store, { prefix, revision, count: events.length })).map(comparable)).toEqual(
      events.map(comparable),
    );
  }
}

async function replay(
  store: Store,
  { prefix, revision, count }: { readonly prefix: string; readonly revision: number; readonly count: number },
): Promise<StoreEvent[]> {
  const events: StoreEvent[] = [];
  if (count === 0) return events;
  const stop = new AbortController();
  for await (const batch of store.watch(prefix, { fromRevision: revision, signal: stop.signal })) {
    events.push(...batch.events);
    if (events.length >= count) stop.abort();
  }
  return events;
}

function expected(snapshot: Snapshot, prefix: string): readonly { key: string; value: string; revision: number }[] {
  return [...snapshot]
    .filter(([key]) => key.startsWith(prefix))
    .map(([key, { value, revision }]) => ({ key, value, revision }))
    .toSorted((one, other) => (one.key < other.key ? -1 : 1));
}

function readable(stored: { readonly key: string; readonly value: Uint8Array; readonly revision: number }): unknown {
  return { ...stored, value: new TextDecoder().decode(stored.value) };
}

function comparable(event: StoreEvent): unknown {
  return event.type === "put" ? { ...event, value: new TextDecoder().decode(event.value) } : event;
}
