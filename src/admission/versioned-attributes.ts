import type { ApiObject } from "../apimachinery/object.ts";
import { kindOf, type Resource } from "../apis/resource.ts";
import type { AdmissionRequest } from "./admission.ts";

/** An object of a resource in another version of it. @throws StatusError InternalError */
export type ConvertObject = (object: ApiObject, to: Resource) => Promise<ApiObject>;

/** A request, and the version by which it matched a webhook or a policy. */
export interface Presentation {
  readonly request: AdmissionRequest;
  readonly resource: Resource;
  readonly convert: ConvertObject;
}

/** The objects of a request as webhooks and policies see them: a part of another kind as that kind, all else in the version that matched. */
export async function presentedObjects({
  request,
  resource,
  convert,
}: Presentation): Promise<Pick<AdmissionRequest, "object" | "oldObject">> {
  const shownAs = request.subresource === "" ? undefined : request.resource.subresources[request.subresource]?.shownAs;
  const presented = async (object: ApiObject | undefined): Promise<ApiObject | undefined> => {
    if (object === undefined) return undefined;
    if (shownAs !== undefined) return shownAs.show(object);
    // Options of a connection have no versions.
    if (request.operation === "CONNECT") return object;
    return resource === request.resource ? object : convert(object, resource);
  };
  return { object: await presented(request.object), oldObject: await presented(request.oldObject) };
}

/** What `change` makes of the object as it is presented, whose kind it is told; in the version of the request. */
export async function changedObject(
  { request, resource, convert }: Presentation,
  object: ApiObject,
  change: (presented: ApiObject, kind: Resource) => ApiObject | Promise<ApiObject>,
): Promise<ApiObject> {
  const part = request.resource.subresources[request.subresource];
  const shownAs = part?.shownAs;
  if (shownAs !== undefined) {
    const { kind, show, write } = shownAs;
    return write(await change(show(object), kind), object);
  }
  if (resource === request.resource) return change(object, kindOf(resource, part));
  return convert(await change(await convert(object, resource), resource), request.resource);
}
