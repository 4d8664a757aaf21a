import type { FieldError } from "../core/field-error.ts";
import type { ApiObject } from "../core/object.ts";
import type { Resource } from "../resources/resource.ts";
import type { Backend } from "./backend.ts";
import type { RequestContext } from "./context.ts";
import { finishInTurns } from "./large-work.ts";

interface Validation {
  readonly backend: Pick<Backend, "turns">;
  readonly resource: Resource;
  readonly context: RequestContext;
}

/** What the kind finds wrong with a new object, or with one that replaces `stored`; in parts where that may take long. */
export async function validated(
  { backend: { turns }, resource, context: { user } }: Validation,
  object: ApiObject,
  stored?: ApiObject,
): Promise<readonly FieldError[]> {
  const { validate, validateInSteps } = resource;
  if (validateInSteps === undefined) return validate?.(object, stored) ?? [];
  const steps = validateInSteps(object, stored);
  // What has one step only is done at once, and waits for no turn.
  const { done, value } = steps.next();
  return done === true ? value : finishInTurns(() => turns.next(user.username), steps);
}
