import { type FieldError, duplicate, invalid, notSupported, required, tooMany } from "../core/field-error.ts";
import { dnsSubdomainProblems, qualifiedNameProblems } from "../core/names.ts";
import type { ApiObject } from "../core/object.ts";
import { utf8Length } from "../core/utf8.ts";
import { boolType, dynType, nullType, stringType, type CelType } from "../policy/cel/types.ts";
import {
  checkMatchCondition,
  compileExpression,
  expressionErrors,
  type ExpressionScope,
} from "./admission-expression.ts";
import {
  defaultedMatch,
  maximumExpressions,
  validateFailurePolicy,
  validateMatchConditions,
  validateMatchResources,
  type MatchCondition,
  type MatchResources,
} from "./admission-match.ts";
import { ageColumn } from "./age-column.ts";
import { collectErrors } from "./collect-errors.ts";
import {
  arrayAt,
  fieldListAt,
  type Fields,
  fieldsAt,
  isFields,
  isSameJson,
  stringAt,
  valueAt,
  withField,
} from "./json-fields.ts";
import { type Resource, storedVerbs } from "./resource.ts";
import { published } from "./schemas/published.ts";

/** Conditions in CEL on what is written; a binding puts them into force. Source: api/admissionregistration/v1 ValidatingAdmissionPolicy. */
export interface ValidatingAdmissionPolicy extends ApiObject {
  readonly spec?: PolicySpec;
}

/** The spec as it is stored, defaults included. */
export interface PolicySpec {
  readonly paramKind?: { readonly apiVersion?: string; readonly kind?: string };
  readonly matchConstraints?: MatchResources;
  readonly validations?: readonly PolicyValidation[];
  readonly failurePolicy?: string;
  readonly auditAnnotations?: readonly { readonly key: string; readonly valueExpression: string }[];
  readonly matchConditions?: readonly MatchCondition[];
  readonly variables?: readonly { readonly name: string; readonly expression: string }[];
}

/** One condition that must hold. */
export interface PolicyValidation {
  readonly expression: string;
  readonly message?: string;
  readonly reason?: string;
  readonly messageExpression?: string;
}

/** The types that an audit annotation's expression may have. */
export const annotationTypes: readonly CelType[] = [stringType, nullType];

const reasons: readonly string[] = ["Forbidden", "Invalid", "RequestEntityTooLarge"];
const maximumAnnotations = 20;
const maximumAnnotationExpression = 5 * 1024;
const identifier = /^[_a-zA-Z][_a-zA-Z0-9]*$/;
const reservedWords: ReadonlySet<string> = new Set(
  "true false null in as break const continue else for function if import let loop package namespace return var void while __proto__".split(
    " ",
  ),
);
const nothingToDo = "validations or auditAnnotations must contain at least one item";

export const validatingAdmissionPolicies: Resource = {
  group: "admissionregistration.k8s.io",
  version: "v1",
  kind: "ValidatingAdmissionPolicy",
  plural: "validatingadmissionpolicies",
  singular: "validatingadmissionpolicy",
  shortNames: [],
  categories: ["api-extensions"],
  scope: "Cluster",
  verbs: storedVerbs,
  get schema() {
    return published("io.k8s.api.admissionregistration.v1.ValidatingAdmissionPolicy");
  },
  columns: [
    {
      name: "Validations",
      type: "integer",
      description: "How many validations the policy has.",
      cell: (object) => arrayAt(object, "spec", "validations").length,
    },
    {
      name: "ParamKind",
      type: "string",
      description: "The kind of the policy's parameters.",
      cell: (object) => {
        const kind = valueAt(object, "spec", "paramKind");
        return isFields(kind) ? `${stringAt(kind, "apiVersion")}/${stringAt(kind, "kind")}` : "<unset>";
      },
    },
    ageColumn,
  ],
  subresources: {
    status: {
      verbs: ["get", "patch", "update"],
      prepareForUpdate: (incoming, stored) => withField(stored, "status", incoming["status"]),
    },
  },
  names: "dns-subdomain",
  createOnUpdate: false,
  unconditionalUpdate: false,
  deleteReturnsObject: false,
  generation: true,
  prepareForCreate: (object) => withField(defaultedPolicy(object), "status", undefined),
  prepareForUpdate: (incoming, stored) => withField(defaultedPolicy(incoming), "status", stored["status"]),
  validate: (object, stored) => validatePolicy(object, stored),
};

