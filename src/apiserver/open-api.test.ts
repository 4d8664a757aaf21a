import { describe, expect, it } from "vitest";
import type { Turns } from "../registry/turns.ts";
import { builtinResources } from "../apis/builtin.ts";
import { customKinds } from "../apis/custom/custom-kind.ts";
import { gnosticMediaType } from "../serializer/openapi/gnostic.ts";
import type { Resource } from "../apis/resource.ts";
import { openApiPublisher } from "./open-api.ts";

/** Turns that come at once, in a pass of their own, and are counted for each user. */
function countedTurns(): Turns & { readonly taken: Map<string, number> } {
  const taken = new Map<string, number>();
  return {
    taken,
    waiting: () => 0,
    next: (user) =>
      new Promise((resolve) => {
        taken.set(user, (taken.get(user) ?? 0) + 1);
        setImmediate(resolve);
      }),
  };
}

const fieldCount = 20_000;

/** A kind of 20,000 fields. */
function largeKinds(): readonly Resource[] {
  const fields = Object.fromEntries(
    Array.from({ length: fieldCount }, (_, index) => [`f${index}`, { type: "string" }]),
  );
  return customKinds(
    {
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "CustomResourceDefinition",
      metadata: { name: "larges.example.com" },
      spec: {
        group: "example.com",
        names: { plural: "larges", kind: "Large" },
        scope: "Namespaced",
        versions: [
          {
            name: "v1",
            served: true,
            storage: true,
            schema: {
              openAPIV3Schema: { type: "object", properties: { spec: { type: "object", properties: fields } } },
            },
          },
        ],
      },
    },
    { since: 0, convert: undefined },
  );
}

/** A step may take 1,024 places, and each field is at least one. */
const fewestTurns = Math.floor(fieldCount / 1024);

describe("OpenAPI with a kind of 20,000 fields", () => {
  it.each([
    ["version 3", "*/*", "v3"],
    ["version 2", "*/*", "v2"],
    ["version 2 as gnostic", gnosticMediaType, "v2"],
  ] as const)("is made in many turns in %s, and once for all who ask meanwhile", async (_, accept, path) => {
    const turns = countedTurns();
    const documents = openApiPublisher("v1", turns)([...builtinResources, ...largeKinds()]);
    const asked = (user: string): Promise<unknown> => (path === "v3" ? documents.v3(user) : documents.v2(accept, user));
    const all = await Promise.all(["one", "two", "three"].map(asked));
    expect(all[1]).toBe(all[0]);
    expect(all[2]).toBe(all[0]);
    const together = [...turns.taken.values()].reduce((sum, count) => sum + count, 0);
    expect(together).toBeGreaterThan(fewestTurns);
    const alone = countedTurns();
    const again = openApiPublisher("v1", alone)([...builtinResources, ...largeKinds()]);
    await (path === "v3" ? again.v3("one") : again.v2(accept, "one"));
    // Each who waits takes one turn more at the most, to hear that it is done.
    expect(together).toBeLessThanOrEqual((alone.taken.get("one") ?? 0) + 2);
    turns.taken.clear();
    expect(await asked("four")).toBe(all[0]);
    expect(turns.taken.size).toBe(0);
  });
});
