import type { UserInfo } from "../core/user.ts";
import type { Resource } from "../resources/resource.ts";
import { finishInTurns } from "./large-work.ts";
import type { Turns } from "./turns.ts";

/** Resolves when the schemas of a custom kind are read, which is done at its first use, in turns of all who use it then. */
export async function preparedKind(
  { custom }: Resource,
  { turns, user }: { readonly turns: Turns; readonly user: UserInfo },
): Promise<void> {
  if (custom === undefined) return;
  const steps = custom.prepare();
  if (steps.next().done !== true) await finishInTurns(() => turns.next(user.username), steps);
}
