import { finish, type Steps } from "../apimachinery/steps.ts";
import type { Backend } from "./backend.ts";
import type { RequestContext } from "./context.ts";

/** Waits until the next part of large work may run. */
export type Turn = () => Promise<void>;

/** From how many bytes of JSON on an object is worked on in parts: the worst that fits into less takes about 50 ms in all. */
export const largeBytes: number = 16 * 1024;

/** How a request waits for its turns where it works on an object of so many bytes; undefined where that is little, and nothing waits. */
export function turnFor(
  { turns }: Pick<Backend, "turns">,
  { user, isLarge }: RequestContext,
  bytes: number,
): Turn | undefined {
  return isLarge === true || bytes >= largeBytes ? () => turns.next(user.username) : undefined;
}

/** Does the steps at once where there is no `turn` to wait for, and else each in one of its own. */
export function stepped<Result>(turn: Turn | undefined, steps: Steps<Result>): Result | Promise<Result> {
  return turn === undefined ? finish(steps) : finishInTurns(turn, steps);
}

/** Does each step in a turn of its own. */
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
