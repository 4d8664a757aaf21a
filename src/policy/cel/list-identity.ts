import { isJsonObject, ownValue } from "../../apimachinery/json-value.ts";

/**
 * What tells the elements of a list apart: all of themselves in a set, or the fields named, as in a map. Of such lists the order
 * says nothing, and adding one to another joins them. Source: Kubernetes x-kubernetes-list-type.
 */
export type ListIdentity = "set" | readonly string[];

const identity: unique symbol = Symbol("listIdentity");

/** A copy of a list that knows what tells its elements apart. */
export function withIdentity(list: readonly unknown[], of: ListIdentity): readonly unknown[] {
  return Object.defineProperty([...list], identity, { value: of });
}

/** What tells the elements of a list apart, or undefined for a list as any other. */
export function identityOf(list: readonly unknown[]): ListIdentity | undefined {
  return (list as { readonly [identity]?: ListIdentity })[identity];
}

/** Whether each element of one list is equal to one of another list of the same length. */
export function equalAsIdentified(
  one: readonly unknown[],
  other: readonly unknown[],
  equal: (one: unknown, other: unknown) => boolean,
): boolean {
  const find = finder(other, identityOf(one) ?? "set", equal);
  return one.every((element) => {
    const at = find(element);
    return at !== undefined && equal(element, other[at]);
  });
}

/** The first list and after it what only the second has; of elements with the same keys, those of the second. */
export function joinIdentified(
  one: readonly unknown[],
  other: readonly unknown[],
  equal: (one: unknown, other: unknown) => boolean,
): readonly unknown[] {
  const of = identityOf(one) ?? "set";
  const joined = [...one];
  const find = finder(one, of, equal);
  for (const element of other) {
    const at = find(element);
    if (at === undefined) joined.push(element);
    else joined[at] = element;
  }
  return withIdentity(joined, of);
}

type Find = (element: unknown) => number | undefined;

/** Where an element stands in a list. Elements that cannot be found by a key are compared with all others. */
function finder(list: readonly unknown[], of: ListIdentity, equal: (one: unknown, other: unknown) => boolean): Find {
  const places = new Map<string, number>();
  for (const [index, element] of list.entries()) {
    const key = keyOf(element, of);
    if (key !== undefined && !places.has(key)) places.set(key, index);
  }
  return (element) => {
    const key = keyOf(element, of);
    if (key !== undefined) return places.get(key);
    const index = list.findIndex((one) => equal(one, element));
    return index < 0 ? undefined : index;
  };
}

function keyOf(element: unknown, of: ListIdentity): string | undefined {
  if (of === "set") return isScalar(element) ? JSON.stringify(element) : undefined;
  if (!isJsonObject(element)) return undefined;
  const values = of.map((name) => ownValue(element, name));
  return values.every(isScalar) ? JSON.stringify(values) : undefined;
}

function isScalar(value: unknown): boolean {
  return ["string", "number", "boolean"].includes(typeof value);
}
