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

/** Who holds a role within one namespace. Source: api/rbac/v1 RoleBinding. */
export interface RoleBinding extends ApiObject {
  readonly roleRef: RoleRef;
  readonly subjects?: readonly Subject[];
}

export const roleBindings: Resource = {
  group: "rbac.authorization.k8s.io",
  version: "v1",
  kind: "RoleBinding",
  plural: "rolebindings",
  singular: "rolebinding",
  shortNames: [],
  categories: [],
  scope: "Namespaced",
  verbs: storedVerbs,
  get schema() {
    return published("io.k8s.api.rbac.v1.RoleBinding");
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
  validate: (object) => validateBinding(object, "Namespaced"),
  validateUpdate: (next, stored) => validateBindingUpdate(next, stored),
};
