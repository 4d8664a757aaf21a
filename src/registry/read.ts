import { encodeContinueToken, type ContinueToken } from "../apimachinery/continue-token.ts";
import { StatusError, badRequest, notFound } from "../apimachinery/status.ts";
import type { Resource } from "../apis/resource.ts";
import { StorageError } from "../storage/store.ts";
import { entryOf, type Entry } from "../storage/stored-object.ts";
import { caughtUp, storageNamespacePrefix, type Backend, waitForVersion, storageKey } from "./backend.ts";
import { partsOf, type PartSize, type Turn } from "./turns.ts";
import type { Selection } from "./selection.ts";
import type { ObjectKey } from "../apimachinery/object.ts";

/** One object, not older than `atLeast`; undefined means the newest. @throws StatusError NotFound, Timeout when `atLeast` is ahead of the hub. */
export async function get(
  backend: Backend,
  resource: Resource,
  request: ObjectKey & { readonly atLeast?: number | undefined },
): Promise<Entry> {
  if (request.atLeast === undefined) await caughtUp(backend);
  else await waitForVersion(backend, request.atLeast);
  const entry = backend.cache.get(storageKey(resource, request));
  if (entry === undefined) throw notFound(resource, request.name);
  return backend.versions.shown(resource, entry);
}

/** The resource version of a list: the newest, any cached one, at least or exactly a revision, or the next page of an earlier one. */
export type ListFrom =
  | { readonly kind: "newest" }
  | { readonly kind: "any" }
  | { readonly kind: "atLeast" | "exactly"; readonly revision: number }
  | { readonly kind: "continue"; readonly token: ContinueToken };

export interface ListRequest {
  readonly namespace: string;
  readonly selection: Selection;
  readonly from: ListFrom;
  /** Undefined for all. */
  readonly limit: number | undefined;
  /** Waits between the parts of a large list. */
  readonly turn?: Turn | undefined;
}

export interface Listed {
  readonly entries: readonly Entry[];
  readonly revision: number;
  readonly continue: string | undefined;
  /** Known only without a selector. */
  readonly remaining: number | undefined;
}

/** Objects in name order, all of one moment over all pages. @throws StatusError Expired when that revision is compacted, Timeout when it is ahead of the hub. */
export async function list(backend: Backend, resource: Resource, request: ListRequest): Promise<Listed> {
  const prefix = storageNamespacePrefix(resource, request.namespace);
  const { revision, after } = await moment(backend, request.from);
  // A token can be forged: it may continue this list and no other.
  if (after !== undefined && !after.startsWith(prefix))
    throw badRequest("continue key is not valid: it belongs to another list");
  const { cache } = backend;
  const page: Page = { prefix, after, limit: request.limit, selection: request.selection };
  const shown: Shown = { backend, resource, turn: request.turn };
  // Nothing under this resource changed since then: the cache still has that state.
  if (revision === undefined || (revision <= cache.revision() && cache.lastChange(prefix) <= revision)) {
    const entries = cache.list(prefix, after, neededOf(page));
    // Read synchronously with the entries: the cache changes while the list is built.
    const at = { revision: revision ?? cache.revision(), countAfter: (key: string) => cache.count(prefix, key) };
    return collect(shown, page, { ...at, entries });
  }
  const stored = await pastValues(backend, page, revision);
  const entries = stored.map((value) => entryOf(value.key, value.value, value.revision));
  return collect(shown, page, { revision, countAfter: undefined, entries });
}

interface Page {
  readonly prefix: string;
  readonly after: string | undefined;
  readonly limit: number | undefined;
  readonly selection: Selection;
}

/** How many entries a page needs at most: one more than requested, to detect whether there are more. Unknown with a selector. */
function neededOf({ limit, selection }: Page): number | undefined {
  return limit === undefined || !selection.everything ? undefined : limit + 1;
}