function defaultedPolicy(object: ApiObject): ApiObject {
  const spec = fieldsAt(object, "spec");
  return withField(object, "spec", { failurePolicy: "Fail", ...spec, ...defaultedMatch(spec, "matchConstraints") });
}

/** Source: kubernetes pkg/apis/admissionregistration/validation validateValidatingAdmissionPolicySpec. */
function validatePolicy(object: ApiObject, stored: ApiObject | undefined): readonly FieldError[] {
  const [spec, before] = [fieldsAt(object, "spec"), fieldsAt(stored, "spec")];
  const params = isFields(spec["paramKind"]);
  const sameConditions =
    stored !== undefined &&
    isSameJson(spec["matchConditions"], before["matchConditions"]) &&
    isSameJson(spec["paramKind"], before["paramKind"]);
  const expressions = ["validations", "variables"].reduce((sum, field) => sum + arrayAt(spec, field).length, 0);
  if (expressions > maximumExpressions) return [tooMany("spec.validations", expressions, maximumExpressions)];
  const scope = scopeOf(spec, params);
  return [
    ...validateFailurePolicy(spec, "spec"),
    ...(params ? validateParamKind(fieldsAt(spec, "paramKind"), "spec.paramKind") : []),
    ...validateConstraints(spec),
    ...(sameConditions ? [] : validateMatchConditions(spec, "spec", checkMatchCondition({ params }))),
    ...scope.errors,
    ...validateValidations(spec, scope.scope),
    ...validateAnnotations(spec, scope.scope, object.metadata.name ?? ""),
  ];
}

function validateConstraints(spec: Fields): readonly FieldError[] {
  const path = "spec.matchConstraints";
  const constraints = valueAt(spec, "matchConstraints");
  if (!isFields(constraints)) return [required(path)];
  return [
    ...validateMatchResources(constraints, path),
    ...(arrayAt(constraints, "resourceRules").length === 0 ? [required(`${path}.resourceRules`)] : []),
  ];
}

function validateParamKind(kind: Fields, path: string): readonly FieldError[] {
  const [apiVersion, name] = [stringAt(kind, "apiVersion"), stringAt(kind, "kind")];
  const slash = apiVersion.indexOf("/");
  const [group, version] = slash < 0 ? ["", apiVersion] : [apiVersion.slice(0, slash), apiVersion.slice(slash + 1)];
  const errors: FieldError[] = [];
  if (apiVersion === "") errors.push(required(`${path}.apiVersion`));
  else if (version.includes("/")) {
    errors.push(invalid(`${path}.apiVersion`, apiVersion, `unexpected GroupVersion string: ${apiVersion}`));
  } else {
    const problems = group === "" ? [] : dnsSubdomainProblems(group);
    if (problems.length > 0) errors.push(invalid(`${path}.apiVersion`, group, problems.join(",")));
    if (version === "") errors.push(invalid(`${path}.apiVersion`, apiVersion, "version must be specified"));
  }
  if (name === "") errors.push(required(`${path}.kind`));
  return errors;
}

/** The scope of a policy's expressions, and what is wrong with its variables: each may use those before it. */
function scopeOf(
  spec: Fields,
  params: boolean,
): { readonly scope: ExpressionScope; readonly errors: readonly FieldError[] } {
  const types: Record<string, CelType> = {};
  const declared = fieldListAt(spec, "variables");
  const errors = collectErrors(declared, (variable, index) => {
    const path = `spec.variables[${index}]`;
    const [name, expression] = [stringAt(variable, "name"), stringAt(variable, "expression")];
    const found: FieldError[] = [];
    if (name.trim() === "") found.push(required(`${path}.name`, "name is not specified"));
    else if (!identifier.test(name) || reservedWords.has(name)) {
      found.push(invalid(`${path}.name`, name, "must be a valid CEL identifier"));
    }
    if (expression.trim() === "") found.push(required(`${path}.expression`, "expression is not specified"));
    if (found.length > 0) return found;
    // A variable that does not compile is told once, and not again by all who use it.
    types[name] = dynType;
    return expressionErrors(`${path}.expression`, expression, () => {
      const { [name]: _itself, ...earlier } = types;
      types[name] = compileExpression(expression, { params, authorizer: true, variables: earlier }, []).type;
    });
  });
  const scope = { params, authorizer: true };
  return { scope: declared.length === 0 ? scope : { ...scope, variables: types }, errors };
}

