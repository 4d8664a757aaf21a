import type { ApiObject } from "../core/object.ts";
import type { Resource, ShownAs, Subresource } from "../resources/resource.ts";
import type { AdmissionRequest } from "./admission.ts";

/** An object of a resource in another version of it. @throws StatusError InternalError */
export type ConvertObject = (object: ApiObject, to: Resource) => Promise<ApiObject>;

/** An object of the request as webhooks and policies see it: a part of another kind as that kind, all else in the version that matched. */
export async function presented(
  object: ApiObject,
  {
    request,
    resource,
    convert,
  }: { readonly request: AdmissionRequest; readonly resource: Resource; readonly convert: ConvertObject },
): Promise<ApiObject> {
  const part = request.subresource === "" ? undefined : request.resource.subresources[request.subresource];
  const shownAs = shownAsOf(part);
  if (shownAs !== undefined) return shownAs.show(object);
  return resource === request.resource ? object : convert(object, resource);
}

/** The other kind in whose shape a subresource is read and written, such as Scale. */
export function shownAsOf(subresource: Subresource | undefined): ShownAs | undefined {
  return subresource?.creates === undefined ? subresource?.shownAs : undefined;
}
