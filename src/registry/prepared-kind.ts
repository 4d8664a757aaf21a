import type { Resource } from "../apis/resource.ts";
import { finishInTurns, type Turn } from "./large-work.ts";

/** Resolves when the schemas of a custom kind are read, which is done at its first use, in turns of all who use it then. */
export async function preparedKind({ custom }: Resource, turn: Turn): Promise<void> {
  if (custom === undefined) return;
  const steps = custom.prepare();
  if (steps.next().done !== true) await finishInTurns(turn, steps);
}
