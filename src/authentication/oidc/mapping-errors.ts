import { duplicate, invalid, required, type FieldError } from "../../apimachinery/field-error.ts";
import { CelError } from "../../policy/cel/cel-error.ts";
import { fieldListAt, fieldsAt, stringAt, type Fields } from "../../apis/json-fields.ts";
import { compileExpression, type ExpressionPlace } from "./expressions.ts";

/** What is wrong with the rules and mappings of one issuer. Source: apiserver pkg/apis/apiserver/validation. */
export function mappingErrors(jwt: Fields, at: string): readonly FieldError[] {
  const mappings = fieldsAt(jwt, "claimMappings");
  const path = `${at}.claimMappings`;
  return [
    ...claimRuleErrors(fieldListAt(jwt, "claimValidationRules"), `${at}.claimValidationRules`),
    ...userRuleErrors(fieldListAt(jwt, "userValidationRules"), `${at}.userValidationRules`),
    ...usernameErrors(fieldsAt(mappings, "username"), `${path}.username`),
    ...prefixedErrors(fieldsAt(mappings, "groups"), `${path}.groups`, "groups"),
    ...eitherErrors(fieldsAt(mappings, "uid"), `${path}.uid`, "uid"),
    ...extraErrors(fieldListAt(mappings, "extra"), `${path}.extra`),
    ...unverifiedEmail(jwt, `${path}.username.expression`),
  ];
}

function claimRuleErrors(rules: readonly Fields[], at: string): readonly FieldError[] {
  const claims = rules.map((rule) => stringAt(rule, "claim"));
  const expressions = rules.map((rule) => stringAt(rule, "expression"));
  return rules.flatMap((rule, index) => {
    const path = `${at}[${index}]`;
    const claim = claims[index] ?? "";
    const expression = expressions[index] ?? "";
    if (claim === "" && expression === "") return [required(path, "claim or expression is required")];
    if (claim !== "" && expression !== "") return [invalid(path, claim, "claim and expression can't both be set")];
    if (claim !== "") {
      return [
        ...(stringAt(rule, "message") === ""
          ? []
          : [invalid(`${path}.message`, stringAt(rule, "message"), "message can't be set when claim is set")]),
        ...(claims.indexOf(claim) < index ? [duplicate(`${path}.claim`, claim)] : []),
      ];
    }
    return [
      ...(stringAt(rule, "requiredValue") === ""
        ? []
        : [
            invalid(
              `${path}.requiredValue`,
              stringAt(rule, "requiredValue"),
              "requiredValue can't be set when expression is set",
            ),
          ]),
      ...(expressions.indexOf(expression) < index ? [duplicate(`${path}.expression`, expression)] : []),
      ...expressionErrors(expression, `${path}.expression`, "claimRule"),
    ];
  });
}

function userRuleErrors(rules: readonly Fields[], at: string): readonly FieldError[] {
  const expressions = rules.map((rule) => stringAt(rule, "expression"));
  return expressions.flatMap((expression, index) => {
    const path = `${at}[${index}].expression`;
    if (expression === "") return [required(path, "expression is required")];
    return [
      ...(expressions.indexOf(expression) < index ? [duplicate(path, expression)] : []),
      ...expressionErrors(expression, path, "userRule"),
    ];
  });
}

function usernameErrors(username: Fields, path: string): readonly FieldError[] {
  if (stringAt(username, "claim") === "" && stringAt(username, "expression") === "") {
    return [required(path, "claim or expression is required")];
  }
  return prefixedErrors(username, path, "username");
}

/** A prefix is asked for with a claim, even an empty one: without it a name from outside could be one of the hub's own. */
function prefixedErrors(mapping: Fields, path: string, place: ExpressionPlace): readonly FieldError[] {
  const hasPrefix = Object.hasOwn(mapping, "prefix");
  const claim = stringAt(mapping, "claim");
  return [
    ...eitherErrors(mapping, path, place),
    ...(claim !== "" && !hasPrefix
      ? [
          required(
            `${path}.prefix`,
            "prefix is required when claim is set. It can be set to an empty string to disable prefixing",
          ),
        ]
      : []),
    ...(claim === "" && hasPrefix
      ? [invalid(`${path}.prefix`, stringAt(mapping, "prefix"), "prefix can't be set when expression is set")]
      : []),
  ];
}

function eitherErrors(mapping: Fields, path: string, place: ExpressionPlace): readonly FieldError[] {
  const expression = stringAt(mapping, "expression");
  if (expression === "") return [];
  if (stringAt(mapping, "claim") !== "") return [invalid(path, "", "claim and expression can't both be set")];
  return expressionErrors(expression, `${path}.expression`, place);
}

/** Keys are written in lower case with a domain of their own, and the domains of Kubernetes are its own. */
const extraKey = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\/[a-z0-9._~!$&'()*+,;=:@/-]+$/;
const maxKeyCharacters = 510;

function extraErrors(extra: readonly Fields[], at: string): readonly FieldError[] {
  const keys = extra.map((one) => stringAt(one, "key"));
  return extra.flatMap((one, index) => {
    const path = `${at}[${index}]`;
    const expression = stringAt(one, "valueExpression");
    return [
      ...keyErrors(keys[index] ?? "", `${path}.key`),
      ...(keys.indexOf(keys[index] ?? "") < index ? [duplicate(`${path}.key`, keys[index])] : []),
      ...(expression === ""
        ? [required(`${path}.valueExpression`, "valueExpression is required")]
        : expressionErrors(expression, `${path}.valueExpression`, "extra")),
    ];
  });
}

function keyErrors(key: string, path: string): readonly FieldError[] {
  if (key === "") return [required(path)];
  if (key.length > maxKeyCharacters || !extraKey.test(key)) {
    return [invalid(path, key, 'must be a domain-prefixed path in lower case (such as "acme.io/foo")')];
  }
  const domain = key.slice(0, key.indexOf("/"));
  return ["kubernetes.io", "k8s.io"].some((own) => domain === own || domain.endsWith(`.${own}`))
    ? [invalid(path, key, "k8s.io, kubernetes.io and their subdomains are reserved for Kubernetes use")]
    : [];
}

function expressionErrors(expression: string, path: string, place: ExpressionPlace): readonly FieldError[] {
  try {
    compileExpression(expression, place);
    return [];
  } catch (error) {
    if (!(error instanceof CelError)) throw error;
    return [invalid(path, expression, `compilation failed: ${error.message}`)];
  }
}

const email = /\bclaims\.email\b/;
const verified = /\bclaims\.(\?\s*)?email_verified\b/;

/** An address that its owner has not proven may be anybody's: an expression that makes it a name must look at the proof. */
function unverifiedEmail(jwt: Fields, path: string): readonly FieldError[] {
  const username = stringAt(jwt, "claimMappings", "username", "expression");
  if (!email.test(username)) return [];
  const seen = [
    username,
    ...fieldListAt(jwt, "claimMappings", "extra").map((one) => stringAt(one, "valueExpression")),
    ...fieldListAt(jwt, "claimValidationRules").map((rule) => stringAt(rule, "expression")),
  ];
  if (seen.some((expression) => verified.test(expression))) return [];
  return [
    invalid(
      path,
      username,
      "claims.email_verified must be used in claimMappings.username.expression or claimMappings.extra[*].valueExpression or claimValidationRules[*].expression when claims.email is used in claimMappings.username.expression",
    ),
  ];
}
