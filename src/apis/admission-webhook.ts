import { type FieldError, duplicate, invalid, notSupported, required, tooMany } from "../apimachinery/field-error.ts";
import type { LabelSelectorObject } from "../apimachinery/label-selector.ts";
import { dnsSubdomainProblems } from "../apimachinery/names.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import type { WebhookClientConfig } from "../apimachinery/webhook-call.ts";
import { checkMatchCondition } from "./admission-expression.ts";
import {
  type MatchCondition,
  matchDefaults,
  maxExpressions,
  validateMatchConditions,
  validateSelectors,
  type AdmissionRule,
  defaultedRules,
  validateRules,
  admissionKind,
  failurePolicyError,
} from "./admission-match.ts";
import { ageColumn, countColumn, builtinKind } from "./builtin-kind.ts";
import { collectErrors, fieldErrors, optionalOneOf, repetitions } from "./field-rules.ts";
import {
  arrayAt,
  fieldListAt,
  type Fields,
  fieldsAt,
  isSameJson,
  numberAt,
  stringAt,
  stringsAt,
  valueAt,
  withField,
} from "./json-fields.ts";
import type { Column, Resource } from "./resource.ts";
import { defaultedClientConfig, validateClientConfig } from "./webhook-client.ts";

/** One admission webhook as it is stored, defaults included. Source: api/admissionregistration/v1 MutatingWebhook, ValidatingWebhook. */
export interface AdmissionWebhook {
  readonly name: string;
  readonly clientConfig: WebhookClientConfig;
  readonly rules?: readonly AdmissionRule[];
  readonly failurePolicy: "Fail" | "Ignore";
  readonly matchPolicy: "Exact" | "Equivalent";
  readonly namespaceSelector: LabelSelectorObject;
  readonly objectSelector: LabelSelectorObject;
  readonly sideEffects: string;
  readonly timeoutSeconds: number;
  readonly admissionReviewVersions: readonly string[];
  readonly matchConditions?: readonly MatchCondition[];
  /** Mutating webhooks only. */
  readonly reinvocationPolicy?: "Never" | "IfNeeded";
}

/** A MutatingWebhookConfiguration or a ValidatingWebhookConfiguration. */
export interface WebhookConfiguration extends ApiObject {
  readonly webhooks?: readonly AdmissionWebhook[];
}

const sideEffects: readonly string[] = ["None", "NoneOnDryRun"];
const reviewVersions: readonly string[] = ["v1", "v1beta1"];
const reinvocations: readonly string[] = ["IfNeeded", "Never"];

/** The columns of `kubectl get` for both kinds. */
const webhookColumns: readonly Column[] = [
  countColumn("Webhooks", "How many webhooks the configuration has.", "webhooks"),
  ageColumn,
];

/** A kind of configuration, with the defaults of webhooks that only it has. */
function configurationKind(kind: string, own: Fields): Resource {
  return builtinKind({
    ...admissionKind,
    kind,
    schema: `io.k8s.api.admissionregistration.v1.${kind}`,
    columns: webhookColumns,
    prepareForCreate: (object) => defaultedWebhooks(object, own),
    prepareForUpdate: (incoming) => defaultedWebhooks(incoming, own),
    validate: validateWebhooks,
  });
}

/** The configuration with the defaults of each webhook; `own` are those of one kind only. Source: pkg/apis/admissionregistration/v1 defaults. */
function defaultedWebhooks(configuration: ApiObject, own: Fields): ApiObject {
  if (valueAt(configuration, "webhooks") === undefined) return configuration;
  const webhooks = fieldListAt(configuration, "webhooks").map((webhook) => ({
    failurePolicy: "Fail",
    timeoutSeconds: 10,
    ...matchDefaults,
    ...own,
    ...webhook,
    ...defaultedRules(webhook, "rules"),
    ...defaultedClientConfig(webhook),
  }));
  return withField(configuration, "webhooks", webhooks);
}

