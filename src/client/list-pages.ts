import type { ApiList, ApiObject } from "../apimachinery/object.ts";
import { StatusError } from "../apimachinery/status.ts";
import { ConnectionError, type ListOptions } from "./client.ts";

/** Lists one page; without `limit` and `continue`, everything at once. */
export type ListPage<T extends ApiObject> = (page: Pick<ListOptions, "limit" | "continue">) => Promise<ApiList<T>>;

/** How many objects are asked for at once, as kubectl does. */
const pageSize = 500;

/** How many pages in a row may hold no object, as where a selector matches none of theirs. */
const maxEmptyPages = 100;

/** By how much a page becomes shorter whose reply is too large. */
const shrinkFactor = 8;

/**
 * Every object of a list, read page by page at the version of the first page: the size of a reply is bounded, however many objects a user
 * has created. A page whose reply is too large is asked for again with fewer objects. Where the version has expired after the first page,
 * the list is read once more without pages. @throws what `list` throws; ConnectionError REPLY_TOO_LARGE for a single object that is too
 * large, INVALID_REPLY where a page has the continue token that was sent, or a hundred pages in a row are empty: such a list may have no
 * end. Source: client-go tools/pager, with FullListIfExpired.
 */
export async function listPages<T extends ApiObject>(list: ListPage<T>): Promise<ApiList<T>> {
  const items: T[] = [];
  let limit = pageSize;
  let from: Pick<ListOptions, "continue"> = {};
  let first: ApiList<T> | undefined;
  let empty = 0;
  for (;;) {
    try {
      const page = await list({ limit, ...from });
      first ??= page;
      items.push(...page.items);
      const { continue: next } = page.metadata;
      if (next === undefined || next === "") return whole(first, items);
      empty = page.items.length === 0 ? empty + 1 : 0;
      if (next === from.continue) throw endless("a page with the continue token that this client sent");
      if (empty > maxEmptyPages) throw endless(`more than ${maxEmptyPages} pages in a row without objects`);
      from = { continue: next };
    } catch (error) {
      if (isTooLarge(error) && limit > 1) limit = Math.max(1, Math.floor(limit / shrinkFactor));
      else if (isExpired(error) && from.continue !== undefined) return list({});
      else throw error;
    }
  }
}

function endless(what: string): ConnectionError {
  return new ConnectionError(
    "INVALID_REPLY",
    `the server sent ${what}, so the list may have no end: check the server, and any proxy in front of it`,
  );
}

/** A watch from the version of a later page, where a server has moved on, would miss what changed in earlier ones. */
function whole<T extends ApiObject>(first: ApiList<T>, items: readonly T[]): ApiList<T> {
  const { continue: _next, remainingItemCount: _left, ...metadata } = first.metadata;
  return { ...first, metadata, items };
}

function isTooLarge(error: unknown): boolean {
  return error instanceof ConnectionError && error.code === "REPLY_TOO_LARGE";
}

function isExpired(error: unknown): boolean {
  return error instanceof StatusError && error.reason === "Expired";
}
