import { jsonEqual } from "../apimachinery/equal.ts";
import type { JsonObject } from "../apimachinery/json-value.ts";
import { clusterDefinitions } from "../apis/cluster-definitions.ts";
import type { CustomResourceDefinition } from "../apis/custom/crd-object.ts";
import { customKinds } from "../apis/custom/custom-kind.ts";
import { valueAt } from "../apis/json-fields.ts";
import { addOnGroup, clusterGroup } from "../apis/managed-cluster.ts";
import type { AdmissionPlugin, AdmissionRequest } from "./admission.ts";
import {
  answeredReview,
  type ReviewPatch,
  type ReviewStage,
  reviewedRequest,
  type ReviewedKinds,
} from "./review-answer.ts";

/** Answers the AdmissionReviews of a Kubernetes API server about managed clusters, bindings of their sets and add-ons, with the plugins of a hub. */
export interface ClusterReviews {
  /** The AdmissionReview of the response. @throws StatusError BadRequest for an invalid review */
  (stage: ReviewStage, review: unknown): Promise<JsonObject>;
}

/** Answers with the given plugins. */
export function clusterReviews(plugins: readonly AdmissionPlugin[]): ClusterReviews {
  const kinds = clusterDefinitions()
    .flatMap((definition) => customKinds(definition as JsonObject & CustomResourceDefinition, unconverted))
    .filter(({ group }) => group === clusterGroup || group === addOnGroup);
  const reviewed: ReviewedKinds = {
    kinds,
    guards: () => true,
    decode: (value, { custom, kind, group }) => {
      // An add-on has the version in which it was written, whose fields the other one may lack.
      const { object } = group === addOnGroup ? { object: value } : (custom?.decode(value) ?? { object: {} });
      return { apiVersion: "", kind, metadata: {}, ...object };
    },
    refusal: "the cluster webhook is asked about something else than managed clusters, their sets and their add-ons",
  };
  return (stage, review) =>
    answeredReview(review, async (request, notes) => {
      const asked = reviewedRequest(reviewed, request, notes);
      if (asked.operation === "DELETE") return undefined;
      const concerned = plugins.filter(({ concerns }) => concerns?.(asked.resource) !== false);
      if (stage === "mutating") return (await Promise.all(concerned.map((plugin) => changes(plugin, asked)))).flat();
      for (const { validate } of concerned) await validate?.(asked);
      return undefined;
    });
}

const unconverted = { since: 0, convert: undefined };

/** The fields that the plugin writes. The rest of the object remains as the API sent it. */
async function changes({ mutate }: AdmissionPlugin, asked: AdmissionRequest): Promise<ReviewPatch> {
  const { object } = asked;
  const next = await mutate?.(asked, { number: 0, request: asked, again: () => undefined });
  if (object === undefined || next === undefined) return [];
  const places = [
    ["/spec/taints", valueAt(next, "spec", "taints"), valueAt(object, "spec", "taints")],
    ["/metadata/labels", next.metadata.labels, object.metadata.labels],
    ["/metadata/finalizers", next.metadata.finalizers, object.metadata.finalizers],
    ["/metadata/annotations", next.metadata.annotations, object.metadata.annotations],
  ] as const;
  return places.flatMap(([path, value, before]) =>
    value === undefined || jsonEqual(value, before) ? [] : [{ op: "add", path, value }],
  );
}
