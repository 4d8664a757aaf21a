import type { ApiList, ApiObject } from "../core/object.ts";
import { StatusError } from "../core/status.ts";
import { ConnectionError, type ListOptions } from "./client.ts";

/** Lists one page; without `limit` and `continue`, everything at once. */
export type ListPage<T extends ApiObject> = (page: Pick<ListOptions, "limit" | "continue">) => Promise<ApiList<T>>;

/** How many objects are asked for at once, as kubectl does. */
const pageSize = 500;

/** By how much a page becomes shorter whose reply is too large. */
const shrinkFactor = 8;

/**
 * Every object of a list, read page by page: the size of a reply is bounded, however many objects a user has created. A page whose reply is too large is asked for again with fewer objects. @throws what `list` throws; ConnectionError
 * REPLY_TOO_LARGE for a single object that is too large
 */
export async function listPages<T extends ApiObject>(list: ListPage<T>): Promise<ApiList<T>> {
  const items: T[] = [];
  let limit = pageSize;
  let from: Pick<ListOptions, "continue"> = {};
  for (;;) {
    try {
      const page = await list({ limit, ...from });
      items.push(...page.items);
      const { continue: next, remainingItemCount: _left, ...metadata } = page.metadata;
      if (next === undefined || next === "") return { ...page, metadata, items };
      from = { continue: next };
    } catch (error) {
      if (isTooLarge(error) && limit > 1) limit = Math.max(1, Math.floor(limit / shrinkFactor));
      // The snapshot is gone in the middle; a list without pages cannot be cut.
      else if (isExpired(error) && from.continue !== undefined) return list({});
      else throw error;
    }
  }
}

function isTooLarge(error: unknown): boolean {
  return error instanceof ConnectionError && error.code === "REPLY_TOO_LARGE";
}

function isExpired(error: unknown): boolean {
  return error instanceof StatusError && error.reason === "Expired";
}
