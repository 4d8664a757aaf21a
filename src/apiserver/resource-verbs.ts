import { checkTimeout } from "./query-options.ts";
import { preparedKind } from "../registry/turns.ts";
import { kindOf } from "../apis/resource.ts";
import type { Handler } from "./admitted-request.ts";
import { checkVerb, subresourceOf } from "./allowed-verb.ts";
import type { Reply } from "./http-types.ts";
import { connect } from "./connect-verb.ts";
import { callOf, type Call, type ResourceVerbsOptions } from "./resource-call.ts";
import { remove, removeCollection } from "./resource-deletes.ts";
import { get, list, watch } from "./resource-reads.ts";
import { create, patch, update } from "./resource-writes.ts";
import { unknownPath } from "./routes.ts";

const verbs: ReadonlyMap<string, (call: Call) => Promise<Reply | "streamed">> = new Map<
  string,
  (call: Call) => Promise<Reply | "streamed">
>([
  ["get", get],
  ["list", list],
  ["watch", watch],
  ["create", create],
  ["update", update],
  ["patch", patch],
  ["delete", remove],
  ["deletecollection", removeCollection],
]);

/** Serves everything under /api/<version> and /apis/<group>/<version>; all other paths are served by `otherPaths`. */
export function resourceVerbs(options: ResourceVerbsOptions, otherPaths: Handler): Handler {
  return async function serveResource(admitted) {
    const { info } = admitted;
    if (!info.isResource) return otherPaths(admitted);
    const resource = options.registry.find(info.group, info.version, info.resource);
    if (resource === undefined) throw unknownPath();
    checkVerb(resource, info, admitted.request.method);
    if (info.verb !== "watch") checkTimeout(admitted.query);
    const verb = verbs.get(info.verb);
    // What a resource offers is always among them.
    if (verb === undefined) throw unknownPath();
    if (resource.custom !== undefined) {
      if (resource.custom.warning !== undefined) admitted.warn(resource.custom.warning);
      await preparedKind(resource, () => options.turns.next(admitted.user.username));
    }
    const part = info.subresource === "" ? undefined : subresourceOf(resource, info);
    const call = callOf(admitted, { resource, kind: kindOf(resource, part), options });
    return part?.connects === undefined ? verb(call) : connect(call, part);
  };
}
