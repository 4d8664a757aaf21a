import { describe, expect, it } from "vitest";
import type { CrdNames, CrdStatus, CustomResourceDefinition } from "../../apis/custom/crd-object.ts";
import { namedStatus, type TakenNames } from "./crd-conditions.ts";

const now = "2026-01-01T00:00:00Z";
const crd = (names: Partial<CrdNames>, status?: CrdStatus): CustomResourceDefinition => ({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "widgets.example.com" },
  spec: {
    group: "example.com",
    names: { plural: "widgets", kind: "Widget", ...names },
    scope: "Namespaced",
    versions: [],
  },
  ...(status === undefined ? {} : { status }),
});
const taken = (resources: readonly string[] = [], kinds: readonly string[] = []): TakenNames => ({
  resources: new Set(resources),
  kinds: new Set(kinds),
});
const stateOf = (status: CrdStatus | undefined): unknown =>
  status?.conditions?.map(({ type, status: value, reason }) => [type, value, reason]);

describe("names that nobody else has", () => {
  it("are accepted, and the kind is established", () => {
    const status = namedStatus(crd({ shortNames: ["w"], categories: ["all"] }), taken(), now);
    expect(status?.acceptedNames).toEqual({
      plural: "widgets",
      singular: "widget",
      kind: "Widget",
      listKind: "WidgetList",
      shortNames: ["w"],
      categories: ["all"],
    });
    expect(stateOf(status)).toEqual([
      ["NamesAccepted", "True", "NoConflicts"],
      ["Established", "True", "InitialNamesAccepted"],
    ]);
    expect(namedStatus(crd({ shortNames: ["w"], categories: ["all"] }, status), taken(), now)).toBeUndefined();
  });
});

describe("names that others have", () => {
  it.each([
    [taken(["widgets"]), "PluralConflict", '"widgets" is already in use'],
    [taken(["widget"]), "SingularConflict", '"widget" is already in use'],
    [taken(["w"]), "ShortNamesConflict", '"w" is already in use'],
    [taken(["v", "w"]), "ShortNamesConflict", '["v" is already in use, "w" is already in use]'],
    [taken([], ["Widget"]), "KindConflict", '"Widget" is already in use'],
    [taken([], ["WidgetList"]), "ListKindConflict", '"WidgetList" is already in use'],
  ])("keep a kind from being established %#", (others, reason, message) => {
    const status = namedStatus(crd({ shortNames: ["v", "w"] }), others, now);
    expect(status?.conditions?.[0]).toMatchObject({ type: "NamesAccepted", status: "False", reason, message });
    expect(status?.conditions?.[1]).toMatchObject({ type: "Established", status: "False", reason: "NotAccepted" });
  });

  it("leave an established kind with the names that it has", () => {
    const before = namedStatus(crd({ shortNames: ["w"] }), taken(), now);
    const status = namedStatus(crd({ shortNames: ["w", "x"] }, before), taken(["x"]), now);
    expect(status?.acceptedNames?.shortNames).toEqual(["w"]);
    expect(stateOf(status)).toEqual([
      ["NamesAccepted", "False", "ShortNamesConflict"],
      ["Established", "True", "InitialNamesAccepted"],
    ]);
  });
});
