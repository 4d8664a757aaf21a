import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ApiObject } from "../apimachinery/object.ts";
import { nodeGraph } from "./node-graph.ts";

const names = ["a", "b", "c"] as const;
const nodes = ["one", "two", "three"] as const;

interface Step {
  readonly name: string;
  readonly gone: boolean;
  readonly uid: string;
  readonly node: string;
  readonly secrets: readonly string[];
}

function pod({ name, uid, node, secrets }: Step): ApiObject {
  const volumes = secrets.map((secret, index) => ({ name: `v${index}`, secret: { secretName: secret } }));
  const metadata = { name, namespace: "ns", uid };
  return { apiVersion: "v1", kind: "Pod", metadata, spec: { nodeName: node, volumes } };
}

describe("the graph", () => {
  it("reaches what pods speak of that are there now, whatever was there before", () => {
    const step: fc.Arbitrary<Step> = fc.record({
      name: fc.constantFrom("p", "q", "r", "s"),
      gone: fc.boolean(),
      uid: fc.constantFrom("1", "2"),
      node: fc.constantFrom(...nodes),
      secrets: fc.uniqueArray(fc.constantFrom(...names)),
    });
    const run = (steps: readonly Step[]): void => {
      const graph = nodeGraph();
      const there = new Map<string, Step>();
      for (const one of steps) {
        if (one.gone) graph.remove(pod(one));
        else graph.put(pod(one));
        if (one.gone) there.delete(one.name);
        else there.set(one.name, one);
        for (const name of names) {
          for (const node of nodes) {
            const expected = [...there.values()].some((other) => other.node === node && other.secrets.includes(name));
            expect(graph.reaches("secrets", { namespace: "ns", name }, node)).toBe(expected);
          }
        }
      }
    };
    fc.assert(fc.property(fc.array(step, { maxLength: 25 }), run), { numRuns: 200 });
  });

  it("says nothing of a node without a name", () => {
    const graph = nodeGraph();
    const one: Step = { name: "p", gone: false, uid: "1", node: "one", secrets: ["a"] };
    graph.put(pod(one));
    graph.remove(pod(one));
    expect(graph.reaches("secrets", { namespace: "ns", name: "a" }, "")).toBe(false);
  });
});
