import type { ApiObject } from "../apimachinery/object.ts";
import { ageColumn, column, textColumn, wideColumn, builtinKind, stringFields } from "./builtin-kind.ts";
import { fieldListAt, numberAt, stringAt } from "./json-fields.ts";
import type { Resource } from "./resource.ts";

/**
 * Addresses for Pods. The hub itself writes the only one, `kubernetes` in `default`; clients such as kubelets read it.
 * Source: api/core/v1 Service.
 */
export const services: Resource = builtinKind({
  group: "",
  kind: "Service",
  shortNames: ["svc"],
  categories: ["all"],
  scope: "Namespaced",
  verbs: ["get", "list", "watch"],
  schema: "io.k8s.api.core.v1.Service",
  columns: [
    textColumn("Type", "How the Service is exposed.", "spec", "type"),
    column("Cluster-IP", "The address of the Service.", (one) => stringAt(one, "spec", "clusterIP") || none),
    column("External-IP", "Further addresses.", () => none),
    column("Port(s)", "The ports of the Service, and their protocols.", portsOf),
    ageColumn,
    wideColumn("Selector", "The labels of its Pods.", () => none),
  ],
  names: "dns-label",
  unconditionalUpdate: true,
  deleteReturnsObject: true,
  // A kubelet lists those with an address: spec.clusterIP!=None.
  selectableFields: {
    ...stringFields("spec.clusterIP", "spec.type"),
  },
});

const none = "<none>";

/** Source: kubernetes pkg/printers/internalversion makePortString. */
function portsOf(service: ApiObject): string {
  const ports = fieldListAt(service, "spec", "ports");
  return ports.map((one) => `${numberAt(one, "port") ?? 0}/${stringAt(one, "protocol")}`).join(",") || none;
}
