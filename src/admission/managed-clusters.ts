import { rfc3339 } from "../apimachinery/clock.ts";
import { invalid, invalidObject, type FieldError } from "../apimachinery/field-error.ts";
import { dnsLabelProblems } from "../apimachinery/names.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import { forbidden, StatusError } from "../apimachinery/status.ts";
import type { UserInfo } from "../apimachinery/user.ts";
import { stringAt, withField, withMetadata } from "../apis/json-fields.ts";
import {
  agentsAnnotation,
  clusterFinalizer,
  clusterGroup,
  clusterNameLabel,
  clusterSetLabel,
  deciderAnnotation,
  denialReasonAnnotation,
  isAccepted,
  isSharedName,
  registerGroup,
  requesterAnnotation,
  type ManagedCluster,
  type ClusterTaint,
} from "../apis/managed-cluster.ts";
import type { Resource } from "../apis/resource.ts";
import type { AccessCheck, AdmissionPlugin, AdmissionRequest } from "./admission.ts";
import { foreignCondition, foreignToAgent, isAgentOf } from "./managed-cluster-agent.ts";

export interface ManagedClusterAdmissionOptions {
  readonly may: AccessCheck;
  /** The namespace of this name, or undefined. */
  readonly namespaceOf: (name: string) => Promise<ApiObject | undefined>;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

const defaultSet = "default";

/**
 * Guards clusters and cluster sets: stamps taints, requires a permission to accept a cluster or to move it between sets, and limits
 * agents to their own fields. Source: ocm pkg/registration/webhook.
 */
export function managedClusterAdmission(options: ManagedClusterAdmissionOptions): AdmissionPlugin {
  return {
    name: "ManagedCluster",
    concerns: ({ group }) => group === clusterGroup,
    mutate: async (request) => {
      const { object, oldObject, operation, subresource, resource } = request;
      if (!isClusters(resource) || subresource !== "" || object === undefined || operation === "DELETE")
        return undefined;
      const next = operation === "CREATE" ? await withoutHubRecords(options, request, object) : object;
      return prepared(options, request, { next, stored: oldObject });
    },
    validate: async (request) => {
      const { object, operation, resource, subresource } = request;
      if (operation === "DELETE" || object === undefined) return;
      if (resource.plural === "managedclustersetbindings" && subresource === "")
        await checkBinding(options, request, object);
      else if (isClusters(resource) && subresource === "status") checkStatus(request, object);
      else if (isClusters(resource) && subresource === "") await checkCluster(options, request, object);
    },
  };
}

function isClusters({ group, plural }: Pick<Resource, "group" | "plural">): boolean {
  return group === clusterGroup && plural === "managedclusters";
}

/**
 * Fields that only the hub sets once it has accepted a cluster are not taken from a requester. The record of its agents and of a denial
 * is taken from a user who may accept the cluster, as from a backup.
 */
async function withoutHubRecords(
  { may }: ManagedClusterAdmissionOptions,
  { name, user }: AdmissionRequest,
  object: ApiObject,
): Promise<ApiObject> {
  const { finalizers = [], annotations = {} } = object.metadata;
  const isHeld = finalizers.includes(clusterFinalizer);
  const isClaimed = Object.hasOwn(annotations, agentsAnnotation) || Object.hasOwn(annotations, denialReasonAnnotation);
  const isAuthorized = !isClaimed || (await mayAccept(may, user, name));
  const { [agentsAnnotation]: _record, [denialReasonAnnotation]: _denial, ...others } = annotations;
  return withMetadata(object, {
    ...(isHeld ? { finalizers: finalizers.filter((one) => one !== clusterFinalizer) } : {}),
    ...(isAuthorized ? {} : { annotations: others }),
  });
}

interface Change {
  readonly next: ManagedCluster;
  readonly stored: ManagedCluster | undefined;
}

/** @throws StatusError BadRequest for times of taints that no client may choose */
function prepared(options: ManagedClusterAdmissionOptions, request: AdmissionRequest, change: Change): ApiObject {
  const labels = change.next.metadata.labels ?? {};
  const set = labels[clusterSetLabel] ?? "";
  return withMetadata(withStampedTaints(options, request, change), {
    labels: set === "" ? { ...labels, [clusterSetLabel]: defaultSet } : labels,
    ...annotationsOf(request, change),
  });
}

function withStampedTaints(
  { now }: ManagedClusterAdmissionOptions,
  { resource, name }: AdmissionRequest,
  { next, stored }: Change,
): ApiObject {
  const { taints } = next.spec ?? {};
  if (taints === undefined) return next;
  const stamped = stampedTaints(taints, stored && (stored.spec?.taints ?? []), rfc3339(now()));
  if ("errors" in stamped) throw new StatusError("BadRequest", invalidObject(resource, name, stamped.errors).message);
  return withField(next, "spec", { ...next.spec, taints: stamped.taints });
}

/** The requester stays recorded whichever user writes later; so does the last user who accepted or denied. */
function annotationsOf(
  { user: { username } }: AdmissionRequest,
  { next, stored }: Change,
): Pick<ApiObject["metadata"], "annotations"> {
  const { [requesterAnnotation]: _given, [deciderAnnotation]: _claimed, ...others } = next.metadata.annotations ?? {};
  const recorded = stored?.metadata.annotations ?? {};
  const requester = stored === undefined ? username : recorded[requesterAnnotation];
  const decider = isDecision({ next, stored }) ? username : recorded[deciderAnnotation];
  const stamps = { [requesterAnnotation]: requester, [deciderAnnotation]: decider };
  const annotations = { ...others };
  for (const [key, user] of Object.entries(stamps)) if (user !== undefined) annotations[key] = user;
  return Object.keys(annotations).length === 0 && next.metadata.annotations === undefined ? {} : { annotations };
}

function isDecision({ next, stored }: Change): boolean {
  return isAccepted(next) !== (stored !== undefined && isAccepted(stored));
}

/** @throws StatusError Invalid, Forbidden */
async function checkCluster(
  options: ManagedClusterAdmissionOptions,
  request: AdmissionRequest,
  next: ManagedCluster,
): Promise<void> {
  const { resource, name, user, operation } = request;
  const stored = request.oldObject;
  const errors = [...(operation === "CREATE" ? nameErrors(name) : []), ...urlErrors(next)];
  if (errors.length > 0) throw invalidObject(resource, name, errors);
  if (stored !== undefined && isAgentOf(user, name)) {
    const foreign = foreignToAgent(next, stored);
    if (foreign !== undefined) throw forbidden(resource, name, `an agent does not change ${foreign}`);
  }
  if (isAccepted(next) && (stored === undefined || !isAccepted(stored))) await checkAcceptance(options, request);
  await checkSets(options, request, [setOf(stored), setOf(next)]);
}

/** The hub creates a namespace of this name, in which an agent gets rights. */
function nameErrors(name: string): readonly FieldError[] {
  const [problem] = dnsLabelProblems(name);
  if (problem !== undefined) return [invalid("metadata.name", name, problem)];
  const isTaken = reserved.has(name) || name.startsWith("kube-");
  if (isTaken) return [invalid("metadata.name", name, "names a namespace of the hub itself")];
  return isSharedName(name)
    ? [invalid("metadata.name", name, "is the name of a role or group that the agents of all clusters share")]
    : [];
}

const reserved: ReadonlySet<string> = new Set([
  "default",
  "open-cluster-management",
  "open-cluster-management-hub",
  "pratique-system",
]);

function urlErrors({ spec }: ManagedCluster): readonly FieldError[] {
  return (spec?.managedClusterClientConfigs ?? []).flatMap(({ url }, index) =>
    URL.canParse(url) && new URL(url).protocol === "https:"
      ? []
      : [invalid(`spec.managedClusterClientConfigs[${index}].url`, url, "must be an https:// URL")],
  );
}

/** @throws StatusError Forbidden */
async function checkAcceptance(
  { may, namespaceOf }: ManagedClusterAdmissionOptions,
  { resource, name, user, warn }: AdmissionRequest,
): Promise<void> {
  const namespace = await namespaceOf(name);
  if (namespace?.metadata.deletionTimestamp !== undefined || stringAt(namespace, "status", "phase") === "Terminating") {
    throw forbidden(resource, name, "the namespace of the cluster is still being deleted; accept it afterwards");
  }
  if (await mayAccept(may, user, name)) {
    if (namespace !== undefined && namespace.metadata.labels?.[clusterNameLabel] !== name) {
      warn(`namespace ${name} was there before the cluster: its agent gets rights in it`);
    }
    return;
  }
  const why = `user ${JSON.stringify(user.username)} cannot accept it: verb "update" on managedclusters/accept.${registerGroup} is needed`;
  throw forbidden(resource, name, why);
}

async function mayAccept(may: AccessCheck, user: UserInfo, name: string): Promise<boolean> {
  const asked = { user, verb: "update", group: registerGroup, version: "v1", resource: "managedclusters" };
  return (await may({ ...asked, subresource: "accept", namespace: "", name })).allowed;
}

function setOf(cluster: ManagedCluster | undefined): string {
  return cluster?.metadata.labels?.[clusterSetLabel] ?? "";
}

/** A user who moves a cluster needs the permission for both sets. @throws StatusError Forbidden */
async function checkSets(
  { may }: ManagedClusterAdmissionOptions,
  request: AdmissionRequest,
  [before, after]: readonly [string, string],
): Promise<void> {
  if (before === after) return;
  for (const set of [before, after]) {
    if (set !== "") await checkUse(may, request, { set, verb: "join", what: "add or remove clusters of set" });
  }
}

/** @throws StatusError Invalid, Forbidden */
async function checkBinding(
  { may }: ManagedClusterAdmissionOptions,
  request: AdmissionRequest,
  object: ApiObject,
): Promise<void> {
  const { resource, name, operation } = request;
  const set = stringAt(object, "spec", "clusterSet");
  if (set !== name) {
    throw invalidObject(resource, name, [invalid("spec.clusterSet", set, "must be the name of the binding")]);
  }
  if (operation === "CREATE") await checkUse(may, request, { set, verb: "bind", what: "bind set" });
}

/** @throws StatusError Forbidden for a user who may not join clusters to this set, or bind it */
async function checkUse(
  may: AccessCheck,
  { resource, name, user }: AdmissionRequest,
  { set, verb: subresource, what }: { readonly set: string; readonly verb: "join" | "bind"; readonly what: string },
): Promise<void> {
  const asked = { user, verb: "create", group: clusterGroup, version: "v1beta2", resource: "managedclustersets" };
  if ((await may({ ...asked, subresource, namespace: "", name: set })).allowed) return;
  const why = `user ${JSON.stringify(user.username)} cannot ${what} ${JSON.stringify(set)}: verb "create" on managedclustersets/${subresource} is needed`;
  throw forbidden(resource, name, why);
}

/** @throws StatusError Forbidden */
function checkStatus({ resource, name, user, oldObject }: AdmissionRequest, next: ManagedCluster): void {
  if (oldObject === undefined || !isAgentOf(user, name)) return;
  const type = foreignCondition(next, oldObject);
  if (type !== undefined)
    throw forbidden(resource, name, `an agent does not set condition ${type}, which is the hub's`);
}

/**
 * The taints of a cluster with the times since when they are set, or the problem of given times: the writer of a taint does not choose
 * its time, and an unchanged taint keeps it. Source: ocm pkg/registration/webhook/v1.
 */
export function stampedTaints(
  wanted: readonly ClusterTaint[],
  stored: readonly ClusterTaint[] | undefined,
  now: string,
): { readonly taints: readonly ClusterTaint[] } | { readonly errors: readonly FieldError[] } {
  if (stored === undefined) return { taints: wanted.map((taint) => ({ ...taint, timeAdded: now })) };
  const errors: FieldError[] = [];
  const taints = wanted.map((taint, index) => {
    const before = stored.find((one) => isSameTaint(one, taint));
    const time = taint.timeAdded ?? undefined;
    // A taint that is sent without its time, as from a manifest, keeps the time too.
    if (before !== undefined && (time === undefined || isSameTime(time, before.timeAdded))) {
      return withTime(taint, before.timeAdded ?? undefined);
    }
    if (time === undefined) return { ...taint, timeAdded: now };
    const why =
      before === undefined ? "a taint that is new or changed has no time yet" : "the time of a taint does not change";
    errors.push(invalid(`spec.taints[${index}].timeAdded`, time, why));
    return taint;
  });
  return errors.length > 0 ? { errors } : { taints };
}

/** Whether two taints are equal except for the time. */
function isSameTaint(one: ClusterTaint, other: ClusterTaint): boolean {
  return one.key === other.key && one.effect === other.effect && (one.value ?? "") === (other.value ?? "");
}

function isSameTime(one: string, other: string | null | undefined): boolean {
  return other !== undefined && other !== null && Date.parse(one) === Date.parse(other);
}

function withTime({ timeAdded: _given, ...taint }: ClusterTaint, timeAdded: string | undefined): ClusterTaint {
  return timeAdded === undefined ? taint : { ...taint, timeAdded };
}
