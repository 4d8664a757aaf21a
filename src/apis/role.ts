import type { ApiObject } from "../apimachinery/object.ts";
import { createdAtColumn } from "./age-column.ts";
import { type PolicyRule, validatePolicyRules } from "./policy-rule.ts";
import { type Resource, storedVerbs } from "./resource.ts";
import { published } from "./schemas/published.ts";

/** Rules within one namespace. Source: api/rbac/v1 Role. */
export interface Role extends ApiObject {
  readonly rules?: readonly PolicyRule[];
}

export const roles: Resource = {
  group: "rbac.authorization.k8s.io",
  version: "v1",
  kind: "Role",
  plural: "roles",
  singular: "role",
  shortNames: [],
  categories: [],
  scope: "Namespaced",
  verbs: storedVerbs,
  get schema() {
    return published("io.k8s.api.rbac.v1.Role");
  },
  columns: [createdAtColumn],
  subresources: {},
  names: "path",
  createOnUpdate: true,
  unconditionalUpdate: true,
  deleteReturnsObject: false,
  generation: false,
  validate: (object) => validatePolicyRules(object, "Namespaced"),
};
