import { fieldsSchema as object, listSchema as list } from "../apimachinery/configuration-file.ts";
import type { Field, ObjectSchema, StringSchema } from "../apimachinery/schema.ts";

const text: StringSchema = { type: "string" };
const flag: Field["schema"] = { type: "boolean" };

/** The fields of an AuthorizationConfiguration, with their types. Source: apiserver.config.k8s.io/v1. */
export function authorizationConfigurationSchema(): ObjectSchema {
  return object({
    apiVersion: text,
    kind: text,
    authorizers: list(
      object({
        type: text,
        name: text,
        webhook: object({
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
        }),
      }),
    ),
  });
}
