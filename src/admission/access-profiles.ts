import { type RequiredRight, approvalRights, handedOutAdmission, sameRight } from "./required-rights.ts";
import { type AccessProfile, defaultProfileAnnotation, profileDefaults } from "../apis/access-profile.ts";
import { accessGroup } from "../apis/access-request.ts";
import type { AccessCheck, AdmissionPlugin } from "./admission.ts";
import { jsonEqual } from "../apimachinery/equal.ts";
import { type RecoveryPolicy, type RecoveryTerms, recoveryDefaults } from "../apis/recovery-policy.ts";

/**
 * Requires the writer of an AccessProfile to have every right that an approval of its requests grants: the controller that grants them
 * may do more than the writers of profiles. A change needs the added rights; one that reaches more machines or grants more to each needs
 * all.
 */
export function accessProfileAdmission(may: AccessCheck): AdmissionPlugin {
  return handedOutAdmission(may, {
    name: "PratiqueAccessProfile",
    kind: { group: accessGroup, plural: "accessprofiles" },
    rightsOf: (object, { oldObject }) => {
      const next = object as AccessProfile;
      const stored = oldObject as AccessProfile | undefined;
      const held = stored === undefined || isWiderProfile(next, stored) ? [] : rightsOfProfile(stored);
      return rightsOfProfile(next).filter((right) => !held.some((one) => sameRight(one, right)));
    },
  });
}

const rbacGroup = "rbac.authorization.k8s.io";
const everyName = [""];
/** The namespace of bootstrap tokens. */
const tokenNamespace = "kube-system";

/**
 * Everything that a profile grants, each as the right by which its writer could grant the same without it: accounts and their tokens, the
 * roles that they are bound to, bootstrap tokens, and automatic decisions.
 */
function rightsOfProfile({ metadata, spec }: AccessProfile): readonly RequiredRight[] {
  const { namespace, roles = [], bootstrapToken, rules = [], recovery } = spec;
  const core = { group: "", version: "v1", verb: "create", names: everyName };
  return [
    { ...core, resource: "serviceaccounts", subresource: "", namespace },
    { ...core, resource: "serviceaccounts", subresource: "token", namespace },
    ...roles.map(({ kind, name, clusterWide = false }) => ({
      verb: "bind",
      group: rbacGroup,
      version: "v1",
      resource: kind === "Role" ? "roles" : "clusterroles",
      subresource: "",
      namespace: clusterWide ? "" : namespace,
      names: [name],
    })),
    ...(bootstrapToken === undefined
      ? []
      : [{ ...core, resource: "secrets", subresource: "", namespace: tokenNamespace }]),
    ...(rules.length > 0 || recovery !== undefined ? decisionRights(metadata.name ?? "") : []),
  ];
}

/** The permission for deciding on a request, by any means. */
function decisionRights(profile: string): readonly RequiredRight[] {
  const ours = { group: accessGroup, version: "v1alpha1", namespace: "" };
  return [
    { ...ours, verb: "approve", resource: "accessprofiles", subresource: "", names: [profile] },
    { ...ours, verb: "update", resource: "accessrequests", subresource: "status", names: everyName },
  ];
}

type Spec = AccessProfile["spec"];

/** Each way in which one spec may grant access to more machines, for longer or elsewhere than the previous one. */
const widenings: readonly ((next: Spec, stored: Spec) => boolean)[] = [
  (next, stored) => next.namespace !== stored.namespace,
  (next, stored) => termOf(next, "tokenSeconds") > termOf(stored, "tokenSeconds"),
  (next, stored) => termOf(next, "approvers") < termOf(stored, "approvers"),
  (next, stored) => stored.requirePossession === true && next.requirePossession !== true,
  // No audience means the audience of the API.
  (next, stored) => isMore(orEmpty(next.audiences), orEmpty(stored.audiences)),
  (next, stored) => hasMoreNetworks(next.sourceNetworks, stored.sourceNetworks),
  (next, stored) => !jsonEqual(next.rules ?? [], stored.rules ?? []),
  (next, stored) => next.recovery !== undefined && !jsonEqual(next.recovery, stored.recovery),
  (next, stored) => hasMoreTokens(next.bootstrapToken, stored.bootstrapToken),
];

/**
 * Whether a changed profile may grant access to more machines, for longer or elsewhere than the stored one. Fields that cannot be
 * compared, such as rules, count as more. Roles are not compared here: each is a right of its own.
 */
function isWiderProfile(next: AccessProfile, stored: AccessProfile): boolean {
  return isDefault(next, stored) || widenings.some((isWider) => isWider(next.spec, stored.spec));
}

function termOf(spec: Spec, term: "tokenSeconds" | "approvers"): number {
  return spec[term] ?? profileDefaults[term];
}

/** Whether the profile has become the default for requests that name none. */
function isDefault(next: AccessProfile, stored: AccessProfile): boolean {
  const [now, before] = [next, stored].map(({ metadata }) => metadata.annotations?.[defaultProfileAnnotation]);
  return now === "true" && before !== "true";
}

function hasMoreTokens(next: Spec["bootstrapToken"], stored: Spec["bootstrapToken"]): boolean {
  if (next === undefined) return false;
  const ttl = (terms: typeof next): number => terms.ttlSeconds ?? profileDefaults.bootstrapTtlSeconds;
  return stored === undefined || ttl(next) > ttl(stored) || isMore(next.groups ?? [], stored.groups ?? []);
}

/** Whether a list of networks has become larger; an empty list means all. */
function hasMoreNetworks(next: readonly string[] = [], stored: readonly string[] = []): boolean {
  if (stored.length === 0) return false;
  return next.length === 0 || isMore(next, stored);
}

/** Whether the first list has a text that the second lacks. */
function isMore(next: readonly string[], stored: readonly string[]): boolean {
  return next.some((one) => !stored.includes(one));
}

function orEmpty(list: readonly string[] = []): readonly string[] {
  return list.length === 0 ? everyName : list;
}

const nodeSigner = "kubernetes.io/kube-apiserver-client-kubelet";

/**
 * Requires the writer of a RecoveryPolicy to have the permission to approve client certificates of nodes, as the policy does. A change
 * that accepts no more nodes, no later and no more often needs nothing.
 */
export function recoveryPolicyAdmission(may: AccessCheck): AdmissionPlugin {
  return handedOutAdmission(may, {
    name: "PratiqueRecoveryPolicy",
    kind: { group: accessGroup, plural: "recoverypolicies" },
    rightsOf: (object, { oldObject }) => {
      const [next, stored] = [object as RecoveryPolicy, oldObject as RecoveryPolicy | undefined];
      return stored !== undefined && !isWider(next.spec, stored.spec) ? [] : approvalRights(nodeSigner);
    },
  });
}

function isWider(next: RecoveryPolicy["spec"], stored: RecoveryPolicy["spec"]): boolean {
  const value = (terms: RecoveryTerms, field: keyof typeof recoveryDefaults): number =>
    terms[field] ?? recoveryDefaults[field];
  return (
    isMore(next.nodeNames, stored.nodeNames) ||
    value(next, "windowSeconds") > value(stored, "windowSeconds") ||
    value(next, "times") > value(stored, "times") ||
    value(next, "perSeconds") < value(stored, "perSeconds") ||
    hasMoreNetworks(next.networks, stored.networks)
  );
}
