import type { Resource } from "./resource.ts";
import { published } from "./schemas/published.ts";

/** What the subresource `scale` of any kind is shown as; it has no paths of its own. Source: api/autoscaling/v1 Scale. */
export const scale: Resource = {
  group: "autoscaling",
  version: "v1",
  kind: "Scale",
  plural: "scales",
  singular: "scale",
  shortNames: [],
  categories: [],
  scope: "Namespaced",
  verbs: [],
  get schema() {
    return published("io.k8s.api.autoscaling.v1.Scale");
  },
  columns: [],
  subresources: {},
  names: "path",
  createOnUpdate: false,
  unconditionalUpdate: true,
  deleteReturnsObject: false,
  generation: false,
};
