import { readConfigurationFile } from "../apimachinery/configuration-file.ts";
import { DurationError, parseDuration } from "../apimachinery/duration.ts";
import {
  duplicate,
  forbiddenField,
  invalid,
  notSupported,
  required,
  tooMany,
  type FieldError,
} from "../apimachinery/field-error.ts";
import { dnsSubdomainProblems } from "../apimachinery/names.ts";
import { CelError } from "../policy/cel/cel-error.ts";
import { fieldListAt, fieldsAt, isFields, stringAt, valueAt, type Fields } from "../apis/json-fields.ts";
import { authorizationConfigurationSchema } from "./configuration-schema.ts";
import { compileMatchCondition } from "./match-conditions.ts";

/** One webhook of a configuration file; times in milliseconds. */
export interface WebhookConfiguration {
  /** 0 where permissions are not kept. */
  readonly authorizedMs: number;
  /** 0 where nothing else is kept. */
  readonly unauthorizedMs: number;
  readonly timeoutMs: number;
  readonly version: "v1" | "v1beta1";
  readonly onError: "noOpinion" | "deny";
  readonly kubeconfigFile: string;
  readonly matchConditions: readonly string[];
}

/** One authorizer of a configuration file. */
export interface ConfiguredAuthorizer {
  readonly type: string;
  readonly name: string;
  /** Set for type Webhook alone. */
  readonly webhook?: WebhookConfiguration;
}

const apiVersions = ["v1", "v1beta1", "v1alpha1"].map((version) => `apiserver.config.k8s.io/${version}`);
const maxAuthorizers = 64;
const maxConditions = 64;
const maxTimeoutMs = 30_000;
const defaultTtl = { authorizedTTL: 300_000, unauthorizedTTL: 30_000 } as const;

/**
 * Reads an AuthorizationConfiguration from plain values; `types` are those that are known. With any error there are no authorizers.
 * Expressions are compiled to be checked, files are not opened. Source: apiserver pkg/apis/apiserver/validation.
 */
export function readAuthorizationConfiguration(
  value: unknown,
  types: readonly string[],
):
  | { readonly authorizers: readonly ConfiguredAuthorizer[] }
  | { readonly errors: readonly FieldError[]; readonly authorizers?: undefined } {
  const { object, errors: faults } = readConfigurationFile(value, {
    kind: "AuthorizationConfiguration",
    apiVersions,
    schema: authorizationConfigurationSchema(),
  });
  if (faults.length > 0) return { errors: faults };
  const list = fieldListAt(object, "authorizers");
  const errors = [...countErrors(list), ...authorizerErrors(list, types)];
  return errors.length > 0 ? { errors } : { authorizers: list.map(authorizerOf) };
}

function countErrors(list: readonly Fields[]): readonly FieldError[] {
  if (list.length === 0) return [required("authorizers", "at least one authorization mode must be defined")];
  return list.length > maxAuthorizers ? [tooMany("authorizers", list.length, maxAuthorizers)] : [];
}

function authorizerErrors(list: readonly Fields[], types: readonly string[]): readonly FieldError[] {
  const seenTypes = new Set<string>();
  const seenNames = new Set<string>();
  return list.slice(0, maxAuthorizers).flatMap((authorizer, index) => {
    const at = `authorizers[${index}]`;
    const type = stringAt(authorizer, "type");
    if (type === "") return [required(`${at}.type`)];
    if (!types.includes(type)) return [notSupported(`${at}.type`, type, types.toSorted())];
    if (seenTypes.has(type) && type !== "Webhook") return [duplicate(`${at}.type`, type)];
    seenTypes.add(type);
    const name = stringAt(authorizer, "name");
    const errors = [...nameErrors(name, seenNames, `${at}.name`), ...typedErrors(type, authorizer, at)];
    seenNames.add(name);
    return errors;
  });
}

function nameErrors(name: string, seen: ReadonlySet<string>, path: string): readonly FieldError[] {
  if (name === "") return [required(path)];
  if (seen.has(name)) return [duplicate(path, name)];
  const problems = dnsSubdomainProblems(name);
  return problems.length === 0 ? [] : [invalid(path, name, `authorizer name is invalid: ${problems.join(", ")}`)];
}

function typedErrors(type: string, authorizer: Fields, at: string): readonly FieldError[] {
  const webhook = valueAt(authorizer, "webhook");
  if (type !== "Webhook") {
    return isFields(webhook) ? [invalid(`${at}.webhook`, "non-null", "may only be specified when type=Webhook")] : [];
  }
  if (!isFields(webhook)) return [required(`${at}.webhook`, "required when type=Webhook")];
  return webhookErrors(webhook, `${at}.webhook`);
}

