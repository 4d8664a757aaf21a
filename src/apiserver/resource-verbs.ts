import { checkTimeout } from "./query-options.ts";
import { preparedKind } from "../registry/turns.ts";
import { kindOf, type Resource, type Verb } from "../apis/resource.ts";
import type { Handler } from "./admitted-request.ts";
import type { Reply } from "./http-types.ts";
import { connect } from "./connect-verb.ts";
import { callOf, subresourceOf, type Call, type ResourceVerbsOptions } from "./resource-call.ts";
import { remove, removeCollection, create, patch, update } from "./resource-writes.ts";
import { get, list, watch } from "./resource-reads.ts";
import { unknownPath } from "./routes.ts";
import { pathSegmentProblems } from "../apimachinery/names.ts";
import { StatusError, badRequest, methodNotAllowed, notFound } from "../apimachinery/status.ts";
import type { RequestInfo } from "./request-info.ts";

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
    // The verbs of a resource are always among them.
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

/**
 * Checks that a resource supports the path and method of a request.
 * @throws StatusError NotFound, BadRequest, MethodNotAllowed with Kubernetes' messages, which differ for custom kinds
 */
function checkVerb(resource: Resource, info: RequestInfo, method: string | undefined): void {
  if (resource.scope === "Cluster" && isBelowNamespace(info)) throw unknownPath();
  const offered = offeredVerbs(resource, info);
  checkName(info);
  // As in Kubernetes, objects of built-in kinds do not support HEAD.
  const head = method === "HEAD" && resource.custom === undefined;
  if (head || !offered.includes(info.verb as Verb) || !pathFits(resource, info)) {
    throw resource.custom === undefined ? notAllowed(resource.readOnly) : notAllowedOfCustom(resource, info);
  }
}

/** @throws StatusError NotFound where there is nothing at all. */
function offeredVerbs(resource: Resource, info: RequestInfo): readonly Verb[] {
  const offered = info.subresource === "" ? resource.verbs : subresourceOf(resource, info)?.verbs;
  if (offered === undefined && resource.custom !== undefined) throw notFound(resource, info.name);
  if (offered === undefined || isNamedReview(resource, info)) throw unknownPath();
  return offered;
}

/** @throws StatusError BadRequest for a name that no object can have. */
function checkName({ verb, name }: RequestInfo): void {
  const problems = verbsOfOne.has(verb) && name !== "" ? pathSegmentProblems(name) : [];
  if (problems.length > 0) throw badRequest(`Name parameter invalid: ${JSON.stringify(name)}: ${problems.join(";")}`);
}

function isBelowNamespace({ group, resource, namespace }: RequestInfo): boolean {
  return namespace !== "" && !(group === "" && resource === "namespaces");
}

const verbsOfOne: ReadonlySet<string> = new Set(["get", "update", "patch", "delete"]);
const verbsOverAll: ReadonlySet<string> = new Set(["list", "watch"]);

/** A name addresses one object, its absence a collection; without a namespace, a namespaced kind can only be read. */
function pathFits(resource: Resource, { verb, name, namespace, subresource }: RequestInfo): boolean {
  if (verbsOfOne.has(verb) && name === "") return false;
  if (verb === "create" && name !== "" && subresource === "") return false;
  return resource.scope === "Cluster" || namespace !== "" || verbsOverAll.has(verb);
}

/** Reviews are not stored, so no object has a name. */
function isNamedReview(resource: Resource, { verb, name, subresource }: RequestInfo): boolean {
  return (
    subresource === "" &&
    name !== "" &&
    (verb === "create" || verbsOfOne.has(verb)) &&
    !resource.verbs.some((offered) => verbsOfOne.has(offered))
  );
}

/** The 405 for a method that a path does not have. */
function notAllowed(why?: string): StatusError {
  const refusal = "the server does not allow this method on the requested resource";
  return new StatusError("MethodNotAllowed", why === undefined ? refusal : `${refusal}: ${why}`, { details: {} });
}

/** For custom kinds Kubernetes names the unsupported operation. */
function notAllowedOfCustom(resource: Resource, { verb, name, subresource }: RequestInfo): StatusError {
  if (subresource !== "" && (verb === "create" || verb === "delete")) return methodNotAllowed(resource, verb);
  return name === "" && (verb === "update" || verb === "patch") ? badRequest("name must be provided") : notAllowed();
}
