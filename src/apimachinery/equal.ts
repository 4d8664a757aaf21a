/**
 * Whether two JSON values are equal, in any order of keys. Both are acyclic and nest no deeper than decoding
 * allows. Two that differ take time proportional to the size of `one` at most.
 */
export function jsonEqual(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null) return false;
  if (Array.isArray(one)) return Array.isArray(other) && arraysEqual(one, other);
  return !Array.isArray(other) && objectsEqual(one as Record<string, unknown>, other as Record<string, unknown>);
}

function arraysEqual(one: readonly unknown[], other: readonly unknown[]): boolean {
  if (one.length !== other.length) return false;
  for (let index = 0; index < one.length; index += 1) {
    if (!jsonEqual(one[index], other[index])) return false;
  }
  return true;
}

function objectsEqual(one: Readonly<Record<string, unknown>>, other: Readonly<Record<string, unknown>>): boolean {
  const keys = Object.keys(one);
  for (const key of keys) {
    const theirs = other[key];
    // An inherited value is a function, and equal to no JSON value, except __proto__.
    if ((theirs === undefined || key === "__proto__") && !Object.hasOwn(other, key)) return false;
    if (!jsonEqual(one[key], theirs)) return false;
  }
  // Last, so that comparing a small object with a huge one does not list the keys of the huge one.
  return keys.length === Object.keys(other).length;
}
