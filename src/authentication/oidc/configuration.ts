import { X509Certificate } from "node:crypto";
import {
  readConfigurationFile,
  fieldsSchema as object,
  listSchema as list,
} from "../../apimachinery/configuration-file.ts";
import { duplicate, forbiddenField, invalid, required, type FieldError } from "../../apimachinery/field-error.ts";
import { arrayAt, fieldListAt, fieldsAt, stringAt, stringsAt, type Fields } from "../../apis/json-fields.ts";
import { mappingErrors } from "./mapping-errors.ts";
import type { ArraySchema, ObjectSchema, StringSchema } from "../../apimachinery/schema.ts";

/** A claim with a prefix, or an expression over all claims. */
export type ClaimOrExpression =
  | { readonly claim: string; readonly prefix: string; readonly expression?: undefined }
  | { readonly expression: string; readonly claim?: undefined };

/** What must be so before a token is believed. */
export interface ClaimRule {
  readonly claim?: string;
  readonly requiredValue?: string;
  readonly expression?: string;
  readonly message: string;
}

/** One issuer of JSON web tokens and what its claims mean here. */
export interface JwtIssuer {
  readonly url: string;
  /** Where its discovery document lies, if not under `url`. */
  readonly discoveryUrl: string | undefined;
  /** The CAs that its server may have its certificate from, in PEM; undefined for those of the system. */
  readonly caPem: string | undefined;
  /** For one of which a token must be meant. */
  readonly audiences: readonly string[];
  readonly claimRules: readonly ClaimRule[];
  readonly username: ClaimOrExpression;
  readonly groups: ClaimOrExpression | undefined;
  readonly uid: ClaimOrExpression | undefined;
  readonly extra: readonly { readonly key: string; readonly expression: string }[];
  readonly userRules: readonly { readonly expression: string; readonly message: string }[];
}

/** Who is believed from outside, and which paths need no credential. */
export interface AuthenticationConfiguration {
  readonly issuers: readonly JwtIssuer[];
  /** Undefined where the file says nothing of it. `paths` undefined means every path. */
  readonly anonymous: { readonly enabled: boolean; readonly paths: readonly string[] | undefined } | undefined;
}

const apiVersions = ["v1", "v1beta1", "v1alpha1"].map((version) => `apiserver.config.k8s.io/${version}`);
const maxIssuers = 64;

/**
 * Reads an AuthenticationConfiguration from plain values. With any error there is no configuration. Expressions are compiled to
 * be checked. Source: apiserver pkg/apis/apiserver/validation.
 */
export function readAuthenticationConfiguration(
  value: unknown,
  taken: { readonly issuers: readonly string[] },
):
  | { readonly configuration: AuthenticationConfiguration }
  | { readonly errors: readonly FieldError[]; readonly configuration?: undefined } {
  const { object, errors: faults } = readConfigurationFile(value, {
    kind: "AuthenticationConfiguration",
    apiVersions,
    schema: authenticationConfigurationSchema(),
  });
  if (faults.length > 0) return { errors: faults };
  const jwt = fieldListAt(object, "jwt");
  const errors = [
    ...(jwt.length > maxIssuers
      ? [forbiddenField("jwt", `there are ${jwt.length}; at most ${maxIssuers} are allowed`)]
      : []),
    ...jwt.flatMap((one, index) => [...issuerErrors(one, `jwt[${index}]`), ...mappingErrors(one, `jwt[${index}]`)]),
    ...repeatedIssuers(jwt, taken.issuers),
    ...anonymousErrors(object),
  ];
  if (errors.length > 0) return { errors };
  return { configuration: { issuers: jwt.map(issuerOf), anonymous: anonymousOf(object) } };
}

function issuerErrors(jwt: Fields, at: string): readonly FieldError[] {
  const issuer = fieldsAt(jwt, "issuer");
  const url = stringAt(issuer, "url");
  const discovery = stringAt(issuer, "discoveryURL");
  const path = `${at}.issuer`;
  return [
    ...urlErrors(url, `${path}.url`),
    ...(discovery === "" ? [] : urlErrors(discovery, `${path}.discoveryURL`)),
    ...(discovery !== "" && withoutSlash(discovery) === withoutSlash(url)
      ? [invalid(`${path}.discoveryURL`, discovery, "discoveryURL must be different from URL")]
      : []),
    ...audienceErrors(issuer, path),
    ...caErrors(stringAt(issuer, "certificateAuthority"), `${path}.certificateAuthority`),
    ...(stringAt(issuer, "egressSelectorType") === ""
      ? []
      : [forbiddenField(`${path}.egressSelectorType`, "there is no egress selector here")]),
  ];
}

function withoutSlash(url: string): string {
  return url.endsWith("/") ? url.slice(0, -1) : url;
}

function urlErrors(text: string, path: string): readonly FieldError[] {
  if (text === "") return [required(path, "URL is required")];
  if (!URL.canParse(text)) return [invalid(path, text, "is not a URL")];
  const url = new URL(text);
  return [
    ...(url.protocol === "https:" ? [] : [invalid(path, text, "URL scheme must be https")]),
    ...(url.username === "" && url.password === ""
      ? []
      : [invalid(path, url.host, "URL must not contain a username or password")]),
    ...(url.search === "" ? [] : [invalid(path, text, "URL must not contain a query")]),
    ...(url.hash === "" ? [] : [invalid(path, text, "URL must not contain a fragment")]),
  ];
}

