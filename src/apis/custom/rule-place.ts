import { correlatedField, type Correlation } from "./rule-correlation.ts";

/** What validation ratcheting compares: the value and the one that it replaces (`current`); where these cannot be matched, the nearest value above that can be (`above`). */
export interface Ratchet {
  readonly current: Correlation | undefined;
  readonly above: Correlation | undefined;
}

/** A value that rules apply to, its path, the value that it replaces, and what is compared for ratcheting. */
export interface RulePlace {
  readonly path: string;
  readonly value: unknown;
  readonly stored: unknown;
  readonly ratchet: Ratchet;
}

/** The ratchet of a field of an object. */
export function ratchetBelow({ current, above }: Ratchet, name: string): Ratchet {
  if (current === undefined) return { current, above };
  // What the object is does not change with its version, and so cannot be what excuses it.
  if (above === undefined && (name === "apiVersion" || name === "kind"))
    return { current: undefined, above: undefined };
  return { current: correlatedField(current, name), above: current };
}

/** The path of a field below `path`. */
export function joinedPath(path: string, name: string): string {
  return path === "" ? name : `${path}.${name}`;
}

/** Whether the value, or what it is a part of, is as it was before. */
export function isUnchanged({ current, above }: Ratchet): boolean {
  return (current ?? above)?.isUnchanged() === true;
}

/** A path as errors show it; Go prints one without steps as `<nil>`. */
export function shownPath(path: string): string {
  return path === "" ? "<nil>" : path;
}
