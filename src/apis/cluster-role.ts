import { type FieldError, required } from "../apimachinery/field-error.ts";
import type { LabelSelectorObject } from "../apimachinery/label-selector.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import { collectErrors } from "./collect-errors.ts";
import { createdAtColumn } from "./age-column.ts";
import { fieldListAt, isFields, valueAt } from "./json-fields.ts";
import { validateLabelSelector } from "./label-selector-validation.ts";
import { type PolicyRule, validatePolicyRules } from "./policy-rule.ts";
import { type Resource, storedVerbs } from "./resource.ts";
import { published } from "./schemas/published.ts";

/** Rules for the whole cluster, or for the namespaces in which a RoleBinding refers to it. Source: api/rbac/v1 ClusterRole. */
export interface ClusterRole extends ApiObject {
  readonly rules?: readonly PolicyRule[];
  /** With one, a controller writes `rules`: the union of the rules of all ClusterRoles that any of the selectors matches. */
  readonly aggregationRule?: { readonly clusterRoleSelectors?: readonly LabelSelectorObject[] };
}

export const clusterRoles: Resource = {
  group: "rbac.authorization.k8s.io",
  version: "v1",
  kind: "ClusterRole",
  plural: "clusterroles",
  singular: "clusterrole",
  shortNames: [],
  categories: [],
  scope: "Cluster",
  verbs: storedVerbs,
  get schema() {
    return published("io.k8s.api.rbac.v1.ClusterRole");
  },
  columns: [createdAtColumn],
  subresources: {},
  names: "path",
  createOnUpdate: true,
  unconditionalUpdate: true,
  deleteReturnsObject: false,
  generation: false,
  validate: (object) => validateClusterRole(object),
};

function validateClusterRole(object: ApiObject): readonly FieldError[] {
  return [...validatePolicyRules(object, "Cluster"), ...validateAggregation(object)];
}

function validateAggregation(object: ApiObject): readonly FieldError[] {
  if (!isFields(valueAt(object, "aggregationRule"))) return [];
  const path = "aggregationRule.clusterRoleSelectors";
  const selectors = fieldListAt(object, "aggregationRule", "clusterRoleSelectors");
  if (selectors.length === 0) {
    return [required(path, "at least one clusterRoleSelector required if aggregationRule is non-nil")];
  }
  return collectErrors(selectors, (selector, index) => validateLabelSelector(selector, `${path}[${index}]`));
}