/**
 * Errors of a configuration; match conditions that `stored` has as well are not compiled again.
 * Source: kubernetes pkg/apis/admissionregistration/validation.
 */
function validateWebhooks(configuration: ApiObject, stored?: ApiObject): readonly FieldError[] {
  const check = checkMatchCondition({ params: false });
  const webhooks = fieldListAt(configuration, "webhooks");
  const before = fieldListAt(stored, "webhooks");
  const conditions = webhooks.reduce((sum, webhook) => sum + arrayAt(webhook, "matchConditions").length, 0);
  if (webhooks.length + conditions > maxExpressions) {
    return [tooMany("webhooks", webhooks.length + conditions, maxExpressions)];
  }
  const isRepeated = repetitions();
  const unchanged =
    stored !== undefined &&
    webhooks.length === before.length &&
    webhooks.every((webhook, index) => isSameJson(webhook["matchConditions"], before[index]?.["matchConditions"]));
  return collectErrors(webhooks, (webhook, index) => {
    const path = `webhooks[${index}]`;
    const name = stringAt(webhook, "name");
    return [
      validateWebhook(webhook, path),
      !unchanged && validateMatchConditions(webhook, path, check),
      validateReviewVersions(stringsAt(webhook, "admissionReviewVersions"), `${path}.admissionReviewVersions`),
      name !== "" && isRepeated(name) && duplicate(`${path}.name`, name),
    ];
  });
}

function validateWebhook(webhook: Fields, path: string): readonly FieldError[] {
  const timeout = numberAt(webhook, "timeoutSeconds");
  return fieldErrors(
    validateName(stringAt(webhook, "name"), `${path}.name`),
    validateRules(webhook, "rules", path),
    failurePolicyError(webhook, path),
    validateSideEffects(webhook, `${path}.sideEffects`),
    timeout !== undefined &&
      (timeout < 1 || timeout > 30) &&
      invalid(`${path}.timeoutSeconds`, timeout, "the timeout value must be between 1 and 30 seconds"),
    validateSelectors(webhook, path),
    optionalOneOf(`${path}.reinvocationPolicy`, webhook["reinvocationPolicy"], reinvocations),
    validateClientConfig(fieldsAt(webhook, "clientConfig"), `${path}.clientConfig`),
  );
}

function validateName(name: string, path: string): readonly FieldError[] {
  if (name === "") return [required(path)];
  const problems = dnsSubdomainProblems(name);
  if (problems.length > 0) return [invalid(path, name, problems.join(","))];
  if (name.split(".").length >= 3) return [];
  return [invalid(path, name, "should be a domain with at least three segments separated by dots")];
}

function validateSideEffects(webhook: Fields, path: string): readonly FieldError[] {
  const value = valueAt(webhook, "sideEffects");
  if (value === undefined) return [required(path, `must specify one of ${sideEffects.join(", ")}`)];
  return typeof value === "string" && sideEffects.includes(value) ? [] : [notSupported(path, value, sideEffects)];
}

function validateReviewVersions(versions: readonly string[], path: string): readonly FieldError[] {
  const known = reviewVersions.join(", ");
  const isRepeated = repetitions();
  if (versions.length === 0) return [required(path, `must specify one of ${known}`)];
  return fieldErrors(
    collectErrors(versions, (version, index) =>
      isRepeated(version) ? [invalid(`${path}[${index}]`, version, "duplicate version")] : [],
    ),
    !versions.some((version) => reviewVersions.includes(version)) &&
      invalid(path, versions, `must include at least one of ${known}`),
  );
}

/** Webhooks that may change or reject a write before validation. Source: api/admissionregistration/v1. */
export const mutatingWebhookConfigurations: Resource = configurationKind("MutatingWebhookConfiguration", {
  reinvocationPolicy: "Never",
});

/** Webhooks that may reject a write after validation. Source: api/admissionregistration/v1. */
export const validatingWebhookConfigurations: Resource = configurationKind("ValidatingWebhookConfiguration", {});
