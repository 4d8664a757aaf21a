import type { ObjectSchema } from "../../core/schema.ts";
import { kind } from "./kind.ts";
import { about, atomic, byKey, list, mergeBy, message, object, required, str, strings, time } from "./shorthand.ts";

// Namespace. Source: k8s.io/api core/v1.

export const namespaceSpec: ObjectSchema = message("io.k8s.api.core.v1.NamespaceSpec", {
  finalizers: about("Names that must be gone before the namespace can be removed.", strings(1, atomic)),
});

export const namespaceCondition: ObjectSchema = message("io.k8s.api.core.v1.NamespaceCondition", {
  type: required(str(1)),
  status: required(str(2)),
  lastTransitionTime: time(4),
  reason: str(5),
  message: str(6),
});

export const namespaceStatus: ObjectSchema = message("io.k8s.api.core.v1.NamespaceStatus", {
  phase: about("Active, or Terminating while its contents are being removed.", str(1)),
  conditions: about("What stands in the way of removal.", list(2, namespaceCondition, byKey("type"), mergeBy("type"))),
});

export const namespaceSchema: ObjectSchema = kind(
  "io.k8s.api.core.v1.Namespace",
  "A scope for names: objects in different namespaces may share a name.",
  {
    spec: about("Desired state of the namespace.", object(2, namespaceSpec)),
    status: about("Where the namespace stands in its life.", object(3, namespaceStatus)),
  },
);
