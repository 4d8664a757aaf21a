import { X509Certificate } from "node:crypto";
import {
  fieldsSchema as object,
  listSchema as list,
  readConfigurationFile,
  type DecodedBy,
} from "../../apimachinery/configuration-file.ts";
import { duplicate, forbiddenField, invalid, required, type FieldError } from "../../apimachinery/field-error.ts";
import { CelError } from "../../policy/cel/cel-error.ts";
import { compileExpression, type ExpressionPlace } from "./expressions.ts";

/** A claim with a prefix, or an expression over all claims. */
export type ClaimOrExpression =
  | { readonly claim: string; readonly prefix: string; readonly expression?: undefined }
  | { readonly expression: string; readonly claim?: undefined };

/** A condition for accepting a token. */
export interface ClaimRule {
  readonly claim?: string;
  readonly requiredValue?: string;
  readonly expression?: string;
  readonly message: string;
}

/** One issuer of JSON web tokens and the mapping of its claims. */
export interface JwtIssuer {
  readonly url: string;
  /** The URL of its discovery document, if not under `url`. */
  readonly discoveryUrl: string | undefined;
  /** The CAs of its server's certificate, in PEM; undefined for those of the system. */
  readonly caPem: string | undefined;
  /** The audiences; a token must be meant for one of them. */
  readonly audiences: readonly string[];
  readonly claimRules: readonly ClaimRule[];
  readonly username: ClaimOrExpression;
  readonly groups: ClaimOrExpression | undefined;
  readonly uid: ClaimOrExpression | undefined;
  readonly extra: readonly { readonly key: string; readonly expression: string }[];
  readonly userRules: readonly { readonly expression: string; readonly message: string }[];
}

/** The external issuers, and which paths need no credential. */
export interface AuthenticationConfiguration {
  readonly issuers: readonly JwtIssuer[];
  /** Undefined where the file does not set it. `paths` undefined means every path. */
  readonly anonymous: { readonly enabled: boolean; readonly paths: readonly string[] | undefined } | undefined;
}

const apiVersions = ["v1", "v1beta1", "v1alpha1"].map((version) => `apiserver.config.k8s.io/${version}`);
const maxIssuers = 64;

