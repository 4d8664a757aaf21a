/** The variables that have a value at one place of a rule. It never changes. */
export interface Bound {
  readonly has: (name: string) => boolean;
  /** These and more. Going on from what this came to last costs what is added, however many there are. */
  readonly and: (names: Iterable<string>) => Bound;
}

/** Since which step each variable is bound, in one row of steps. */
interface Steps {
  readonly since: Map<string, number>;
  latest: number;
}

/** Variables without any others around. */
export function boundVars(): Bound {
  return rowWithin(() => false);
}

/**
 * The same variables, from where a row of its own begins: for whatever looks further than those who go on with `outer`. Look-ups cost as
 * much more as rows lie within each other.
 */
export function within(outer: Bound): Bound {
  return rowWithin(outer.has);
}

/** What is bound in one of two. */
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
      // Somebody has gone on from here already.
      if (steps.latest !== at) return within(bound).and(added);
      steps.latest = at + 1;
      for (const name of added) steps.since.set(name, steps.latest);
      return step(steps, steps.latest, outer);
    },
  };
  return bound;
}
