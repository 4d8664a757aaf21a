import { parseFieldSelector } from "../apimachinery/field-selector.ts";
import { labelRequirement, type LabelOperator, type LabelRequirement } from "../apimachinery/label-requirement.ts";
import { expressionOperators, parseLabelSelector } from "../apimachinery/label-selector.ts";
import { SelectorError } from "../apimachinery/selector-error.ts";
import type { SelectorAttributes } from "../apis/access-review.ts";
import type { SelectorRequirement } from "./authorizer.ts";

/** The requirements of a selector that can be parsed. Leaving out the others makes the request broader, never narrower. */
export interface ReadSelector {
  readonly requirements: readonly SelectorRequirement[];
  /** Whether a requirement was left out because it cannot be parsed. */
  readonly isPartial: boolean;
}

const nothing: ReadSelector = { requirements: [], isPartial: false };
const unreadable: ReadSelector = { requirements: [], isPartial: true };

const operators: Readonly<Partial<Record<LabelOperator, SelectorRequirement["operator"]>>> = {
  "=": "In",
  "==": "In",
  in: "In",
  "!=": "NotIn",
  notin: "NotIn",
  exists: "Exists",
  "!": "DoesNotExist",
};

/** The requirements of the field selector of a query. */
export function fieldSelectorText(text: string): ReadSelector {
  return readable(() =>
    parseFieldSelector(text).map(({ field, operator, value }) => ({
      key: field,
      operator: operator === "=" ? "In" : "NotIn",
      values: [value],
    })),
  );
}

/** The requirements of the label selector of a query; numeric comparisons have no form here and are left out. */
export function labelSelectorText(text: string): ReadSelector {
  return readable(() => parseLabelSelector(text).flatMap(requirementOf));
}

/** The field selector of a review, raw or as requirements. Source: pkg/registry/authorization/util. */
export function reviewedFieldSelector(selector: SelectorAttributes | undefined): ReadSelector {
  const { rawSelector = "", requirements = [] } = selector ?? {};
  if (requirements.length === 0) return rawSelector === "" ? nothing : fieldSelectorText(rawSelector);
  const read = requirements.flatMap(({ key, operator, values = [] }): readonly SelectorRequirement[] =>
    (operator === "In" || operator === "NotIn") && values.length === 1 ? [{ key, operator, values }] : [],
  );
  return { requirements: read, isPartial: read.length < requirements.length };
}

/** The label selector of a review, raw or as requirements. Source: pkg/registry/authorization/util. */
export function reviewedLabelSelector(selector: SelectorAttributes | undefined): ReadSelector {
  const { rawSelector = "", requirements = [] } = selector ?? {};
  if (requirements.length === 0) return rawSelector === "" ? nothing : labelSelectorText(rawSelector);
  const read = requirements.flatMap(({ key, operator, values = [] }) => {
    const known = expressionOperators.get(operator);
    if (known === undefined) return [];
    return readable(() => requirementOf(labelRequirement(key, known, values))).requirements;
  });
  return { requirements: read, isPartial: read.length < requirements.length };
}

/** The error for a selector of a review that is not complete, or undefined. Source: pkg/registry/authorization/util. */
export function partialSelectorText(field: string, { requirements, isPartial }: ReadSelector): string | undefined {
  if (!isPartial) return undefined;
  const partially = requirements.length > 0 ? "partially " : "";
  return `spec.resourceAttributes.${field} ${partially}ignored due to parse error`;
}

function requirementOf({ key, operator, values }: LabelRequirement): readonly SelectorRequirement[] {
  const known = operators[operator];
  return known === undefined ? [] : [{ key, operator: known, values }];
}

function readable(read: () => readonly SelectorRequirement[]): ReadSelector {
  try {
    return { requirements: read(), isPartial: false };
  } catch (error) {
    if (error instanceof SelectorError) return unreadable;
    throw error;
  }
}
