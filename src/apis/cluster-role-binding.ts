import type { ApiObject } from "../apimachinery/object.ts";
import {
  bindingColumns,
  prepareBinding,
  type RoleRef,
  type Subject,
  validateBinding,
  validateBindingUpdate,
} from "./binding.ts";
import { type Resource, storedVerbs } from "./resource.ts";
import { published } from "./schemas/published.ts";

/** Who holds a role in the whole cluster. Source: api/rbac/v1 ClusterRoleBinding. */
export interface ClusterRoleBinding extends ApiObject {
  readonly roleRef: RoleRef;
  readonly subjects?: readonly Subject[];
}

export const clusterRoleBindings: Resource = {
  group: "rbac.authorization.k8s.io",
  version: "v1",
  kind: "ClusterRoleBinding",
  plural: "clusterrolebindings",
  singular: "clusterrolebinding",
  shortNames: [],
  categories: [],
  scope: "Cluster",
  verbs: storedVerbs,
  get schema() {
    return published("io.k8s.api.rbac.v1.ClusterRoleBinding");
  },
  columns: bindingColumns,
  subresources: {},
  names: "path",
  createOnUpdate: true,
  unconditionalUpdate: true,
  deleteReturnsObject: false,
  generation: false,
  prepareForCreate: (object) => prepareBinding(object),
  prepareForUpdate: (incoming) => prepareBinding(incoming),
  validate: (object) => validateBinding(object, "Cluster"),
  validateUpdate: (next, stored) => validateBindingUpdate(next, stored),
};