function validateValidations(spec: Fields, scope: ExpressionScope): readonly FieldError[] {
  const validations = fieldListAt(spec, "validations");
  if (validations.length === 0 && arrayAt(spec, "auditAnnotations").length === 0) {
    return [required("spec.validations", nothingToDo), required("spec.auditAnnotations", nothingToDo)];
  }
  return collectErrors(validations, (validation, index) =>
    validateValidation(validation, scope, `spec.validations[${index}]`),
  );
}

function validateValidation(validation: Fields, scope: ExpressionScope, path: string): readonly FieldError[] {
  const [expression, message] = [stringAt(validation, "expression"), stringAt(validation, "message")];
  const messageExpression = stringAt(validation, "messageExpression");
  const reason = valueAt(validation, "reason");
  const errors: FieldError[] = [];
  if (expression.trim() === "") errors.push(required(`${path}.expression`, "expression is not specified"));
  else errors.push(...checked(`${path}.expression`, expression, { scope, results: [boolType] }));
  if (messageExpression !== "" && messageExpression.trim() === "") {
    errors.push(invalid(`${path}.messageExpression`, messageExpression, "must be non-empty if specified"));
  } else if (messageExpression !== "") {
    errors.push(
      ...checked(`${path}.messageExpression`, messageExpression, {
        scope: { ...scope, authorizer: false },
        results: [stringType],
      }),
    );
  }
  if (message !== "" && message.trim() === "") {
    errors.push(invalid(`${path}.message`, message, "must be non-empty if specified"));
  } else if (/[\n\r]/.test(message.trim())) {
    errors.push(invalid(`${path}.message`, message, "must not contain line breaks"));
  }
  if (typeof reason === "string" && !reasons.includes(reason)) {
    errors.push(notSupported(`${path}.reason`, reason, reasons));
  }
  return errors;
}

function checked(
  path: string,
  expression: string,
  { scope, results }: { readonly scope: ExpressionScope; readonly results: readonly CelType[] },
): readonly FieldError[] {
  return expressionErrors(path, expression, () => compileExpression(expression, scope, results));
}

function validateAnnotations(spec: Fields, scope: ExpressionScope, policy: string): readonly FieldError[] {
  const annotations = fieldListAt(spec, "auditAnnotations");
  const keys = annotations.map((annotation) => stringAt(annotation, "key"));
  const path = "spec.auditAnnotations";
  return [
    ...(annotations.length > maximumAnnotations
      ? [invalid(path, annotations, `must not have more than ${maximumAnnotations} auditAnnotations`)]
      : []),
    ...collectErrors(annotations.slice(0, maximumAnnotations), (annotation, index) => {
      const [key, expression] = [keys[index] ?? "", stringAt(annotation, "valueExpression").trim()];
      const at = `${path}[${index}]`;
      return [
        ...qualifiedNameProblems(`${policy}/${key}`).map((why) => invalid(`${at}.key`, `${policy}/${key}`, why)),
        ...validateAnnotationValue(`${at}.valueExpression`, expression, scope),
        ...(keys.indexOf(key) < index ? [duplicate(`${at}.key`, key)] : []),
      ];
    }),
  ];
}

function validateAnnotationValue(path: string, expression: string, scope: ExpressionScope): readonly FieldError[] {
  if (expression === "") return [required(path, "valueExpression is not specified")];
  if (utf8Length(expression) > maximumAnnotationExpression) {
    return [required(path, `must not exceed ${maximumAnnotationExpression} bytes in length`)];
  }
  return checked(path, expression, { scope, results: annotationTypes });
}
