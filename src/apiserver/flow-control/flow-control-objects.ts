import type { Client, ResourceRef } from "../../client/client.ts";
import { jsonEqual } from "../../apimachinery/equal.ts";
import { apiVersionOf, type ApiObject } from "../../apimachinery/object.ts";
import { StatusError } from "../../apimachinery/status.ts";
import { flowControl, type FlowControl } from "./flow-control.ts";
import { objectOf } from "../../registry/entry.ts";
import {
  mandatoryFlowControl,
  suggestedFlowControl,
  type FlowControlObjects,
} from "../../apis/flow-control-objects.ts";
import { flowSchemas } from "../../apis/flow-schema.ts";
import { priorityLevelConfigurations } from "../../apis/priority-level-configuration.ts";
import { storagePrefix, type Resource } from "../../apis/resource.ts";
import type { WatchCache } from "../../storage/watch-cache.ts";
import { compiledObjects } from "../../storage/observed-objects.ts";

/** The stored objects of flow control; each is in force before its write is acknowledged. */
export function storedFlowControl(cache: WatchCache): () => FlowControl {
  const stored = (resource: Resource): (() => readonly ApiObject[]) =>
    compiledObjects(cache, { prefix: storagePrefix(resource), compile: objectOf });
  const [schemas, levels] = [stored(flowSchemas), stored(priorityLevelConfigurations)];
  let from: readonly unknown[] = [];
  let current = flowControl({ schemas: [], levels: [] });
  return () => {
    const now = [schemas(), levels()] as const;
    if (from[0] === now[0] && from[1] === now[1]) return current;
    from = now;
    current = flowControl({ schemas: now[0], levels: now[1] });
    return current;
  };
}

/** While it is `true`, the spec of an object is that of the release. */
const autoUpdate = "apf.kubernetes.io/autoupdate-spec";

/**
 * Puts the mandatory and the suggested objects in place, as kube-apiserver does at its start: one that is missing is created, a
 * mandatory one gets its spec back, and a suggested one keeps its changes, unless its annotation requires otherwise.
 */
export async function putFlowControl(client: Client): Promise<void> {
  const objects = [mandatoryFlowControl, suggestedFlowControl];
  await Promise.all(objects.flatMap((wanted) => putAll(client, wanted, wanted === mandatoryFlowControl)));
}

function putAll(
  client: Client,
  { schemas, levels }: FlowControlObjects,
  isMandatory: boolean,
): readonly Promise<void>[] {
  const put = (resource: Resource, specs: Readonly<Record<string, object>>): readonly Promise<void>[] =>
    Object.entries(specs).map(([name, spec]) => putOne(client, resource, { name, spec, isMandatory }));
  return [...put(priorityLevelConfigurations, levels), ...put(flowSchemas, schemas)];
}

interface Wanted {
  readonly name: string;
  readonly spec: object;
  readonly isMandatory: boolean;
}

async function putOne(client: Client, resource: Resource, { name, spec, isMandatory }: Wanted): Promise<void> {
  const ref: ResourceRef = resource;
  const existing = await found(client, ref, name);
  if (existing === undefined) {
    const { group, version, kind } = resource;
    const metadata = { name, annotations: { [autoUpdate]: "true" } };
    await client.create(ref, { apiVersion: apiVersionOf(group, version), kind, metadata, spec });
    return;
  }
  const kept = existing.metadata.annotations?.[autoUpdate];
  const isOurs = kept === undefined ? existing.metadata.generation === 1 : kept === "true";
  // Of the level `exempt`, an operator may change every mutable field.
  if ((!isMandatory || name === "exempt") && !isOurs) return;
  if (!jsonEqual(existing["spec"], spec)) await client.update(ref, { ...existing, spec });
}

async function found(client: Client, ref: ResourceRef, name: string): Promise<ApiObject | undefined> {
  try {
    return await client.get(ref, { name });
  } catch (error) {
    if (error instanceof StatusError && error.reason === "NotFound") return undefined;
    throw error;
  }
}
