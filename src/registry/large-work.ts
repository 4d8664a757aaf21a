import { finish, type Steps } from "../core/steps.ts";
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
export async function stepped<Result>(turn: Turn | undefined, steps: Steps<Result>): Promise<Result> {
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