function audienceErrors(issuer: Fields, path: string): readonly FieldError[] {
  const audiences = stringsAt(issuer, "audiences");
  const policy = stringAt(issuer, "audienceMatchPolicy");
  const at = `${path}.audiences`;
  return [
    ...(arrayAt(issuer, "audiences").length === 0 ? [required(at, `at least one ${at} is required`)] : []),
    ...audiences.flatMap((audience, index) => {
      if (audience === "") return [required(`${at}[${index}]`, "audience can't be empty")];
      return audiences.indexOf(audience) < index ? [duplicate(`${at}[${index}]`, audience)] : [];
    }),
    ...(audiences.length > 1 && policy !== "MatchAny"
      ? [invalid(`${path}.audienceMatchPolicy`, policy, "audienceMatchPolicy must be MatchAny for multiple audiences")]
      : []),
    ...(audiences.length <= 1 && policy !== "" && policy !== "MatchAny"
      ? [
          invalid(
            `${path}.audienceMatchPolicy`,
            policy,
            "audienceMatchPolicy must be empty or MatchAny for single audience",
          ),
        ]
      : []),
  ];
}

function caErrors(pem: string, path: string): readonly FieldError[] {
  if (pem === "") return [];
  try {
    void new X509Certificate(pem);
    return [];
  } catch {
    return [invalid(path, "<omitted>", "is not a certificate in PEM")];
  }
}

function repeatedIssuers(jwt: readonly Fields[], taken: readonly string[]): readonly FieldError[] {
  const urls = jwt.map((one) => stringAt(one, "issuer", "url"));
  return urls.flatMap((url, index) => {
    const path = `jwt[${index}].issuer.url`;
    if (taken.includes(url))
      return [invalid(path, url, "URL must not overlap with disallowed issuers: the issuer of this hub's own tokens")];
    return url !== "" && urls.indexOf(url) < index ? [duplicate(path, url)] : [];
  });
}

function anonymousErrors(object: Fields): readonly FieldError[] {
  const anonymous = fieldsAt(object, "anonymous");
  const conditions = fieldListAt(anonymous, "conditions");
  if (conditions.length > 0 && anonymous["enabled"] !== true) {
    return [
      invalid("anonymous.conditions", conditions.length, "enabled should be set to true when conditions are defined"),
    ];
  }
  return conditions.flatMap((condition, index) =>
    stringAt(condition, "path").startsWith("/")
      ? []
      : [
          invalid(
            `anonymous.conditions[${index}].path`,
            stringAt(condition, "path"),
            "must be a path that begins with a slash",
          ),
        ],
  );
}

function issuerOf(jwt: Fields): JwtIssuer {
  const issuer = fieldsAt(jwt, "issuer");
  const mappings = fieldsAt(jwt, "claimMappings");
  return {
    url: stringAt(issuer, "url"),
    discoveryUrl: nonEmpty(stringAt(issuer, "discoveryURL")),
    caPem: nonEmpty(stringAt(issuer, "certificateAuthority")),
    audiences: stringsAt(issuer, "audiences"),
    claimRules: fieldListAt(jwt, "claimValidationRules").map((rule) => ({
      ...pick(rule, "claim"),
      ...pick(rule, "requiredValue"),
      ...pick(rule, "expression"),
      message: stringAt(rule, "message"),
    })),
    username: mappingOf(fieldsAt(mappings, "username")) ?? { expression: "" },
    groups: mappingOf(fieldsAt(mappings, "groups")),
    uid: mappingOf(fieldsAt(mappings, "uid")),
    extra: fieldListAt(mappings, "extra").map((one) => ({
      key: stringAt(one, "key"),
      expression: stringAt(one, "valueExpression"),
    })),
    userRules: fieldListAt(jwt, "userValidationRules").map((rule) => ({
      expression: stringAt(rule, "expression"),
      message: stringAt(rule, "message"),
    })),
  };
}

function pick<Key extends "claim" | "requiredValue" | "expression">(
  rule: Fields,
  key: Key,
): { readonly [K in Key]?: string } {
  const value = stringAt(rule, key);
  return (value === "" ? {} : { [key]: value }) as { readonly [K in Key]?: string };
}

function mappingOf(fields: Fields): ClaimOrExpression | undefined {
  const claim = stringAt(fields, "claim");
  if (claim !== "") return { claim, prefix: stringAt(fields, "prefix") };
  const expression = stringAt(fields, "expression");
  return expression === "" ? undefined : { expression };
}

function anonymousOf(object: Fields): AuthenticationConfiguration["anonymous"] {
  if (!Object.hasOwn(object, "anonymous")) return undefined;
  const anonymous = fieldsAt(object, "anonymous");
  const conditions = fieldListAt(anonymous, "conditions");
  return {
    enabled: anonymous["enabled"] === true,
    paths: conditions.length === 0 ? undefined : conditions.map((condition) => stringAt(condition, "path")),
  };
}

function nonEmpty(text: string): string | undefined {
  return text === "" ? undefined : text;
}

const text: StringSchema = { type: "string" };
const texts: ArraySchema = { type: "array", items: text };

const prefixed = object({ claim: text, prefix: text, expression: text });

/** The fields of an AuthenticationConfiguration, with their types. Source: apiserver.config.k8s.io/v1. */
function authenticationConfigurationSchema(): ObjectSchema {
  return object({
    apiVersion: text,
    kind: text,
    jwt: list(
      object({
        issuer: object({
          url: text,
          discoveryURL: text,
          certificateAuthority: text,
          audiences: texts,
          audienceMatchPolicy: text,
          egressSelectorType: text,
        }),
        claimValidationRules: list(object({ claim: text, requiredValue: text, expression: text, message: text })),
        claimMappings: object({
          username: prefixed,
          groups: prefixed,
          uid: object({ claim: text, expression: text }),
          extra: list(object({ key: text, valueExpression: text })),
        }),
        userValidationRules: list(object({ expression: text, message: text })),
      }),
    ),
    anonymous: object({ enabled: { type: "boolean" }, conditions: list(object({ path: text })) }),
  });
}
