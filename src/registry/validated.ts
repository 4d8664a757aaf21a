import type { FieldError } from "../apimachinery/field-error.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import type { Steps } from "../apimachinery/steps.ts";
import type { Resource } from "../apis/resource.ts";
import type { Backend, RequestContext } from "./backend.ts";
import { finishInTurns } from "./turns.ts";

interface Validation {
  readonly backend: Pick<Backend, "turns">;
  readonly resource: Resource;
  readonly context: RequestContext;
}

/** The validation errors of a new object, or of one that replaces `stored`; in parts where that may take long. */
export function validated(
  validation: Validation,
  object: ApiObject,
  stored?: ApiObject,
): readonly FieldError[] | Promise<readonly FieldError[]> {
  const { validate, validateInSteps } = validation.resource;
  if (validateInSteps === undefined) return validate?.(object, stored) ?? [];
  return inTurns(validation, validateInSteps(object, stored));
}

/** The further errors of `next` in place of `stored` by the kind, or its subresource; in parts where that may take long. */
export function validatedUpdate(
  validation: Validation & { readonly subresource: string },
  next: ApiObject,
  stored: ApiObject,
): readonly FieldError[] | Promise<readonly FieldError[]> {
  const { resource, subresource } = validation;
  if (subresource === "") return resource.validateUpdate?.(next, stored) ?? [];
  const part = resource.subresources[subresource];
  if (part?.validateUpdateInSteps === undefined) return part?.validateUpdate?.(next, stored) ?? [];
  return inTurns(validation, part.validateUpdateInSteps(next, stored));
}

/** Runs a single step at once, without waiting for a turn. */
function inTurns<Result>(
  { backend: { turns }, context: { user } }: Validation,
  steps: Steps<Result>,
): Result | Promise<Result> {
  const { done, value } = steps.next();
  return done === true ? value : finishInTurns(() => turns.next(user.username), steps);
}
