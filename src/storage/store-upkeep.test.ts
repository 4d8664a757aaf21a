import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compactionTarget, withSample, type CompactionPolicy, type RevisionSample } from "./store-upkeep.ts";

const policy: CompactionPolicy = { keepForMs: 1000, minRevisions: 10, maxRevisions: 100 };
const sample = (atMs: number, revision: number): RevisionSample => ({ atMs, revision });

describe("compactionTarget", () => {
  const cases: Readonly<Record<string, { facts: Parameters<typeof compactionTarget>[0]; target: number | undefined }>> =
    {
      "nothing before a sample is old enough": {
        facts: { nowMs: 1999, current: 60, compacted: 0, samples: [sample(1000, 40)] },
        target: undefined,
      },
      "what was there long enough ago": {
        facts: { nowMs: 2000, current: 60, compacted: 0, samples: [sample(1000, 40), sample(1500, 50)] },
        target: 40,
      },
      "never the newest revisions, however old": {
        facts: { nowMs: 9999, current: 60, compacted: 0, samples: [sample(0, 60)] },
        target: 50,
      },
      "nothing while there are fewer than those": {
        facts: { nowMs: 9999, current: 9, compacted: 0, samples: [sample(0, 9)] },
        target: undefined,
      },
      "what is more than the most, however young": {
        facts: { nowMs: 0, current: 300, compacted: 0, samples: [] },
        target: 200,
      },
      "nothing twice": {
        facts: { nowMs: 2000, current: 60, compacted: 40, samples: [sample(1000, 40)] },
        target: undefined,
      },
    };
  for (const [name, { facts, target }] of Object.entries(cases)) {
    it(`compacts ${name}`, () => expect(compactionTarget(facts, policy)).toBe(target));
  }

  it("has five minutes, 10,000 and 250,000 revisions for defaults", () => {
    const at = (nowMs: number, current: number): number | undefined =>
      compactionTarget({ nowMs, current, compacted: 0, samples: [sample(0, current)] });
    expect([at(299_999, 50_000), at(300_000, 50_000), at(0, 300_000)]).toEqual([undefined, 40_000, 50_000]);
  });
});

describe("withSample", () => {
  it("keeps few samples, and changes no decision by what it drops", () => {
    const gaps = fc.array(fc.record({ ms: fc.nat(400), writes: fc.nat(30) }), { maxLength: 40 });
    fc.assert(
      fc.property(gaps, (steps) => {
        let all: readonly RevisionSample[] = [];
        let kept: readonly RevisionSample[] = [];
        let nowMs = 0;
        let current = 0;
        for (const { ms, writes } of steps) {
          nowMs += ms;
          current += writes;
          all = [...all, sample(nowMs, current)];
          kept = withSample(kept, sample(nowMs, current), policy);
          const facts = { nowMs: nowMs + 100, current, compacted: 0 };
          expect(compactionTarget({ ...facts, samples: kept }, policy)).toBe(
            compactionTarget({ ...facts, samples: all }, policy),
          );
          expect(kept.filter(({ atMs }) => atMs <= nowMs - policy.keepForMs).length).toBeLessThanOrEqual(1);
        }
      }),
    );
  });
});
