/** Counts requests under way; what is long-running or must always get through is not counted. */
export interface InflightLimit {
  /** Takes a place; false when all are taken. */
  enter(): boolean;
  leave(): void;
  current(): number;
}

/** At most `most` requests at once. */
export function inflightLimit(most: number): InflightLimit {
  let current = 0;
  return {
    enter: () => {
      if (current >= most) return false;
      current += 1;
      return true;
    },
    leave: () => {
      current -= 1;
    },
    current: () => current,
  };
}
