import {
  isJsonArray,
  isJsonObject,
  jsonProblem,
  maxDepth,
  ownValue,
  type JsonObject,
} from "../apimachinery/json-value.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import { badRequest } from "../apimachinery/status.ts";
import { addOnInVersion, olderAddOnVersion } from "./add-on-versions.ts";
import { arrayAt, isFields, stringAt } from "./json-fields.ts";
import { managedClusterAddOns } from "./managed-cluster.ts";

const reviewVersion = "apiextensions.k8s.io/v1";
const { group, version, kind } = managedClusterAddOns;
const stored = `${group}/${version}`;
const versions: readonly string[] = [`${group}/${olderAddOnVersion}`, stored];

/** What grows when it is converted, in all objects of a review together: an answer is no more than a few MiB larger than its question. */
const maxEntries = 20_000;

/**
 * The ConversionReview (v1) to reply with to one that a Kubernetes API server sent about ManagedClusterAddOns. All objects are converted,
 * in their order, or none: what is no such add-on, or asks for a version that nobody knows, makes it a failure. The review may be of any
 * depth and have any keys. An API server can store what we would not: on its way there that fails, and on its way back it is left out,
 * since one agent's add-on that cannot be read would keep all the others from being listed.
 * @throws StatusError BadRequest for what is no review. Source: apiextensions-apiserver pkg/apis/apiextensions/v1 ConversionReview.
 */
export function answeredConversion(review: unknown): JsonObject {
  const { uid, desired, objects: asked } = readReview(review);
  const objects = desired === stored ? asked : asked.map((one) => (jsonProblem(one) === undefined ? one : pruned(one)));
  const problem = problemOf(desired, objects);
  const response =
    problem === undefined
      ? {
          uid,
          convertedObjects: (objects as readonly ApiObject[]).map((object) => addOnInVersion(object, desired)),
          result: { status: "Success" },
        }
      : { uid, convertedObjects: [], result: { status: "Failure", message: problem } };
  return { apiVersion: reviewVersion, kind: "ConversionReview", response };
}

/** Without keys that are not allowed, and without what lies too deep. */
function pruned(value: unknown, depth: number = maxDepth): unknown {
  if (isJsonArray(value)) return depth === 1 ? [] : value.map((one) => pruned(one, depth - 1));
  if (!isJsonObject(value)) return value;
  const members = depth === 1 ? [] : Object.entries(value).filter(([key]) => key !== "__proto__");
  return Object.fromEntries(members.map(([key, one]) => [key, pruned(one, depth - 1)]));
}

interface Review {
  readonly uid: string;
  readonly desired: string;
  readonly objects: readonly unknown[];
}

function readReview(review: unknown): Review {
  const request = isJsonObject(review) ? ownValue(review, "request") : undefined;
  const uid = stringAt(request, "uid");
  const objects = isJsonObject(request) ? ownValue(request, "objects") : undefined;
  const isReview = stringAt(review, "apiVersion") === reviewVersion && stringAt(review, "kind") === "ConversionReview";
  if (!isReview || uid === "" || !isJsonArray(objects)) {
    throw badRequest(`the body is no ConversionReview of ${reviewVersion}`);
  }
  return { uid, desired: stringAt(request, "desiredAPIVersion"), objects };
}

/** Why nothing is converted, or undefined. What clients have written is not repeated. */
function problemOf(desired: string, objects: readonly unknown[]): string | undefined {
  if (!versions.includes(desired)) return `the version to convert to is none of ${versions.join(", ")}`;
  const wrong = objects.findIndex((object) => !isAddOn(object));
  if (wrong >= 0) return `object ${wrong} is no ${kind} of ${versions.join(" or ")}`;
  const unfit = objects.map((object) => jsonProblem(object)).find((one) => one !== undefined);
  if (unfit !== undefined) return unfit;
  const entries = objects.reduce<number>((sum, object) => sum + 1 + entriesOf(object), 0);
  return entries > maxEntries ? `more than ${maxEntries} entries are to be converted at once` : undefined;
}

function isAddOn(object: unknown): boolean {
  if (!isFields(object) || stringAt(object, "kind") !== kind) return false;
  const { metadata } = object;
  if (!versions.includes(stringAt(object, "apiVersion")) || !isFields(metadata)) return false;
  const annotations = ownValue(metadata, "annotations") ?? {};
  return isFields(annotations) && Object.values(annotations).every((value) => typeof value === "string");
}

function entriesOf(object: unknown): number {
  return arrayAt(object, "status", "registrations").length + arrayAt(object, "status", "configReferences").length;
}
