import { jsonEqual } from "../core/equal.ts";
import { ownValue, type JsonObject } from "../core/json-value.ts";
import type { ApiObject } from "../core/object.ts";
import { badRequest } from "../core/status.ts";
import { clusterDefinitions } from "../resources/cluster-definitions.ts";
import type { CustomResourceDefinition } from "../resources/custom/crd-object.ts";
import { customKinds } from "../resources/custom/custom-kind.ts";
import { clusterGroup } from "../resources/managed-cluster.ts";
import type { Resource } from "../resources/resource.ts";
import type { AdmissionPlugin, AdmissionRequest } from "./admission.ts";
import {
  answeredReview,
  fieldsIn,
  reviewedUser,
  textIn,
  type ReviewNotes,
  type ReviewPatch,
  type ReviewStage,
} from "./review-answer.ts";

/** Answers the AdmissionReviews that a Kubernetes API server sends about managed clusters and bindings of their sets, by the plugin of a hub. */
export interface ClusterReviews {
  /** The review to reply with. @throws StatusError BadRequest for what is no review */
  (stage: ReviewStage, review: unknown): Promise<JsonObject>;
}

/** Answers by the given plugin. */
export function clusterReviews(plugin: AdmissionPlugin): ClusterReviews {
  const kinds = clusterDefinitions()
    .flatMap((definition) => customKinds(definition as JsonObject & CustomResourceDefinition, unconverted))
    .filter(({ group }) => group === clusterGroup);
  return (stage, review) =>
    answeredReview(review, async (request, notes) => {
      const asked = admissionRequest(kinds, request, notes);
      if (asked.operation === "DELETE") return undefined;
      if (stage === "mutating") return changes(plugin, asked);
      await plugin.validate?.(asked);
      return undefined;
    });
}

const unconverted = { since: 0, convert: undefined };

function admissionRequest(kinds: readonly Resource[], request: JsonObject, notes: ReviewNotes): AdmissionRequest {
  const { group, resource: plural } = fieldsIn(ownValue(request, "resource"));
  const resource = kinds.find((one) => one.group === group && one.plural === plural);
  const operation = ownValue(request, "operation");
  if (resource === undefined || (operation !== "CREATE" && operation !== "UPDATE" && operation !== "DELETE")) {
    throw badRequest("the cluster webhook is asked about something else than managed clusters and their sets");
  }
  const object = decoded(resource, ownValue(request, "object"));
  const oldObject = decoded(resource, ownValue(request, "oldObject"));
  if (operation !== "DELETE" && object === undefined) throw badRequest("the review holds no object");
  if (operation === "UPDATE" && oldObject === undefined) throw badRequest("the review holds no old object");
  const name = textIn(ownValue(request, "name"));
  return {
    operation,
    resource,
    subresource: textIn(ownValue(request, "subResource")),
    namespace: textIn(ownValue(request, "namespace")),
    name: name === "" ? (object?.metadata.name ?? "") : name,
    object,
    oldObject,
    user: reviewedUser(ownValue(request, "userInfo")),
    dryRun: ownValue(request, "dryRun") === true,
    ...notes,
  };
}

function decoded(resource: Resource, value: unknown): ApiObject | undefined {
  if (value === undefined || value === null) return undefined;
  const { object } = resource.custom?.decode(fieldsIn(value)) ?? { object: {} };
  return { apiVersion: "", kind: resource.kind, metadata: {}, ...object };
}

/** The three places that the plugin writes to. All else of the object is left as the API has it. */
async function changes({ mutate }: AdmissionPlugin, asked: AdmissionRequest): Promise<ReviewPatch> {
  const { object } = asked;
  const next = await mutate?.(asked, { number: 0, request: asked, again: () => undefined });
  if (object === undefined || next === undefined) return [];
  const places = [
    ["/spec/taints", fieldsIn(next["spec"])["taints"], fieldsIn(object["spec"])["taints"]],
    ["/metadata/labels", next.metadata.labels, object.metadata.labels],
    ["/metadata/annotations", next.metadata.annotations, object.metadata.annotations],
  ] as const;
  return places.flatMap(([path, value, before]) =>
    value === undefined || jsonEqual(value, before) ? [] : [{ op: "add", path, value }],
  );
}
