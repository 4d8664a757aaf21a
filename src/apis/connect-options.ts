import { builtinKind, reviewKind } from "./builtin-kind.ts";
import type { ObjectSchema } from "../apimachinery/schema.ts";
import type { Resource } from "./resource.ts";
import {
  nodeProxyOptionsSchema,
  podAttachOptionsSchema,
  podExecOptionsSchema,
  podPortForwardOptionsSchema,
} from "./schemas/connect-options.ts";

// What the query or the path of a connection says, as admission sees it. Source: api/core/v1.
export const podAttachOptions: Resource = optionsKind("PodAttachOptions", "Namespaced", podAttachOptionsSchema);
export const podExecOptions: Resource = optionsKind("PodExecOptions", "Namespaced", podExecOptionsSchema);
export const podPortForwardOptions: Resource = optionsKind(
  "PodPortForwardOptions",
  "Namespaced",
  podPortForwardOptionsSchema,
);
export const nodeProxyOptions: Resource = optionsKind("NodeProxyOptions", "Cluster", nodeProxyOptionsSchema);

function optionsKind(kind: string, scope: Resource["scope"], schema: ObjectSchema): Resource {
  return builtinKind({ ...reviewKind, group: "", kind, plural: kind.toLowerCase(), scope, schema });
}
