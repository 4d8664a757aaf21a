/** The variables that have a value at one place of a rule. Immutable. */
export interface Bound {
  readonly has: (name: string) => boolean;
  /** These and more. Extending the latest extension costs only what is added, however many there are. */
  readonly and: (names: Iterable<string>) => Bound;
}

/** The step at which each variable was bound, in one chain of steps. */
interface Steps {
  readonly since: Map<string, number>;
  latest: number;
}

/** Bound variables without an outer chain. */
export function boundVars(): Bound {
  return rowWithin(() => false);
}

/**
 * The same variables, as the start of a chain of its own, for an order that extends them independently of `outer`. Look-ups cost
 * more with each level of nested chains.
 */
export function within(outer: Bound): Bound {
  return rowWithin(outer.has);
}

/** The variables that are bound in either. */
export function inEither(one: Bound, other: Bound): Bound {
  return rowWithin((name) => one.has(name) || other.has(name));
}

function rowWithin(outer: Bound["has"]): Bound {
  return step({ since: new Map(), latest: 0 }, 0, outer);
}

function step(steps: Steps, at: number, outer: Bound["has"]): Bound {
  const has = (name: string): boolean => (steps.since.get(name) ?? Infinity) <= at || outer(name);
  const bound: Bound = {
    has,
    and: (names) => {
      const added = [...names].filter((name) => !has(name));
      if (added.length === 0) return bound;
      // This was extended already.
      if (steps.latest !== at) return within(bound).and(added);
      steps.latest = at + 1;
      for (const name of added) steps.since.set(name, steps.latest);
      return step(steps, steps.latest, outer);
    },
  };
  return bound;
}
