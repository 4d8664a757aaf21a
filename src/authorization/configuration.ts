import {
  fieldsSchema as object,
  listSchema as list,
  readConfigurationFile,
  type DecodedBy,
} from "../apimachinery/configuration-file.ts";
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
import { compileMatchCondition } from "./match-conditions.ts";

/** One webhook of a configuration file; times in milliseconds. */
export interface WebhookConfiguration {
  /** How long an allow decision is cached; 0 calls the service each time. */
  readonly authorizedMs: number;
  /** How long every other decision is cached; 0 calls the service each time. */
  readonly unauthorizedMs: number;
  readonly timeoutMs: number;
  /** The version of the review that the service takes. */
  readonly version: "v1" | "v1beta1";
  /** The verdict where the call to the service fails. */
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

const text = { type: "string" } as const;
const flag = { type: "boolean" } as const;
const webhookSchema = object({
  authorizedTTL: text,
  unauthorizedTTL: text,
  cacheAuthorizedRequests: flag,
  cacheUnauthorizedRequests: flag,
  timeout: text,
  subjectAccessReviewVersion: text,
  matchConditionSubjectAccessReviewVersion: text,
  failurePolicy: text,
  connectionInfo: object({ type: text, kubeConfigFile: text }),
  matchConditions: list(object({ expression: text })),
});
const authorizerSchema = object({ type: text, name: text, webhook: webhookSchema });
/** Source: apiserver.config.k8s.io/v1. */
const schema = object({ apiVersion: text, kind: text, authorizers: list(authorizerSchema) });

type Webhook = DecodedBy<typeof webhookSchema>;
type Authorizer = DecodedBy<typeof authorizerSchema>;
type Errors = Generator<FieldError, void>;

/**
 * Reads an AuthorizationConfiguration from plain values; `types` are the known types. With any error there are no authorizers.
 * Expressions are compiled to be checked, files are not opened. Source: apiserver pkg/apis/apiserver/validation.
 */
export function readAuthorizationConfiguration(
  value: unknown,
  types: readonly string[],
):
  | { readonly authorizers: readonly ConfiguredAuthorizer[] }
  | { readonly errors: readonly FieldError[]; readonly authorizers?: undefined } {
  const kind = "AuthorizationConfiguration";
  const { object: file, errors } = readConfigurationFile(value, { kind, apiVersions, schema });
  const { authorizers = [] } = file;
  const faults = errors.length > 0 ? errors : [...authorizerErrors(authorizers, types)];
  return faults.length > 0 ? { errors: faults } : { authorizers: authorizers.map(authorizerOf) };
}

function* authorizerErrors(authorizers: readonly Authorizer[], types: readonly string[]): Errors {
  if (authorizers.length === 0) yield required("authorizers", "at least one authorization mode must be defined");
  if (authorizers.length > maxAuthorizers) yield tooMany("authorizers", authorizers.length, maxAuthorizers);
  const seenTypes = new Set<string>();
  const seenNames = new Set<string>();
  for (const [index, { type = "", name = "", webhook }] of authorizers.slice(0, maxAuthorizers).entries()) {
    const at = `authorizers[${index}]`;
    if (type === "") yield required(`${at}.type`);
    else if (!types.includes(type)) yield notSupported(`${at}.type`, type, types.toSorted());
    else if (seenTypes.has(type) && type !== "Webhook") yield duplicate(`${at}.type`, type);
    else {
      seenTypes.add(type);
      yield* nameErrors(name, seenNames, `${at}.name`);
      yield* typedErrors(type, webhook, `${at}.webhook`);
      seenNames.add(name);
    }
  }
}

function* nameErrors(name: string, seen: ReadonlySet<string>, path: string): Errors {
  if (name === "") return yield required(path);
  if (seen.has(name)) return yield duplicate(path, name);
  const problems = dnsSubdomainProblems(name);
  if (problems.length > 0) yield invalid(path, name, `authorizer name is invalid: ${problems.join(", ")}`);
}

function* typedErrors(type: string, webhook: Webhook | undefined, path: string): Errors {
  if (type === "Webhook" && webhook === undefined) yield required(path, "required when type=Webhook");
  else if (type === "Webhook") yield* webhookErrors(webhook ?? {}, path);
  else if (webhook !== undefined) yield invalid(path, "non-null", "may only be specified when type=Webhook");
}

function* webhookErrors(webhook: Webhook, at: string): Errors {
  const { matchConditions = [], matchConditionSubjectAccessReviewVersion: conditionVersion = "" } = webhook;
  const conditionVersionPath = `${at}.matchConditionSubjectAccessReviewVersion`;
  yield* timeoutErrors(webhook.timeout, `${at}.timeout`);
  yield* ttlErrors(webhook.authorizedTTL, `${at}.authorizedTTL`);
  yield* ttlErrors(webhook.unauthorizedTTL, `${at}.unauthorizedTTL`);
  yield* oneOf(webhook.subjectAccessReviewVersion, `${at}.subjectAccessReviewVersion`, ["v1", "v1beta1"]);
  if (conditionVersion !== "") yield* oneOf(conditionVersion, conditionVersionPath, ["v1"]);
  else if (matchConditions.length > 0)
    yield required(conditionVersionPath, "required if match conditions are specified");
  yield* oneOf(webhook.failurePolicy, `${at}.failurePolicy`, ["NoOpinion", "Deny"]);
  yield* connectionErrors(webhook.connectionInfo ?? {}, `${at}.connectionInfo`);
  yield* conditionErrors(expressionsOf(webhook), `${at}.matchConditions`);
}

function* oneOf(value: string | undefined = "", path: string, allowed: readonly string[]): Errors {
  if (value === "") yield required(path);
  else if (!allowed.includes(value)) yield notSupported(path, value, allowed);
}

function* timeoutErrors(written: string | undefined = "", path: string): Errors {
  const ms = written === "" ? 0 : durationOf(written);
  if (ms === 0) yield required(path);
  else if (ms === undefined || ms < 0 || ms > maxTimeoutMs) yield invalid(path, written, "must be > 0s and <= 30s");
}

function* ttlErrors(written: string | undefined, path: string): Errors {
  if ((durationOf(written || "0") ?? -1) < 0) yield invalid(path, written, "must be > 0s");
}

function* connectionErrors(
  { type = "", kubeConfigFile: file = "" }: NonNullable<Webhook["connectionInfo"]>,
  at: string,
): Errors {
  const path = `${at}.kubeConfigFile`;
  if (type === "InClusterConfig") yield forbiddenField(`${at}.type`, "a hub runs in no cluster; use KubeConfigFile");
  else if (type !== "KubeConfigFile") yield* oneOf(type, `${at}.type`, ["InClusterConfig", "KubeConfigFile"]);
  else if (file === "") yield required(path);
  else if (!file.startsWith("/")) yield invalid(path, file, "must be an absolute path");
}

function* conditionErrors(expressions: readonly string[], at: string): Errors {
  if (expressions.length > maxConditions) return yield tooMany(at, expressions.length, maxConditions);
  for (const [index, expression] of expressions.entries()) {
    const path = `${at}[${index}].expression`;
    if (expression.trim() === "") yield required(path);
    else if (expressions.indexOf(expression) < index) yield duplicate(path, expression);
    else yield* expressionErrors(expression, path);
  }
}

function* expressionErrors(expression: string, path: string): Errors {
  try {
    compileMatchCondition(expression);
  } catch (error) {
    if (!(error instanceof CelError)) throw error;
    yield invalid(path, expression, error.message);
  }
}

function durationOf(written: string): number | undefined {
  try {
    return parseDuration(written);
  } catch (error) {
    if (error instanceof DurationError) return undefined;
    throw error;
  }
}

function expressionsOf({ matchConditions = [] }: Webhook): readonly string[] {
  return matchConditions.map(({ expression = "" }) => expression);
}

function authorizerOf({ type = "", name = "", webhook = {} }: Authorizer): ConfiguredAuthorizer {
  return type === "Webhook" ? { type, name, webhook: webhookOf(webhook) } : { type, name };
}

function webhookOf(webhook: Webhook): WebhookConfiguration {
  // A duration of zero counts as absent, as in Kubernetes.
  const ttlOf = (written: string | undefined, defaultMs: number): number => durationOf(written || "0") || defaultMs;
  return {
    authorizedMs: webhook.cacheAuthorizedRequests === false ? 0 : ttlOf(webhook.authorizedTTL, 300_000),
    unauthorizedMs: webhook.cacheUnauthorizedRequests === false ? 0 : ttlOf(webhook.unauthorizedTTL, 30_000),
    timeoutMs: ttlOf(webhook.timeout, maxTimeoutMs),
    version: webhook.subjectAccessReviewVersion === "v1" ? "v1" : "v1beta1",
    onError: webhook.failurePolicy === "NoOpinion" ? "noOpinion" : "deny",
    kubeconfigFile: webhook.connectionInfo?.kubeConfigFile ?? "",
    matchConditions: expressionsOf(webhook),
  };
}
