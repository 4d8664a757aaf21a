import { pathSegmentProblems } from "../apimachinery/names.ts";
import { StatusError, badRequest, methodNotAllowed, notFound } from "../apimachinery/status.ts";
import type { Resource, Subresource, Verb } from "../apis/resource.ts";
import type { RequestInfo } from "./request-info.ts";
import { unknownPath } from "./routes.ts";

/**
 * Checks that a resource knows what a request wants of it, under that path and by that method.
 * @throws StatusError NotFound, BadRequest, MethodNotAllowed in the words of Kubernetes, which differ for custom kinds
 */
export function checkVerb(resource: Resource, info: RequestInfo, method: string | undefined): void {
  if (resource.scope === "Cluster" && isBelowNamespace(info)) throw unknownPath();
  const offered = offeredVerbs(resource, info);
  checkName(info);
  // As in Kubernetes, objects of built-in kinds know no HEAD.
  const head = method === "HEAD" && resource.custom === undefined;
  if (head || !offered.includes(info.verb as Verb) || !pathFits(resource, info)) {
    throw resource.custom === undefined ? notAllowed(resource.readOnly) : notAllowedOfCustom(resource, info);
  }
}

/** The part of an object that a request is about; undefined for the object itself. */
export function subresourceOf({ subresources }: Resource, { subresource }: RequestInfo): Subresource | undefined {
  return Object.hasOwn(subresources, subresource) ? subresources[subresource] : undefined;
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

/** One object is spoken of by name and many without; a namespaced kind is only read without a namespace. */
function pathFits(resource: Resource, { verb, name, namespace, subresource }: RequestInfo): boolean {
  if (verbsOfOne.has(verb) && name === "") return false;
  if (verb === "create" && name !== "" && subresource === "") return false;
  return resource.scope === "Cluster" || namespace !== "" || verbsOverAll.has(verb);
}

/** Reviews are not kept, so that there is nothing under a name. */
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

/** Of custom kinds Kubernetes says what it is that is not done. */
function notAllowedOfCustom(resource: Resource, { verb, name, subresource }: RequestInfo): StatusError {
  if (subresource !== "" && (verb === "create" || verb === "delete")) return methodNotAllowed(resource, verb);
  return name === "" && (verb === "update" || verb === "patch") ? badRequest("name must be provided") : notAllowed();
}
