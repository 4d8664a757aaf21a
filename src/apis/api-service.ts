import type { ApiObject } from "../apimachinery/object.ts";
import { ageColumn, column, builtinKind } from "./builtin-kind.ts";
import { fieldListAt, stringAt } from "./json-fields.ts";
import type { Resource } from "./resource.ts";

/**
 * Where each group version is served, which on a hub is the hub itself: it aggregates no other API servers. Only the hub writes them;
 * clients list them to discover the groups. Source: kube-aggregator apis/apiregistration/v1.
 */
export const apiServices: Resource = builtinKind({
  group: "apiregistration.k8s.io",
  kind: "APIService",
  categories: ["api-extensions"],
  scope: "Cluster",
  verbs: ["get", "list", "watch"],
  readOnly: "the hub aggregates no other API servers; it keeps an APIService for each group version that it serves",
  schema: "io.k8s.kube-aggregator.pkg.apis.apiregistration.v1.APIService",
  columns: [
    column("Service", "The Service that serves the group version; Local is the hub itself.", () => "Local"),
    column("Available", "Whether the group version is served.", availableCell),
    ageColumn,
  ],
  subresources: { status: { verbs: ["get"], prepareForUpdate: (_incoming, stored) => stored, table: false } },
  // The group of v1 is empty, and a name that ends in a dot is no DNS name.
  names: "path",
});

/** Source: kube-aggregator pkg/registry/apiservice/etcd ConvertToTable. */
function availableCell(object: ApiObject): string {
  const condition = fieldListAt(object, "status", "conditions").find(({ type }) => type === "Available");
  if (condition === undefined) return "Unknown";
  const [status, reason] = [stringAt(condition, "status"), stringAt(condition, "reason")];
  return status === "True" ? status : `${status} (${reason})`;
}