const text = { type: "string" } as const;
const prefixed = object({ claim: text, prefix: text, expression: text });
const jwtSchema = object({
  issuer: object({
    url: text,
    discoveryURL: text,
    certificateAuthority: text,
    audiences: list(text),
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
});
/** Source: apiserver.config.k8s.io/v1. */
const schema = object({
  apiVersion: text,
  kind: text,
  jwt: list(jwtSchema),
  anonymous: object({ enabled: { type: "boolean" }, conditions: list(object({ path: text })) }),
});

const emptyIssuer = {
  url: "",
  discoveryURL: "",
  certificateAuthority: "",
  audiences: [],
  audienceMatchPolicy: "",
  egressSelectorType: "",
};

type File = DecodedBy<typeof schema>;
type Jwt = DecodedBy<typeof jwtSchema>;
type Issuer = Required<NonNullable<Jwt["issuer"]>>;
type Mapping = DecodedBy<typeof prefixed>;

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
  const { object: file, errors } = readConfigurationFile(value, {
    kind: "AuthenticationConfiguration",
    apiVersions,
    schema,
  });
  const faults = errors.length > 0 ? errors : [...fileErrors(file, taken.issuers)];
  if (faults.length > 0) return { errors: faults };
  return { configuration: { issuers: (file.jwt ?? []).map(issuerOf), anonymous: anonymousOf(file) } };
}

type Errors = Generator<FieldError, void>;

function* fileErrors({ jwt = [], anonymous = {} }: File, taken: readonly string[]): Errors {
  if (jwt.length > maxIssuers)
    yield forbiddenField("jwt", `there are ${jwt.length}; at most ${maxIssuers} are allowed`);
  for (const [index, one] of jwt.entries()) {
    yield* issuerErrors({ ...emptyIssuer, ...one.issuer }, `jwt[${index}].issuer`);
    yield* mappingErrors(one, `jwt[${index}]`);
  }
  const urls = jwt.map(({ issuer }) => issuer?.url ?? "");
  for (const [index, url] of urls.entries()) {
    const path = `jwt[${index}].issuer.url`;
    if (taken.includes(url))
      yield invalid(path, url, "URL must not overlap with disallowed issuers: the issuer of this hub's own tokens");
    else if (url !== "" && urls.indexOf(url) < index) yield duplicate(path, url);
  }
  yield* anonymousErrors(anonymous);
}

function* issuerErrors(issuer: Issuer, at: string): Errors {
  const { url, discoveryURL, certificateAuthority, egressSelectorType } = issuer;
  yield* urlErrors(url, `${at}.url`);
  if (discoveryURL !== "") yield* urlErrors(discoveryURL, `${at}.discoveryURL`);
  if (discoveryURL !== "" && withoutSlash(discoveryURL) === withoutSlash(url))
    yield invalid(`${at}.discoveryURL`, discoveryURL, "discoveryURL must be different from URL");
  yield* audienceErrors(issuer, at);
  if (certificateAuthority !== "" && !isCertificate(certificateAuthority))
    yield invalid(`${at}.certificateAuthority`, "<omitted>", "is not a certificate in PEM");
  if (egressSelectorType !== "") yield forbiddenField(`${at}.egressSelectorType`, "there is no egress selector here");
}

function withoutSlash(url: string): string {
  return url.endsWith("/") ? url.slice(0, -1) : url;
}

function* urlErrors(written: string, path: string): Errors {
  if (written === "") return yield required(path, "URL is required");
  if (!URL.canParse(written)) return yield invalid(path, written, "is not a URL");
  const { protocol, username, password, host, search, hash } = new URL(written);
  if (protocol !== "https:") yield invalid(path, written, "URL scheme must be https");
  if (username !== "" || password !== "") yield invalid(path, host, "URL must not contain a username or password");
  if (search !== "") yield invalid(path, written, "URL must not contain a query");
  if (hash !== "") yield invalid(path, written, "URL must not contain a fragment");
}

function* audienceErrors({ audiences, audienceMatchPolicy: policy }: Issuer, at: string): Errors {
  const path = `${at}.audiences`;
  if (audiences.length === 0) yield required(path, `at least one ${path} is required`);
  for (const [index, audience] of audiences.entries()) {
    if (audience === "") yield required(`${path}[${index}]`, "audience can't be empty");
    else if (audiences.indexOf(audience) < index) yield duplicate(`${path}[${index}]`, audience);
  }
  if (policy === "MatchAny") return;
  const why =
    audiences.length > 1 ? "must be MatchAny for multiple audiences" : "must be empty or MatchAny for single audience";
  if (audiences.length > 1 || policy !== "")
    yield invalid(`${at}.audienceMatchPolicy`, policy, `audienceMatchPolicy ${why}`);
}

function isCertificate(pem: string): boolean {
  try {
    void new X509Certificate(pem);
    return true;
  } catch {
    return false;
  }
}

function* anonymousErrors({ enabled, conditions = [] }: NonNullable<File["anonymous"]>): Errors {
  const at = "anonymous.conditions";
  if (conditions.length > 0 && enabled !== true)
    return yield invalid(at, conditions.length, "enabled should be set to true when conditions are defined");
  for (const [index, { path = "" }] of conditions.entries()) {
    if (!path.startsWith("/")) yield invalid(`${at}[${index}].path`, path, "must be a path that begins with a slash");
  }
}

function* mappingErrors(jwt: Jwt, at: string): Errors {
  const { username, groups, uid, extra } = { username: {}, groups: {}, uid: {}, extra: [], ...jwt.claimMappings };
  const path = `${at}.claimMappings`;
  yield* claimRuleErrors(jwt.claimValidationRules ?? [], `${at}.claimValidationRules`);
  yield* userRuleErrors(jwt.userValidationRules ?? [], `${at}.userValidationRules`);
  if ((username.claim ?? "") === "" && (username.expression ?? "") === "")
    yield required(`${path}.username`, "claim or expression is required");
  else yield* prefixedErrors(username, `${path}.username`, "username");
  yield* prefixedErrors(groups, `${path}.groups`, "groups");
  yield* eitherErrors(uid, `${path}.uid`, "uid");
  yield* extraErrors(extra, `${path}.extra`);
  if (usesUnverifiedEmail(jwt)) yield invalid(`${path}.username.expression`, username.expression, unverifiedEmail);
}

function* claimRuleErrors(rules: NonNullable<Jwt["claimValidationRules"]>, at: string): Errors {
  const claims = rules.map(({ claim = "" }) => claim);
  const expressions = rules.map(({ expression = "" }) => expression);
  for (const [index, rule] of rules.entries()) {
    const path = `${at}[${index}]`;
    const { claim, expression, message, requiredValue } = { ...emptyRule, ...rule };
    if (claim === "" && expression === "") yield required(path, "claim or expression is required");
    else if (claim !== "" && expression !== "") yield invalid(path, claim, "claim and expression can't both be set");
    else if (claim !== "") {
      if (message !== "") yield invalid(`${path}.message`, message, "message can't be set when claim is set");
      if (claims.indexOf(claim) < index) yield duplicate(`${path}.claim`, claim);
    } else {
      const why = "requiredValue can't be set when expression is set";
      if (requiredValue !== "") yield invalid(`${path}.requiredValue`, requiredValue, why);
      yield* uniqueExpressionErrors(expressions, { index, path: `${path}.expression` }, "claimRule");
    }
  }
}

const emptyRule = { claim: "", expression: "", message: "", requiredValue: "" };

function* userRuleErrors(rules: NonNullable<Jwt["userValidationRules"]>, at: string): Errors {
  const expressions = rules.map(({ expression = "" }) => expression);
  for (const [index, expression] of expressions.entries()) {
    const path = `${at}[${index}].expression`;
    if (expression === "") yield required(path, "expression is required");
    else yield* uniqueExpressionErrors(expressions, { index, path }, "userRule");
  }
}

function* uniqueExpressionErrors(
  expressions: readonly string[],
  { index, path }: { readonly index: number; readonly path: string },
  place: ExpressionPlace,
): Errors {
  const expression = expressions[index] ?? "";
  if (expressions.indexOf(expression) < index) yield duplicate(path, expression);
  yield* expressionErrors(expression, path, place);
}

/** A claim requires a prefix, even an empty one: without it an external name could be one of the hub's own. */
function* prefixedErrors(mapping: Mapping, path: string, place: ExpressionPlace): Errors {
  const { claim = "", prefix } = mapping;
  const why = "prefix is required when claim is set. It can be set to an empty string to disable prefixing";
  yield* eitherErrors(mapping, path, place);
  if (claim !== "" && prefix === undefined) yield required(`${path}.prefix`, why);
  if (claim === "" && prefix !== undefined)
    yield invalid(`${path}.prefix`, prefix, "prefix can't be set when expression is set");
}

function* eitherErrors({ claim = "", expression = "" }: Mapping, path: string, place: ExpressionPlace): Errors {
  if (expression === "") return;
  if (claim !== "") yield invalid(path, "", "claim and expression can't both be set");
  else yield* expressionErrors(expression, `${path}.expression`, place);
}

/** Keys are in lower case with a domain of their own, and the domains of Kubernetes are reserved. */
const extraKey = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\/[a-z0-9._~!$&'()*+,;=:@/-]+$/;
const maxKeyCharacters = 510;

function* extraErrors(extra: NonNullable<NonNullable<Jwt["claimMappings"]>["extra"]>, at: string): Errors {
  const keys = extra.map(({ key = "" }) => key);
  for (const [index, key] of keys.entries()) {
    const path = `${at}[${index}]`;
    const expression = extra[index]?.valueExpression ?? "";
    yield* keyErrors(key, `${path}.key`);
    if (keys.indexOf(key) < index) yield duplicate(`${path}.key`, key);
    if (expression === "") yield required(`${path}.valueExpression`, "valueExpression is required");
    else yield* expressionErrors(expression, `${path}.valueExpression`, "extra");
  }
}

function* keyErrors(key: string, path: string): Errors {
  if (key === "") return yield required(path);
  if (key.length > maxKeyCharacters || !extraKey.test(key))
    return yield invalid(path, key, 'must be a domain-prefixed path in lower case (such as "acme.io/foo")');
  if (/^([^/]*\.)?(kubernetes|k8s)\.io\//.test(key))
    yield invalid(path, key, "k8s.io, kubernetes.io and their subdomains are reserved for Kubernetes use");
}

function* expressionErrors(expression: string, path: string, place: ExpressionPlace): Errors {
  try {
    compileExpression(expression, place);
  } catch (error) {
    if (!(error instanceof CelError)) throw error;
    yield invalid(path, expression, `compilation failed: ${error.message}`);
  }
}

const unverifiedEmail =
  "claims.email_verified must be used in claimMappings.username.expression or claimMappings.extra[*].valueExpression or claimValidationRules[*].expression when claims.email is used in claimMappings.username.expression";

/** An unverified address may belong to any person: an expression that uses it as a name must read `email_verified`. */
function usesUnverifiedEmail({ claimMappings = {}, claimValidationRules = [] }: Jwt): boolean {
  const username = claimMappings.username?.expression ?? "";
  const expressions = [
    username,
    ...(claimMappings.extra ?? []).map(({ valueExpression = "" }) => valueExpression),
    ...claimValidationRules.map(({ expression = "" }) => expression),
  ];
  const verified = /\bclaims\.(\?\s*)?email_verified\b/;
  return /\bclaims\.email\b/.test(username) && !expressions.some((expression) => verified.test(expression));
}

function issuerOf({ issuer, claimMappings = {}, claimValidationRules = [], userValidationRules = [] }: Jwt): JwtIssuer {
  const { url, discoveryURL, certificateAuthority, audiences } = { ...emptyIssuer, ...issuer };
  return {
    url,
    discoveryUrl: discoveryURL || undefined,
    caPem: certificateAuthority || undefined,
    audiences,
    claimRules: claimValidationRules.map(({ message = "", ...rule }) => ({ ...nonEmpty(rule), message })),
    username: mappingOf(claimMappings.username) ?? { expression: "" },
    groups: mappingOf(claimMappings.groups),
    uid: mappingOf(claimMappings.uid),
    extra: (claimMappings.extra ?? []).map(({ key = "", valueExpression = "" }) => ({
      key,
      expression: valueExpression,
    })),
    userRules: userValidationRules.map(({ expression = "", message = "" }) => ({ expression, message })),
  };
}

function nonEmpty<Fields extends Readonly<Record<string, string>>>(fields: Fields): Partial<Fields> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== "")) as Partial<Fields>;
}

function mappingOf({ claim = "", prefix = "", expression = "" }: Mapping = {}): ClaimOrExpression | undefined {
  if (claim !== "") return { claim, prefix };
  return expression === "" ? undefined : { expression };
}

function anonymousOf({ anonymous }: File): AuthenticationConfiguration["anonymous"] {
  const paths = anonymous?.conditions?.map(({ path = "" }) => path) ?? [];
  return anonymous && { enabled: anonymous.enabled === true, paths: paths.length === 0 ? undefined : paths };
}
