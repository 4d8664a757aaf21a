import { ageColumn } from "./age-column.ts";
import { stringAt } from "./json-fields.ts";
import type { Resource } from "./resource.ts";
import { published } from "./schemas/published.ts";

/**
 * Addresses for pods, of which a hub has none: the list is there, as clients such as `kubectl cluster-info` and kubelets read it,
 * and always empty. Source: api/core/v1 Service.
 */
export const services: Resource = {
  group: "",
  version: "v1",
  kind: "Service",
  plural: "services",
  singular: "service",
  shortNames: ["svc"],
  categories: ["all"],
  scope: "Namespaced",
  verbs: ["get", "list", "watch"],
  get schema() {
    return published("io.k8s.api.core.v1.Service");
  },
  columns: [ageColumn],
  subresources: {},
  names: "dns-label",
  createOnUpdate: false,
  unconditionalUpdate: true,
  deleteReturnsObject: true,
  generation: false,
  // A kubelet asks for those with an address: spec.clusterIP!=None.
  selectableFields: {
    "spec.clusterIP": (object) => stringAt(object, "spec", "clusterIP"),
    "spec.type": (object) => stringAt(object, "spec", "type"),
  },
};
