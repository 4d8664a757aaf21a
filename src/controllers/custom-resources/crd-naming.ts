import { rfc3339, type Clock } from "../../apimachinery/clock.ts";
import type { ObjectKey } from "../../apimachinery/object.ts";
import type { CrdNames, CrdStatus, CustomResourceDefinition } from "../../apis/custom/crd-object.ts";
import type { Resource } from "../../apis/resource.ts";
import { done, type Controller, type Outcome } from "../controller.ts";
import { namedStatus, type TakenNames } from "./crd-naming-policy.ts";
import { apiserverAccount, customResourceDefinitions } from "../kinds.ts";
import type { SharedInformers } from "../shared-informers.ts";
import { referenceTo } from "../report.ts";

export interface CrdNamingOptions {
  readonly informers: SharedInformers;
  readonly clock: Clock;
  /** The kinds whose names no definition can have. */
  readonly builtin: readonly Resource[];
}

/** Accepts the names of definitions that nobody else of their group has, and establishes their kinds. One at a time, so that no two get one name. */
export function crdNaming(options: CrdNamingOptions): Controller {
  const { clock, builtin } = options;
  const { client, reader } = options.informers.as(apiserverAccount);
  const definitions = reader({ resource: customResourceDefinitions });
  /** Names granted here of which the informer has not told yet, by definition. */
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
    // What the informer has told of needs no note of its own.
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
    // Names that become free concern all who wait for them.
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
