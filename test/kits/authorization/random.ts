/** Choices that a seed repeats. */
export interface Random {
  /** From 0 to below 1. */
  readonly next: () => number;
  /** A whole number from 0 to below `limit`. */
  readonly below: (limit: number) => number;
  /** Whether something happens that happens in such a share of cases. */
  readonly chance: (share: number) => boolean;
  readonly one: <T>(list: readonly T[]) => T;
  /** Between `min` and `max` of the list, each at most once, in the order of the list. */
  readonly some: <T>(list: readonly T[], min: number, max: number) => readonly T[];
}

/** The same choices for the same seed (mulberry32). */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (limit: number): number => Math.floor(next() * limit);
  const one = <T>(list: readonly T[]): T => {
    if (list.length === 0) throw new TypeError("there is nothing to choose from");
    return list[below(list.length)] as T;
  };
  const some = <T>(list: readonly T[], min: number, max: number): readonly T[] => {
    const wanted = min + below(max - min + 1);
    const places = new Set<number>();
    while (places.size < Math.min(wanted, list.length)) places.add(below(list.length));
    return [...places].sort((a, b) => a - b).map((place) => list[place] as T);
  };
  return { next, below, chance: (share) => next() < share, one, some };
}

/** The seed of generated cases: `FC_SEED`, as for all properties, or one that stays the same. */
export function caseSeed(): number {
  return Number(process.env["FC_SEED"] ?? 20261121);
}
