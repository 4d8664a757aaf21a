import { describe, expect, it } from "vitest";
import type { FieldError } from "../apimachinery/field-error.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import { propertySchema } from "../apimachinery/schema.ts";
import { definition, version } from "../../test/kits/definitions.ts";
import { certificateSigningRequests } from "./certificate-signing-request.ts";
import { customResourceDefinitions } from "./custom-resource-definition.ts";
import { mutatingAdmissionPolicies } from "./mutating-admission-policy.ts";
import { mutatingWebhookConfigurations, validatingWebhookConfigurations } from "./admission-webhook.ts";
import { nodes } from "./node.ts";
import { pods } from "./pod.ts";
import type { Resource } from "./resource.ts";
import { published } from "./schemas/published.ts";
import { validatingAdmissionPolicies } from "./validating-admission-policy.ts";
import { validatingAdmissionPolicyBindings } from "./admission-policy-binding.ts";

const admission = "io.k8s.api.admissionregistration.v1";

function definitionWith(rule: object): object {
  const openAPIV3Schema = { type: "object", "x-kubernetes-validations": [{ rule: "true", ...rule }] };
  return definition({ versions: [version({ schema: { openAPIV3Schema } })] });
}

/** A published field with values that are listed, and an object that has a value there. */
type Case = readonly [field: string, Resource, path: string, (value: string) => object];

const cases: readonly Case[] = [
  [
    "io.k8s.api.core.v1.PodSpec.restartPolicy",
    pods,
    "spec.restartPolicy",
    (value) => ({ spec: { restartPolicy: value } }),
  ],
  ["io.k8s.api.core.v1.PodSpec.dnsPolicy", pods, "spec.dnsPolicy", (value) => ({ spec: { dnsPolicy: value } })],
  [
    "io.k8s.api.core.v1.Taint.effect",
    nodes,
    "metadata.taints[0].effect",
    (value) => ({ spec: { taints: [{ key: "a", effect: value }] } }),
  ],
  [
    "io.k8s.api.certificates.v1.CertificateSigningRequestSpec.usages",
    certificateSigningRequests,
    "spec.usages[0]",
    (value) => ({ spec: { usages: [value] } }),
  ],
  ...(
    [
      ["MutatingWebhook", mutatingWebhookConfigurations],
      ["ValidatingWebhook", validatingWebhookConfigurations],
    ] as const
  ).flatMap(([type, resource]) =>
    ["failurePolicy", "matchPolicy", ...(type === "MutatingWebhook" ? ["reinvocationPolicy"] : [])].map((key): Case => [
      `${admission}.${type}.${key}`,
      resource,
      `webhooks[0].${key}`,
      (value) => ({ webhooks: [{ [key]: value }] }),
    ]),
  ),
  [
    `${admission}.RuleWithOperations.scope`,
    validatingWebhookConfigurations,
    "webhooks[0].rules[0].scope",
    (value) => ({ webhooks: [{ rules: [{ scope: value }] }] }),
  ],
  [
    `${admission}.RuleWithOperations.operations`,
    validatingWebhookConfigurations,
    "webhooks[0].rules[0].operations[0]",
    (value) => ({ webhooks: [{ rules: [{ operations: [value] }] }] }),
  ],
  [
    `${admission}.ValidatingAdmissionPolicySpec.failurePolicy`,
    validatingAdmissionPolicies,
    "spec.failurePolicy",
    (value) => ({ spec: { failurePolicy: value } }),
  ],
  [
    `${admission}.MatchResources.matchPolicy`,
    validatingAdmissionPolicies,
    "spec.matchConstraints.matchPolicy",
    (value) => ({ spec: { matchConstraints: { matchPolicy: value } } }),
  ],
  [
    `${admission}.ValidatingAdmissionPolicyBindingSpec.validationActions`,
    validatingAdmissionPolicyBindings,
    "spec.validationActions[0]",
    (value) => ({ spec: { validationActions: [value] } }),
  ],
  ...["failurePolicy", "reinvocationPolicy"].map((key): Case => [
    `${admission}.MutatingAdmissionPolicySpec.${key}`,
    mutatingAdmissionPolicies,
    `spec.${key}`,
    (value) => ({ spec: { [key]: value } }),
  ]),
  [
    `${admission}.Mutation.patchType`,
    mutatingAdmissionPolicies,
    "spec.mutations[0].patchType",
    (value) => ({ spec: { mutations: [{ patchType: value }] } }),
  ],
  [
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.ValidationRule.reason",
    customResourceDefinitions,
    "spec.validation.openAPIV3Schema.x-kubernetes-validations[0].reason",
    (value) => definitionWith({ reason: value }),
  ],
];

/** The values that are published for a field, or for the elements of a list. */
function publishedValues(field: string): readonly string[] {
  const dot = field.lastIndexOf(".");
  const schema = propertySchema(published(field.slice(0, dot)), field.slice(dot + 1));
  const one = schema?.type === "array" ? schema.items : schema;
  return (one?.type === "string" ? one.enum : undefined) ?? [];
}

function refused({ validate, kind }: Resource, path: string, fields: object): FieldError | undefined {
  const object: ApiObject = { apiVersion: "v1", kind, metadata: { name: "a" }, ...fields };
  return validate?.(object).find((error) => error.path === path && error.type === "FieldValueNotSupported");
}

describe("the values that validation allows are those that are published", () => {
  it.each(cases)("of %s", (field, resource, path, object) => {
    const values = publishedValues(field);
    expect(values.length).toBeGreaterThan(1);
    expect(values.filter((value) => refused(resource, path, object(value)) !== undefined)).toEqual([]);
    const listed = refused(resource, path, object("Nonsense"))?.message.split("supported values: ")[1];
    expect((JSON.parse(`[${listed}]`) as string[]).sort()).toEqual([...values].sort());
  });

  it("but for side effects of a webhook: v1 allows two of the four that releases before it had", () => {
    const path = "webhooks[0].sideEffects";
    const allowed = publishedValues(`${admission}.ValidatingWebhook.sideEffects`).filter(
      (value) => refused(validatingWebhookConfigurations, path, { webhooks: [{ sideEffects: value }] }) === undefined,
    );
    expect(allowed).toEqual(["None", "NoneOnDryRun"]);
  });
});
