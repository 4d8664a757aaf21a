import { ownValue, type JsonObject } from "../apimachinery/json-value.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import { badRequest } from "../apimachinery/status.ts";
import { fieldsAt, isFields, stringAt } from "../apis/json-fields.ts";
import type { Resource } from "../apis/resource.ts";
import type { AdmissionRequest } from "./admission.ts";
import { reviewedUser, type ReviewNotes } from "./review-answer.ts";

/** What a webhook may be asked about, and how it reads the objects. */
export interface ReviewedKinds {
  readonly kinds: readonly Resource[];
  /** Whether it guards this subresource, empty for the object itself. */
  readonly guards: (resource: Resource, subresource: string) => boolean;
  /** @throws DecodeError */
  readonly decode: (value: JsonObject, resource: Resource, subresource: string) => ApiObject;
  /** What is said of a review of anything else. */
  readonly refusal: string;
}

/**
 * The request of a review (v1 or v1beta1) as plugins of a hub see theirs.
 * @throws StatusError BadRequest for kinds, subresources and operations that are not guarded, and for objects that are missing; DecodeError
 */
export function reviewedRequest(
  { kinds, guards, decode, refusal }: ReviewedKinds,
  request: JsonObject,
  notes: ReviewNotes,
): AdmissionRequest {
  const { group, resource: plural } = fieldsAt(request, "resource");
  const resource = kinds.find((one) => one.group === group && one.plural === plural);
  const subresource = stringAt(request, "subResource");
  const operation = ownValue(request, "operation");
  if (resource === undefined || !guards(resource, subresource) || !isGuarded(operation)) throw badRequest(refusal);
  const read = (field: string): ApiObject | undefined => {
    const value = ownValue(request, field);
    return value === undefined || value === null
      ? undefined
      : decode(isFields(value) ? value : {}, resource, subresource);
  };
  const [object, oldObject] = [read("object"), read("oldObject")];
  if (operation !== "DELETE" && object === undefined) throw badRequest("the review holds no object");
  if (operation === "UPDATE" && oldObject === undefined) throw badRequest("the review holds no old object");
  const name = stringAt(request, "name");
  return {
    operation,
    resource,
    subresource,
    namespace: stringAt(request, "namespace"),
    name: name === "" ? (object?.metadata.name ?? "") : name,
    object,
    oldObject,
    user: reviewedUser(ownValue(request, "userInfo")),
    dryRun: ownValue(request, "dryRun") === true,
    ...notes,
  };
}

function isGuarded(operation: unknown): operation is AdmissionRequest["operation"] {
  return operation === "CREATE" || operation === "UPDATE" || operation === "DELETE";
}
