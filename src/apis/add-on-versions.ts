import {
  type JsonObject,
  isJsonArray,
  isJsonObject,
  jsonProblem,
  maxDepth,
  ownValue,
} from "../apimachinery/json-value.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import { badRequest } from "../apimachinery/status.ts";
import { fieldListAt, fieldsAt, stringAt, stringsAt, valueAt, type Fields, arrayAt, isFields } from "./json-fields.ts";
import { addOnGroup, managedClusterAddOns } from "./managed-cluster.ts";

/** The version that agents before v1.3 of Open Cluster Management use. */
export const olderAddOnVersion = "v1alpha1";

/** Where v1beta1 stores `spec.installNamespace` of v1alpha1. */
const installNamespaceAnnotation = "addon.open-cluster-management.io/v1alpha1-install-namespace";

/**
 * A ManagedClusterAddOn converted to v1alpha1 or v1beta1; fields of both versions stay unchanged, and no field of
 * either is lost in a round trip. Source: open-cluster-management.io/api addon/v1beta1 conversion.
 */
export function addOnInVersion(addOn: ApiObject, apiVersion: string): ApiObject {
  if (addOn.apiVersion === apiVersion) return addOn;
  const convert = apiVersion === `${addOnGroup}/${olderAddOnVersion}` ? older : newer;
  return { ...convert(addOn), apiVersion };
}

function older(addOn: ApiObject): ApiObject {
  const { annotations = {} } = addOn.metadata;
  const { [installNamespaceAnnotation]: installNamespace, ...others } = annotations;
  const { annotations: _annotations, ...metadata } = addOn.metadata;
  const registrations = fieldListAt(addOn, "status", "registrations");
  const driver = registrations.map((one) => stringAt(one, "kubeClient", "driver")).find((one) => one !== "");
  return {
    ...addOn,
    metadata: Object.keys(others).length === 0 ? metadata : { ...metadata, annotations: others },
    spec: { ...fieldsAt(addOn, "spec"), ...(installNamespace === undefined ? {} : { installNamespace }) },
    ...withStatus(addOn, (status) => ({
      ...status,
      ...withList(status, "registrations", olderRegistration),
      ...withList(status, "configReferences", (one) => ({
        ...one,
        name: stringAt(one, "desiredConfig", "name"),
        ...namespaceOf(valueAt(one, "desiredConfig", "namespace")),
      })),
      ...(driver === undefined ? {} : { kubeClientDriver: driver }),
    })),
  };
}

function newer(addOn: ApiObject): ApiObject {
  const { installNamespace, ...spec } = fieldsAt(addOn, "spec");
  const { annotations = {} } = addOn.metadata;
  const driver = stringAt(addOn, "status", "kubeClientDriver");
  return {
    ...addOn,
    metadata:
      typeof installNamespace !== "string" || installNamespace === ""
        ? addOn.metadata
        : { ...addOn.metadata, annotations: { ...annotations, [installNamespaceAnnotation]: installNamespace } },
    spec,
    ...withStatus(addOn, ({ kubeClientDriver: _driver, ...status }) => ({
      ...status,
      ...withList(status, "registrations", (one) => newerRegistration(one, driver)),
      ...withList(status, "configReferences", ({ name: _name, namespace: _namespace, ...one }) => one),
    })),
  };
}

function olderRegistration(one: Fields): JsonObject {
  const isForApi = stringAt(one, "type") === "kubeClient";
  const own = fieldsAt(one, isForApi ? "kubeClient" : "customSigner");
  const units = isForApi ? [] : stringsAt(own, "subject", "organizationUnits");
  return {
    signerName: isForApi ? clientSigner : stringAt(own, "signerName"),
    subject: { ...subjectOf(own), ...(units.length === 0 ? {} : { organizationUnit: units }) },
  };
}

function newerRegistration(one: Fields, driver: string): JsonObject {
  const signerName = stringAt(one, "signerName");
  const subject = subjectOf(one);
  if (signerName === clientSigner) {
    return { type: "kubeClient", kubeClient: { subject, ...(driver === "" ? {} : { driver }) } };
  }
  const units = stringsAt(one, "subject", "organizationUnit");
  const organizationUnits = units.length === 0 ? {} : { organizationUnits: units };
  return { type: "customSigner", customSigner: { signerName, subject: { ...subject, ...organizationUnits } } };
}

function subjectOf(holder: Fields): JsonObject {
  const groups = stringsAt(holder, "subject", "groups");
  return { user: stringAt(holder, "subject", "user"), ...(groups.length === 0 ? {} : { groups }) };
}

function namespaceOf(namespace: unknown): Fields {
  return typeof namespace === "string" ? { namespace } : {};
}

function withStatus(addOn: ApiObject, change: (status: Fields) => Fields): Fields {
  return valueAt(addOn, "status") === undefined ? {} : { status: change(fieldsAt(addOn, "status")) };
}

function withList(status: Fields, field: string, change: (one: Fields) => Fields): Fields {
  return Object.hasOwn(status, field) ? { [field]: fieldListAt(status, field).map(change) } : {};
}

/** The signer of the certificates of agents. */
export const clientSigner = "kubernetes.io/kube-apiserver-client";

/** Whether the spec of an add-on, of either version, requires a certificate for the API for its agents. */
export function wantsApiAccess(addOn: ApiObject): boolean {
  return fieldListAt(addOn, "status", "registrations").some(
    (one) =>
      stringAt(one, "signerName") === clientSigner ||
      valueAt(one, "kubeClient") !== undefined ||
      stringAt(one, "type").toLowerCase() === "kubeclient",
  );
}

const reviewVersion = "apiextensions.k8s.io/v1";
const { group, version, kind } = managedClusterAddOns;
const stored = `${group}/${version}`;
const versions: readonly string[] = [`${group}/${olderAddOnVersion}`, stored];

/** Maximum growth by conversion, in all objects of a review together: a response is at most a few MiB larger than its request. */
const maxEntries = 20_000;

/**
 * The response to a ConversionReview (v1) from a Kubernetes API server about ManagedClusterAddOns. All objects are converted,
 * in their order, or none: any other object, or an unknown version, makes it a failure. The review may be of any
 * depth and have any keys. An API server can store what the hub would not: conversion of that fails on a write, and omits it on a
 * read, since otherwise one unreadable add-on would prevent listing all others.
 * @throws StatusError BadRequest for an invalid review. Source: apiextensions-apiserver pkg/apis/apiextensions/v1 ConversionReview.
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

/** Without forbidden keys, and without parts that are too deep. */
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

/** Why the conversion fails, or undefined. Never quotes what clients have written. */
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
