import type { ControllerOptions } from "../shared-informers.ts";
import { rfc3339 } from "../../apimachinery/clock.ts";
import type { Condition, ObjectKey } from "../../apimachinery/object.ts";
import {
  type Approval,
  type CrdNames,
  type CrdStatus,
  type CustomResourceDefinition,
  approvalOf,
  completeNames,
} from "../../apis/custom/crd-object.ts";
import type { Resource } from "../../apis/resource.ts";
import { type Controller, type Outcome, done, referenceTo } from "../controller.ts";
import { apiserverAccount, customResourceDefinitions } from "../kinds.ts";
import { setCondition } from "../../apimachinery/conditions.ts";
import { jsonEqual } from "../../apimachinery/equal.ts";
import { changedConditions } from "../object-status.ts";

export interface CrdNamingOptions extends ControllerOptions {
  /** Kinds whose names definitions must not use. */
  readonly builtin: readonly Resource[];
}

/** Accepts names of definitions that no other definition of their group has, and establishes their kinds. One at a time, so that no two get one name. */
export function crdNaming(options: CrdNamingOptions): Controller {
  const { clock, builtin } = options;
  const { client, reader } = options.informers.as(apiserverAccount);
  const definitions = reader({ resource: customResourceDefinitions });
  /** Names accepted here that the informer has not seen yet, by definition. */
  const granted = new Map<string, { readonly group: string; readonly names: CrdNames }>();

  function taken(crd: CustomResourceDefinition): TakenNames {
    const { group } = crd.spec;
    const others = (definitions.list() as readonly CustomResourceDefinition[]).filter(
      (other) => other.spec.group === group && other.metadata.name !== crd.metadata.name,
    );
    const names = [
      ...others.flatMap((other) => other.status?.acceptedNames ?? []),
      ...[...granted]
        .filter(([name, one]) => one.group === group && name !== crd.metadata.name)
        .map(([, one]) => one.names),
    ];
    const own = builtin.filter((resource) => resource.group === group);
    return {
      resources: new Set([
        ...names.flatMap(({ plural, singular = "", shortNames = [] }) => [plural, singular, ...shortNames]),
        ...own.flatMap(({ plural, singular, shortNames }) => [plural, singular, ...shortNames]),
      ]),
      kinds: new Set([
        ...names.flatMap(({ kind, listKind = "" }) => [kind, listKind]),
        ...own.flatMap(({ kind }) => [kind, `${kind}List`]),
      ]),
    };
  }

  async function reconcile(key: ObjectKey): Promise<Outcome> {
    const crd = definitions.get(key) as CustomResourceDefinition | undefined;
    if (crd === undefined) {
      granted.delete(key.name);
      return done;
    }
    // Names that the informer has seen need no entry.
    for (const [name, one] of granted) {
      const known = definitions.get({ name }) as CustomResourceDefinition | undefined;
      if (known === undefined || known.status?.acceptedNames?.plural === one.names.plural) granted.delete(name);
    }
    if (crd.metadata.deletionTimestamp !== undefined) return done;
    const status = namedStatus(crd, taken(crd), rfc3339(clock.now()));
    if (status === undefined) return named(crd, crd.status);
    if (status.acceptedNames !== undefined) {
      granted.set(key.name, { group: crd.spec.group, names: status.acceptedNames });
    }
    await client.update(customResourceDefinitions, { ...crd, status }, { subresource: "status" });
    return named(crd, status);
  }

  return {
    name: "crd-naming",
    serviceAccount: apiserverAccount,
    // Released names affect all definitions that wait for them.
    watches: [
      {
        resource: customResourceDefinitions,
        keys: (object) => [{ name: object.metadata.name ?? "" }, ...waiting(definitions.list(), object)],
      },
    ],
    concurrency: 1,
    reconcile,
  };
}

/** Blocked while another definition has one of the names. */
function named(crd: CustomResourceDefinition, status: CrdStatus | undefined): Outcome {
  const condition = status?.conditions?.find(({ type }) => type === "NamesAccepted");
  if (condition?.status !== "False") return done;
  const about = referenceTo(customResourceDefinitions, crd);
  const next = `choose other names, or delete the definition of group ${crd.spec.group} that has them`;
  const message = `not all names are accepted: ${condition.message ?? ""}; ${next}`;
  return { kind: "blocked", because: { reason: "NamesNotAccepted", about, message }, again: "woken" };
}

/** Definitions of the same group whose names were not accepted. */
function waiting(all: readonly unknown[], changed: unknown): readonly ObjectKey[] {
  const { spec } = changed as CustomResourceDefinition;
  return (all as readonly CustomResourceDefinition[])
    .filter(
      (other) =>
        other.spec.group === spec.group &&
        (other.status?.conditions ?? []).some((one) => one.type === "NamesAccepted" && one.status === "False"),
    )
    .map((other) => ({ name: other.metadata.name ?? "" }));
}

