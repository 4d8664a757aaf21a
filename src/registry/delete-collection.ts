import { StatusError } from "../apimachinery/status.ts";
import type { Resource } from "../apis/resource.ts";
import { objectOf } from "../storage/stored-object.ts";
import type { Backend } from "./backend.ts";
import type { RequestContext } from "./context.ts";
import { checkOptions, remove, type Deletion } from "./delete.ts";
import { list, type Listed } from "./list.ts";
import type { Selection } from "./selection.ts";

export interface DeleteCollectionRequest {
  readonly namespace: string;
  readonly selection: Selection;
  readonly options: Deletion;
  readonly context: RequestContext;
}

/** Deletes every object that matches, one by one; returns the list of those it found. @throws StatusError of the first deletion that fails. */
export async function removeCollection(
  backend: Backend,
  resource: Resource,
  request: DeleteCollectionRequest,
): Promise<Listed> {
  const { namespace, selection, options, context } = request;
  checkOptions(options);
  const turn = (): Promise<void> => backend.turns.next(context.user.username);
  const newest = { from: { kind: "newest" }, limit: undefined, turn } as const;
  const found = await list(backend, resource, { namespace, selection, ...newest });
  for (const entry of found.entries) {
    const { metadata } = objectOf(entry);
    await removeIfThere(backend, resource, {
      namespace: metadata.namespace ?? "",
      name: metadata.name ?? "",
      options,
      context,
    });
  }
  return found;
}

async function removeIfThere(
  backend: Backend,
  resource: Resource,
  request: Parameters<typeof remove>[2],
): Promise<void> {
  try {
    await remove(backend, resource, request);
  } catch (error) {
    // Somebody else was faster, which is what we wanted.
    if (error instanceof StatusError && error.reason === "NotFound") return;
    throw error;
  }
}
