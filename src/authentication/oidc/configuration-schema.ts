import { fieldsSchema as object, listSchema as list } from "../../apimachinery/configuration-file.ts";
import type { ArraySchema, ObjectSchema, StringSchema } from "../../apimachinery/schema.ts";

const text: StringSchema = { type: "string" };
const texts: ArraySchema = { type: "array", items: text };

const prefixed = object({ claim: text, prefix: text, expression: text });

/** The fields of an AuthenticationConfiguration, with their types. Source: apiserver.config.k8s.io/v1. */
export function authenticationConfigurationSchema(): ObjectSchema {
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
