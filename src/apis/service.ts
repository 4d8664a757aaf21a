import type { ApiObject } from "../apimachinery/object.ts";
import { ageColumn } from "./age-column.ts";
import { fieldListAt, numberAt, stringAt } from "./json-fields.ts";
import type { Resource } from "./resource.ts";
import { published } from "./schemas/published.ts";

/**
 * Addresses for Pods. The hub itself writes the only one that there is, `kubernetes` in `default`; clients such as kubelets read it.
 * Source: api/core/v1 Service.
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
  columns: [
    {
      name: "Type",
      type: "string",
      description: "How the Service is exposed.",
      cell: (one) => stringAt(one, "spec", "type"),
    },
    {
      name: "Cluster-IP",
      type: "string",
      description: "The address of the Service.",
      cell: (one) => stringAt(one, "spec", "clusterIP") || none,
    },
    { name: "External-IP", type: "string", description: "Further addresses.", cell: () => none },
    { name: "Port(s)", type: "string", description: "The ports of the Service, and their protocols.", cell: portsOf },
    ageColumn,
    { name: "Selector", type: "string", description: "The labels of its Pods.", priority: 1, cell: () => none },
  ],
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

const none = "<none>";

/** Source: kubernetes pkg/printers/internalversion makePortString. */
function portsOf(service: ApiObject): string {
  const ports = fieldListAt(service, "spec", "ports");
  return ports.map((one) => `${numberAt(one, "port") ?? 0}/${stringAt(one, "protocol")}`).join(",") || none;
}
