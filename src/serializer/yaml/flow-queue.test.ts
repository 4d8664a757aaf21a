import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { flowQueue, type FlowJob, type FlowQueue, type FlowQueueLimits } from "./flow-queue.ts";

interface Named extends FlowJob {
  readonly name: string;
}

const limits: FlowQueueLimits = { maxJobs: 8, maxJobsOfFlow: 6, maxCharacters: 800, maxCharactersOfFlow: 600 };

/** A job named by its flow and a number: `a1` is of flow `a`. */
function job(name: string, characters = 1): Named {
  return { name, flow: name.slice(0, 1), characters };
}

function queued(names: readonly string[]): FlowQueue<Named> {
  const queue = flowQueue<Named>(limits);
  for (const name of names) queue.add(job(name));
  return queue;
}

/** What is done, in order. */
function drained(queue: FlowQueue<Named>): readonly string[] {
  const done: string[] = [];
  for (let next = queue.next(); next !== undefined; next = queue.next()) {
    done.push(next.name);
    queue.end(next);
  }
  return done;
}

const names = (jobs: readonly Named[] | string): unknown =>
  typeof jobs === "string" ? jobs : jobs.map(({ name }) => name);

describe("a queue of jobs by flow", () => {
  it("gives each flow its turn, however many jobs of another wait", () => {
    const queue = queued(["a1", "a2", "a3", "a4"]);
    const first = queue.next() as Named;
    for (const name of ["b1", "c1", "b2"]) queue.add(job(name));
    queue.end(first);
    expect([first.name, ...drained(queue)]).toEqual(["a1", "b1", "c1", "a2", "b2", "a3", "a4"]);
  });

  it("takes so many jobs and so many characters of one flow, those under way included, and others of other flows", () => {
    const queue = queued(["a1", "a2", "a3", "a4", "a5", "a6"]);
    queue.next();
    expect(names(queue.add(job("a7")))).toBe("flow-full");
    expect(names(queue.add(job("b1", 700)))).toEqual([]);
    expect(names(queue.add(job("b2", 1)))).toBe("flow-full");
  });

  it("takes any job of a flow that has none, and then so many characters", () => {
    const queue = flowQueue<Named>(limits);
    expect(names(queue.add(job("a1", 5000)))).toEqual([]);
    expect(names(queue.add(job("a2", 1)))).toBe("flow-full");
    const under = queue.next() as Named;
    expect(names(queue.add(job("b1", 1)))).toBe("full");
    queue.end(under);
    expect(names(queue.add(job("b1", 1)))).toEqual([]);
  });

  it("that is full gives up the newest job of the flow that has most, for one that has less", () => {
    const queue = queued(["a1", "a2", "a3", "a4", "a5", "b1", "b2", "b3"]);
    expect(names(queue.add(job("c1")))).toEqual(["a5"]);
    expect(names(queue.add(job("c2")))).toEqual(["a4"]);
    expect(names(queue.add(job("a6")))).toBe("full");
    expect(drained(queue)).toEqual(["a1", "b1", "c1", "a2", "b2", "c2", "a3", "b3"]);
  });

  it("gives up nothing where that would not be enough", () => {
    const queue = flowQueue<Named>(limits);
    for (const [name, characters] of [
      ["a1", 300],
      ["a2", 300],
      ["b1", 150],
    ] as const)
      queue.add(job(name, characters));
    expect(names(queue.add(job("c1", 560)))).toBe("full");
    expect(drained(queue)).toEqual(["a1", "b1", "a2"]);
  });

  it("returns what waits when it is cleared, and has room then", () => {
    const queue = queued(["a1", "b1", "a2"]);
    const under = queue.next() as Named;
    expect(names(queue.clear())).toEqual(["a2", "b1"]);
    queue.end(under);
    expect(queue.next()).toBeUndefined();
    for (let index = 0; index < 6; index += 1) expect(names(queue.add(job(`a${index}`)))).toEqual([]);
  });

  it("never holds more than it may, and loses no job", () => {
    const moves = fc.array(
      fc.oneof(fc.record({ flow: fc.constantFrom("a", "b", "c"), size: fc.nat(400) }), fc.constant("done" as const)),
      { maxLength: 60 },
    );
    fc.assert(
      fc.property(moves, (all) => {
        const queue = flowQueue<Named>(limits);
        const held = new Set<Named>();
        const faults: string[] = [];
        const remove = (gone: Named): void => {
          if (!held.delete(gone)) faults.push(`${gone.name} was not in the queue`);
        };
        const finishNext = (): void => {
          const next = queue.next();
          if (next === undefined) return;
          remove(next);
          queue.end(next);
        };
        const add = (added: Named): void => {
          const displaced = queue.add(added);
          if (typeof displaced === "string") return;
          held.add(added);
          for (const gone of displaced) remove(gone);
          const characters = [...held].reduce((sum, one) => sum + one.characters, 0);
          if (held.size > limits.maxJobs) faults.push(`${held.size} jobs`);
          if (held.size > 1 && characters > limits.maxCharacters) faults.push(`${characters} characters`);
        };
        for (const [index, move] of all.entries()) {
          if (move === "done") finishNext();
          else add(job(`${move.flow}${index}`, move.size));
        }
        expect(faults).toEqual([]);
        expect(new Set(drained(queue))).toEqual(new Set([...held].map(({ name }) => name)));
      }),
    );
  });
});