function webhookErrors(webhook: Fields, at: string): readonly FieldError[] {
  const conditions = fieldListAt(webhook, "matchConditions");
  const conditionVersion = stringAt(webhook, "matchConditionSubjectAccessReviewVersion");
  const conditionVersionPath = `${at}.matchConditionSubjectAccessReviewVersion`;
  return [
    ...timeoutErrors(stringAt(webhook, "timeout"), `${at}.timeout`),
    ...ttlErrors(stringAt(webhook, "authorizedTTL"), `${at}.authorizedTTL`),
    ...ttlErrors(stringAt(webhook, "unauthorizedTTL"), `${at}.unauthorizedTTL`),
    ...oneOf(webhook, "subjectAccessReviewVersion", at, ["v1", "v1beta1"]),
    ...(conditionVersion === "" && conditions.length > 0
      ? [required(conditionVersionPath, "required if match conditions are specified")]
      : []),
    ...(conditionVersion === "" || conditionVersion === "v1"
      ? []
      : [notSupported(conditionVersionPath, conditionVersion, ["v1"])]),
    ...oneOf(webhook, "failurePolicy", at, ["NoOpinion", "Deny"]),
    ...connectionErrors(fieldsAt(webhook, "connectionInfo"), `${at}.connectionInfo`),
    ...conditionErrors(conditions, `${at}.matchConditions`),
  ];
}

function oneOf(fields: Fields, field: string, at: string, allowed: readonly string[]): readonly FieldError[] {
  const value = stringAt(fields, field);
  if (value === "") return [required(`${at}.${field}`)];
  return allowed.includes(value) ? [] : [notSupported(`${at}.${field}`, value, allowed)];
}

function timeoutErrors(text: string, path: string): readonly FieldError[] {
  const ms = text === "" ? 0 : durationOf(text);
  if (ms === 0) return [required(path)];
  return ms !== undefined && ms > 0 && ms <= maxTimeoutMs ? [] : [invalid(path, text, "must be > 0s and <= 30s")];
}

function ttlErrors(text: string, path: string): readonly FieldError[] {
  if (text === "") return [];
  const ms = durationOf(text);
  return ms !== undefined && ms >= 0 ? [] : [invalid(path, text, "must be > 0s")];
}

function connectionErrors(connection: Fields, at: string): readonly FieldError[] {
  const type = stringAt(connection, "type");
  const file = stringAt(connection, "kubeConfigFile");
  const path = `${at}.kubeConfigFile`;
  if (type === "") return [required(`${at}.type`)];
  if (type === "InClusterConfig") {
    return [forbiddenField(`${at}.type`, "a hub runs in no cluster; use KubeConfigFile")];
  }
  if (type !== "KubeConfigFile") return [notSupported(`${at}.type`, type, ["InClusterConfig", "KubeConfigFile"])];
  if (file === "") return [required(path)];
  return file.startsWith("/") ? [] : [invalid(path, file, "must be an absolute path")];
}

function conditionErrors(conditions: readonly Fields[], at: string): readonly FieldError[] {
  if (conditions.length > maxConditions) return [tooMany(at, conditions.length, maxConditions)];
  const expressions = conditions.map((condition) => stringAt(condition, "expression"));
  return expressions.flatMap((expression, index) => {
    const path = `${at}[${index}].expression`;
    if (expression.trim() === "") return [required(path)];
    if (expressions.indexOf(expression) < index) return [duplicate(path, expression)];
    try {
      compileMatchCondition(expression);
      return [];
    } catch (error) {
      if (error instanceof CelError) return [invalid(path, expression, error.message)];
      throw error;
    }
  });
}

function durationOf(text: string): number | undefined {
  try {
    return parseDuration(text);
  } catch (error) {
    if (error instanceof DurationError) return undefined;
    throw error;
  }
}

function authorizerOf(authorizer: Fields): ConfiguredAuthorizer {
  const type = stringAt(authorizer, "type");
  const name = stringAt(authorizer, "name");
  return type === "Webhook" ? { type, name, webhook: webhookOf(fieldsAt(authorizer, "webhook")) } : { type, name };
}

function webhookOf(webhook: Fields): WebhookConfiguration {
  return {
    authorizedMs: ttlOf(webhook, "authorizedTTL", "cacheAuthorizedRequests"),
    unauthorizedMs: ttlOf(webhook, "unauthorizedTTL", "cacheUnauthorizedRequests"),
    timeoutMs: durationOf(stringAt(webhook, "timeout")) ?? maxTimeoutMs,
    version: stringAt(webhook, "subjectAccessReviewVersion") === "v1" ? "v1" : "v1beta1",
    onError: stringAt(webhook, "failurePolicy") === "NoOpinion" ? "noOpinion" : "deny",
    kubeconfigFile: stringAt(webhook, "connectionInfo", "kubeConfigFile"),
    matchConditions: fieldListAt(webhook, "matchConditions").map((condition) => stringAt(condition, "expression")),
  };
}

/** A time of nothing counts as not given, as in Kubernetes. */
function ttlOf(webhook: Fields, field: keyof typeof defaultTtl, flag: string): number {
  if (webhook[flag] === false) return 0;
  return durationOf(stringAt(webhook, field) || "0") || defaultTtl[field];
}
