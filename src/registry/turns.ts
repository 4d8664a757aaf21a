import type { Entry } from "../storage/stored-object.ts";
import { finish, type Steps } from "../apimachinery/steps.ts";
import type { UserInfo } from "../apimachinery/user.ts";
import type { Resource } from "../apis/resource.ts";

/** Runs long work in parts, with other work of the event loop in between. */
export interface Turns {
  /**
   * Resolves when the next part of a large piece of work may run. One part runs per pass of the event loop, flows take turns, and
   * after each part the loop is left to other work for as long as the part took. What the caller does until its next `await` is one part.
   */
  readonly next: (flow: string) => Promise<void>;
  /** How many parts wait now. */
  readonly waiting: () => number;
}

export interface TurnsOptions {
  /** Milliseconds from any moment on. */
  readonly now: () => number;
  /** Calls back in the next pass of the event loop. */
  readonly soon: (run: () => void) => void;
  /** Calls back after so many milliseconds. */
  readonly after: (ms: number, run: () => void) => void;
}

/** A part that took less than this, in milliseconds, needs no rest behind it. */
const shortPartMs = 2;

/** Turns over one event loop; all that share a loop must share these. */
export function turns({ now, soon, after }: TurnsOptions): Turns {
  // In the order of turns: a flow goes to the end after its turn.
  const flows = new Map<string, (() => void)[]>();
  let count = 0;
  let isRunning = false;

  const runNext = (): void => {
    const [first] = flows;
    if (first === undefined) {
      isRunning = false;
      return;
    }
    const [flow, parts] = first;
    const run = parts.shift();
    flows.delete(flow);
    if (parts.length > 0) flows.set(flow, parts);
    count -= 1;
    const begun = now();
    run?.();
    // The part runs as the callbacks of the promise, before the loop gets here.
    soon(() => {
      const took = now() - begun;
      if (took < shortPartMs) runNext();
      else after(took, runNext);
    });
  };

  return {
    next: (flow) =>
      new Promise((resolve) => {
        const parts = flows.get(flow);
        if (parts === undefined) flows.set(flow, [resolve]);
        else parts.push(resolve);
        count += 1;
        if (isRunning) return;
        isRunning = true;
        soon(runNext);
      }),
    waiting: () => count,
  };
}

/** How much of a list is processed at once. */
export interface PartSize {
  readonly maxCharacters: number;
  readonly maxEntries: number;
}

/** Entries in groups of at most so many characters of JSON and so many entries; an entry that is longer alone is a group of its own. */
export function partsOf(
  entries: readonly Entry[],
  { maxCharacters, maxEntries }: PartSize,
): readonly (readonly Entry[])[] {
  const parts: (readonly Entry[])[] = [];
  let start = 0;
  let characters = 0;
  for (const [index, { json }] of entries.entries()) {
    const isFull = characters + json.length > maxCharacters || index - start >= maxEntries;
    if (isFull && index > start) {
      parts.push(entries.slice(start, index));
      start = index;
      characters = 0;
    }
    characters += json.length;
  }
  if (start < entries.length) parts.push(entries.slice(start));
  return parts;
}

/** Waits until the next part of large work may run. */
export type Turn = () => Promise<void>;

/** From how many bytes of JSON on an object is worked on in parts: the worst smaller object takes about 50 ms in all. */
export const largeBytes: number = 16 * 1024;

/** How a request on an object of this many bytes waits for its turns; undefined for small objects, which need none. */
export function turnFor(
  { turns }: { readonly turns: Turns },
  { user, isLarge }: { readonly user: UserInfo; readonly isLarge?: boolean },
  bytes: number,
): Turn | undefined {
  return isLarge === true || bytes >= largeBytes ? () => turns.next(user.username) : undefined;
}

/** Runs the steps at once without `turn`, and else each in a turn of its own. */
export function stepped<Result>(turn: Turn | undefined, steps: Steps<Result>): Result | Promise<Result> {
  return turn === undefined ? finish(steps) : finishInTurns(turn, steps);
}

/** Runs each step in a turn of its own. */
export async function finishInTurns<Result>(turn: Turn, steps: Steps<Result>): Promise<Result> {
  for (;;) {
    await turn();
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}

/** Whether the JSON of a value has about `largeBytes` or more; the values are counted only as far as it takes to know that. */
export function isLargeValue(value: unknown): boolean {
  return charactersWithin(value, largeBytes) >= largeBytes;
}

/** About how many characters of JSON a value takes, counted until there are `max`. */
function charactersWithin(value: unknown, max: number): number {
  if (typeof value === "string") return value.length + 2;
  if (typeof value !== "object" || value === null) return 6;
  let characters = 2;
  for (const key in value) {
    if (characters >= max) break;
    characters += key.length + 3 + charactersWithin(Reflect.get(value, key), max - characters);
  }
  return characters;
}

/** Resolves when the schemas of a custom kind are compiled, which happens at its first use, in turns of the kind. */
export async function preparedKind({ custom }: Resource, turn: Turn): Promise<void> {
  if (custom === undefined) return;
  const steps = custom.prepare();
  if (steps.next().done !== true) await finishInTurns(turn, steps);
}
