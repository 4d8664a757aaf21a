import { builtinKind } from "./builtin-kind.ts";
import type { Resource } from "./resource.ts";

/** What the subresource `scale` of any kind is shown as; it has no paths of its own. Source: api/autoscaling/v1 Scale. */
export const scale: Resource = builtinKind({
  group: "autoscaling",
  kind: "Scale",
  scope: "Namespaced",
  verbs: [],
  schema: "io.k8s.api.autoscaling.v1.Scale",
  names: "path",
  unconditionalUpdate: true,
});
