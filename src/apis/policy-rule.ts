import { type FieldError, invalid, required } from "../apimachinery/field-error.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import { collectErrors } from "./collect-errors.ts";
import { arrayAt, fieldListAt, valueAt } from "./json-fields.ts";

/** What may be done to what. Source: api/rbac/v1 PolicyRule. */
export interface PolicyRule {
  readonly verbs: readonly string[];
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly nonResourceURLs?: readonly string[];
}

/** What is wrong with the `rules` of a Role or ClusterRole. Source: pkg/apis/rbac/validation ValidatePolicyRule. */
export function validatePolicyRules(role: ApiObject, scope: "Namespaced" | "Cluster"): readonly FieldError[] {
  return collectErrors(fieldListAt(role, "rules"), (rule, index) => {
    const path = `rules[${index}]`;
    const has = (field: string): boolean => arrayAt(rule, field).length > 0;
    const urls = `${path}.nonResourceURLs`;
    const errors: FieldError[] = [];
    if (!has("verbs")) errors.push(required(`${path}.verbs`, "verbs must contain at least one value"));
    if (has("nonResourceURLs")) {
      const value = valueAt(rule, "nonResourceURLs");
      if (scope === "Namespaced") {
        errors.push(invalid(urls, value, "namespaced rules cannot apply to non-resource URLs"));
      }
      if (has("apiGroups") || has("resources") || has("resourceNames")) {
        errors.push(invalid(urls, value, "rules cannot apply to both regular resources and non-resource URLs"));
      }
      return errors;
    }
    if (!has("apiGroups")) {
      errors.push(required(`${path}.apiGroups`, "resource rules must supply at least one api group"));
    }
    if (!has("resources")) {
      errors.push(required(`${path}.resources`, "resource rules must supply at least one resource"));
    }
    return errors;
  });
}