/** `revision` undefined: the present state of the cache. */
async function moment(
  backend: Backend,
  from: ListFrom,
): Promise<{ readonly revision: number | undefined; readonly after: string | undefined }> {
  switch (from.kind) {
    case "newest":
      await caughtUp(backend);
      return { revision: undefined, after: undefined };
    case "any":
      return { revision: undefined, after: undefined };
    case "atLeast":
      await waitForVersion(backend, from.revision);
      return { revision: undefined, after: undefined };
    case "exactly":
      await waitForVersion(backend, from.revision);
      return { revision: from.revision, after: undefined };
    case "continue":
      if (from.token.revision < 0 || from.token.revision > backend.cache.revision()) await caughtUp(backend);
      if (from.token.revision > backend.cache.revision())
        throw badRequest("continue key is not valid: it is of a moment that has not been");
      return { revision: from.token.revision < 0 ? undefined : from.token.revision, after: from.token.after };
  }
}

async function pastValues(
  backend: Backend,
  page: Page,
  revision: number,
): Promise<Awaited<ReturnType<Backend["store"]["list"]>>["values"]> {
  const needed = neededOf(page);
  try {
    const { values } = await backend.store.list(page.prefix, {
      revision,
      ...(page.after === undefined ? {} : { after: page.after }),
      ...(needed === undefined ? {} : { limit: needed }),
    });
    return values;
  } catch (error) {
    if (!(error instanceof StorageError) || error.code !== "compacted") throw error;
    throw expiredPage(page);
  }
}

/** In which version entries are shown, and how a large list waits for its turns. */
interface Shown {
  readonly backend: Backend;
  readonly resource: Resource;
  readonly turn: Turn | undefined;
}

/** The entries of one moment, from which a page is taken. */
interface Moment {
  readonly entries: readonly Entry[];
  readonly revision: number;
  readonly countAfter: ((key: string) => number) | undefined;
}

/** Parsing and matching takes about 10 ms for each part. */
const partSize: PartSize = { maxCharacters: 1024 * 1024, maxEntries: 1024 };

async function collect({ backend, resource, turn }: Shown, page: Page, at: Moment): Promise<Listed> {
  const { selection } = page;
  const taken: Entry[] = [];
  let more = false;
  // Entries that are all taken unchanged need no parsing.
  const isTakenWhole = selection.everything && resource.custom === undefined;
  const parts = isTakenWhole ? [at.entries] : partsOf(at.entries, partSize);
  for (const part of parts) {
    if (parts.length > 1) await turn?.();
    const shown = await backend.versions.shownAll(resource, part);
    more = takeSome(shown, page, taken);
    if (more) break;
  }
  const last = more ? taken.at(-1) : undefined;
  if (last === undefined) return { entries: taken, revision: at.revision, continue: undefined, remaining: undefined };
  const token = encodeContinueToken({ revision: at.revision, after: last.key });
  return { entries: taken, revision: at.revision, continue: token, remaining: remainingAfter(last, selection, at) };
}

function remainingAfter(last: Entry, selection: Selection, at: Moment): number | undefined {
  return selection.everything ? at.countAfter?.(last.key) : undefined;
}

/** Adds the selected entries to the page, and returns whether there are more. */
function takeSome(shown: readonly Entry[], { limit = Infinity, selection }: Page, taken: Entry[]): boolean {
  for (const entry of shown) {
    if (taken.length === limit) return true;
    if (selection.everything || selection.matches(entry)) taken.push(entry);
  }
  return false;
}

/** The revision of an earlier page is compacted; with the token the client can continue inconsistently at the present state. */
function expiredPage(page: Page): StatusError {
  if (page.after === undefined)
    return new StatusError("Expired", "The resourceVersion for the provided list is too old.");
  const message =
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, " +
    "or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an " +
    "inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.";
  return new StatusError("Expired", message, { continue: encodeContinueToken({ revision: -1, after: page.after }) });
}
