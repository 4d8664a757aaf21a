import { isJsonArray, isJsonObject, type JsonObject } from "../../apimachinery/json-value.ts";
import type { ApiObject } from "../../apimachinery/object.ts";
import { internalError, type StatusError } from "../../apimachinery/status.ts";
import { WebhookCallError, type CallWebhook } from "../../apimachinery/webhook-call.ts";
import { fieldsAt, stringAt, valueAt } from "../json-fields.ts";
import type { CustomStorage } from "../resource.ts";
import type { CustomResourceDefinition } from "./crd-object.ts";

/** Timeout of a conversion, in milliseconds. Source: apiextensions-apiserver pkg/apiserver/conversion. */
const timeoutMs = 30_000;

/** The versions that the hub supports, in order of preference. */
const reviewVersions: readonly string[] = ["v1", "v1beta1"];

/**
 * Converts through the webhook of a definition. The response must contain the objects of the request, in order, and may change
 * labels and annotations only of the metadata. Source: apiextensions-apiserver pkg/apiserver/conversion/webhook_converter.go.
 */
export function conversionByWebhook(
  crd: CustomResourceDefinition,
  options: { readonly call: CallWebhook; readonly uuid: () => string },
): NonNullable<CustomStorage["convert"]> {
  const { webhook } = crd.spec.conversion ?? {};
  return async (objects, apiVersion) => {
    const failure = (why: string): StatusError => {
      const from = objects[0]?.apiVersion ?? "";
      return internalError(`conversion webhook for ${from}, Kind=${crd.spec.names.kind} failed: ${why}`);
    };
    const version = reviewVersions.find((one) => webhook?.conversionReviewVersions.includes(one) === true);
    if (webhook?.clientConfig === undefined || version === undefined) throw failure("it cannot be called");
    const uid = options.uuid();
    const review = {
      kind: "ConversionReview",
      apiVersion: `apiextensions.k8s.io/${version}`,
      request: { uid, desiredAPIVersion: apiVersion, objects },
    };
    const answer = await callWith(options.call, { config: webhook.clientConfig, body: review, timeoutMs }, failure);
    const converted = convertedObjects(answer, { uid, version, failure });
    if (converted.length !== objects.length) {
      throw failure(`webhook returned ${converted.length} objects, expected ${objects.length}`);
    }
    return objects.map((object, index) => checkResponse(object, converted[index], { index, apiVersion, failure }));
  };
}

type Failure = (why: string) => StatusError;

async function callWith(call: CallWebhook, request: Parameters<CallWebhook>[0], failure: Failure): Promise<unknown> {
  try {
    return await call(request);
  } catch (error) {
    if (error instanceof WebhookCallError) throw failure(error.message);
    throw error;
  }
}

function convertedObjects(
  answer: unknown,
  { uid, version, failure }: { readonly uid: string; readonly version: string; readonly failure: Failure },
): readonly unknown[] {
  const apiVersion = `apiextensions.k8s.io/${version}`;
  if (stringAt(answer, "kind") !== "ConversionReview" || stringAt(answer, "apiVersion") !== apiVersion) {
    throw failure(`expected webhook response of ${apiVersion}, Kind=ConversionReview`);
  }
  const response = fieldsAt(answer, "response");
  if (stringAt(response, "uid") !== uid) throw failure(`expected response.uid=${JSON.stringify(uid)}`);
  const status = stringAt(response, "result", "status");
  if (status !== "Success") {
    const message = stringAt(response, "result", "message");
    if (status === "") throw failure("response.result.status was missing");
    throw failure(message === "" ? `response.result.status was '${status}', not 'Success'` : message);
  }
  const objects = valueAt(response, "convertedObjects");
  return isJsonArray(objects) ? objects : [];
}

function checkResponse(
  original: ApiObject,
  converted: unknown,
  { index, apiVersion, failure }: { readonly index: number; readonly apiVersion: string; readonly failure: Failure },
): ApiObject {
  const at = `invalid converted object at index ${index}:`;
  if (!isJsonObject(converted)) throw failure(`${at} it is no object`);
  if (converted["apiVersion"] !== apiVersion) throw failure(`${at} invalid groupVersion (expected ${apiVersion})`);
  if (converted["kind"] !== original.kind) throw failure(`${at} invalid kind (expected ${original.kind})`);
  const metadata = fieldsAt(converted, "metadata");
  for (const field of ["name", "namespace", "uid"] as const) {
    if ((metadata[field] ?? "") !== (original.metadata[field] ?? "")) {
      throw failure(`${at} invalid metadata.${field}: it must not change`);
    }
  }
  const labels = textsAt(metadata, "labels", failure);
  const annotations = textsAt(metadata, "annotations", failure);
  const { labels: _labels, annotations: _annotations, ...kept } = original.metadata;
  // All other metadata is that of the original: a webhook cannot change owners or deletion.
  return {
    ...converted,
    kind: original.kind,
    apiVersion,
    metadata: {
      ...kept,
      ...(labels === undefined ? {} : { labels }),
      ...(annotations === undefined ? {} : { annotations }),
    },
  };
}

function textsAt(metadata: JsonObject, field: string, failure: Failure): Readonly<Record<string, string>> | undefined {
  const found = metadata[field] ?? undefined;
  if (found === undefined) return undefined;
  if (isJsonObject(found) && Object.values(found).every((value) => typeof value === "string")) {
    return found as Readonly<Record<string, string>>;
  }
  throw failure(`invalid metadata.${field} in converted object: it must be an object of texts`);
}