/** The names of other kinds of the same group. */
export interface TakenNames {
  /** Plurals, singulars and short names share one namespace of names. */
  readonly resources: ReadonlySet<string>;
  /** Kinds and list kinds share another. */
  readonly kinds: ReadonlySet<string>;
}

/**
 * The status of a definition after comparing its names with those of others: free names are accepted, and the kind is established
 * permanently with its first accepted names. Undefined when nothing changes. Source: apiextensions-apiserver pkg/controller/status and
 * pkg/controller/establish.
 */
export function namedStatus(crd: CustomResourceDefinition, taken: TakenNames, now: string): CrdStatus | undefined {
  const status = crd.status ?? {};
  const { acceptedNames, problem } = acceptance(completeNames(crd.spec.names), status.acceptedNames, taken);
  const before = status.conditions ?? [];
  const named: Condition =
    problem === undefined
      ? { type: "NamesAccepted", status: "True", reason: "NoConflicts", message: "no conflicts found" }
      : { type: "NamesAccepted", status: "False", ...problem };
  const old = before.find((one) => one.type === "Established");
  const established: Condition =
    old?.status === "True"
      ? old
      : problem === undefined
        ? {
            type: "Established",
            status: "True",
            reason: "InitialNamesAccepted",
            message: "the initial names have been accepted",
          }
        : { type: "Established", status: "False", reason: "NotAccepted", message: "not all names are accepted" };
  const conditions = setCondition(setCondition(before, named, now), established, now);
  if (conditions === before && jsonEqual(acceptedNames, status.acceptedNames)) return undefined;
  return { ...status, conditions, acceptedNames };
}

interface Acceptance {
  readonly acceptedNames: CrdNames;
  readonly problem: Pick<Condition, "reason" | "message"> | undefined;
}

/** Free names are accepted one by one; the condition names the last one that is taken. */
function acceptance(wanted: CrdNames, accepted: CrdNames | undefined, taken: TakenNames): Acceptance {
  let names: CrdNames = accepted ?? { plural: "", kind: "", listKind: "" };
  let problem: Acceptance["problem"];
  const single = (
    field: "plural" | "singular" | "kind" | "listKind",
    among: ReadonlySet<string>,
    reason: string,
  ): void => {
    const name = wanted[field] ?? "";
    if (name !== accepted?.[field] && among.has(name)) problem = { reason, message: inUse(name) };
    else names = { ...names, [field]: name };
  };
  single("plural", taken.resources, "PluralConflict");
  single("singular", taken.resources, "SingularConflict");
  const own = new Set(accepted?.shortNames);
  const clashes = (wanted.shortNames ?? []).filter((name) => !own.has(name) && taken.resources.has(name));
  if (clashes.length > 0) {
    const texts = clashes.map(inUse);
    problem = { reason: "ShortNamesConflict", message: texts.length === 1 ? texts.join("") : `[${texts.join(", ")}]` };
  } else names = withList(names, "shortNames", wanted.shortNames);
  single("kind", taken.kinds, "KindConflict");
  single("listKind", taken.kinds, "ListKindConflict");
  return { acceptedNames: withList(names, "categories", wanted.categories), problem };
}

function withList(names: CrdNames, field: "shortNames" | "categories", list: readonly string[] | undefined): CrdNames {
  if (list !== undefined && list.length > 0) return { ...names, [field]: list };
  const { [field]: _none, ...rest } = names;
  return rest;
}

function inUse(name: string): string {
  return `${JSON.stringify(name)} is already in use`;
}

const reasons: Readonly<Record<Approval["state"], string>> = {
  missing: "MissingAnnotation",
  invalid: "InvalidAnnotation",
  bypassed: "UnapprovedAnnotation",
  approved: "ApprovedAnnotation",
};

/** Sets a condition on definitions in groups of Kubernetes whether they are approved. Source: apiextensions-apiserver pkg/controller/apiapproval. */
export function crdApproval(options: ControllerOptions): Controller {
  const { client, reader } = options.informers.as(apiserverAccount);
  const definitions = reader({ resource: customResourceDefinitions });

  async function reconcile(key: ObjectKey): Promise<Outcome> {
    const crd = definitions.get(key) as CustomResourceDefinition | undefined;
    const approval = crd === undefined ? undefined : approvalOf(crd);
    if (crd === undefined || approval === undefined) return done;
    const condition: Condition = {
      type: "KubernetesAPIApprovalPolicyConformant",
      status: approval.state === "approved" ? "True" : "False",
      reason: reasons[approval.state],
      message: approval.why,
    };
    const conditions = changedConditions(crd, condition, options.clock.now());
    if (conditions === undefined) return done;
    const next = { ...crd, status: { ...crd.status, conditions } };
    await client.update(customResourceDefinitions, next, { subresource: "status" });
    return done;
  }

  return {
    name: "crd-approval",
    serviceAccount: apiserverAccount,
    watches: [{ resource: customResourceDefinitions }],
    concurrency: 1,
    reconcile,
  };
}
