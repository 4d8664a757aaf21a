import { setCondition } from "../../apimachinery/conditions.ts";
import { jsonEqual } from "../../apimachinery/equal.ts";
import type { Condition } from "../../apimachinery/object.ts";
import {
  completeNames,
  type CrdNames,
  type CrdStatus,
  type CustomResourceDefinition,
} from "../../apis/custom/crd-object.ts";

/** The names that other kinds of the same group go by. */
export interface TakenNames {
  /** Plurals, singulars and short names share one room. */
  readonly resources: ReadonlySet<string>;
  /** Kinds and list kinds share another. */
  readonly kinds: ReadonlySet<string>;
}

/**
 * The status of a definition once its names were compared with those of others: names that are free are accepted, and the kind is
 * established with its first accepted names, for good. Undefined when the status says so already.
 * Source: apiextensions-apiserver pkg/controller/status and pkg/controller/establish.
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

/** Names that are free are accepted one by one; the last one that is not is what the condition tells of. */
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
