import type { Ask } from "../../kits/api-client.ts";

/** One request, the same for both servers. `{uid of PATH}` and `{version of PATH}` stand for what that server's object has there. */
export interface Sent extends Ask {
  readonly path: string;
}

/** A row of the table: what is compared is the answer to `ask`. */
export interface Row {
  /** `<subject>: <what is asked>`. */
  readonly id: string;
  /** Sent before, each of which must succeed. */
  readonly given?: readonly Sent[];
  readonly ask: Sent;
}

/** Makes rows about one subject. */
export type RowsOf<Subject> = (subject: Subject) => readonly Row[];

/** A request that carries an object. */
export function send(method: string, path: string, body: NonNullable<Ask["body"]>, more: Omit<Ask, "body"> = {}): Sent {
  return { method, path, body, ...more };
}

/** Builds an object over another: objects are merged, everything else replaces, `undefined` removes. */
export function over(base: unknown, change: unknown): object {
  const merged = { ...(base as Record<string, unknown>) };
  for (const [key, value] of Object.entries(change as Record<string, unknown>)) {
    if (value === undefined) delete merged[key];
    else merged[key] = isMap(value) && isMap(merged[key]) ? over(merged[key], value) : value;
  }
  return merged;
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
