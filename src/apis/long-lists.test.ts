import { afterEach, expect, test, vi } from "vitest";
import type { FieldError } from "../apimachinery/field-error.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import { validateRules } from "./admission-match.ts";
import { validatingWebhookConfigurations } from "./admission-webhook.ts";
import { csiNodes } from "./csi-node.ts";
import { crdErrors } from "./custom/crd-validation.ts";
import { validateConditionTypes } from "./flow-schema.ts";

afterEach(() => void vi.restoreAllMocks());

const object = (rest: object): ApiObject => ({ apiVersion: "v1", kind: "X", metadata: { name: "x" }, ...rest });

const rule = { operations: ["*"], apiGroups: ["*"], apiVersions: ["*"], resources: ["*"] };

/** Checks of lists of texts, none of which may stand there twice. */
const checks: Readonly<Record<string, (list: readonly string[]) => readonly FieldError[]>> = {
  "names of the resources of a rule": (list) =>
    validateRules({ rules: [{ ...rule, resourceNames: list }] }, "rules", ""),
  "versions of the review of a webhook": (admissionReviewVersions) => {
    const webhook = { name: "a.b.c", sideEffects: "None", clientConfig: { url: "https://a" }, admissionReviewVersions };
    return validatingWebhookConfigurations.validate?.(object({ webhooks: [webhook] })) ?? [];
  },
  "versions of the review of a conversion": (conversionReviewVersions) => {
    const webhook = { clientConfig: { url: "https://a" }, conversionReviewVersions };
    const errors = crdErrors(object({ spec: { conversion: { strategy: "Webhook", webhook } } }));
    return errors.filter(({ path }) => path.startsWith("spec.conversion"));
  },
  "drivers of a node": (list) =>
    csiNodes.validate?.(object({ spec: { drivers: list.map((name) => ({ name, nodeID: "n" })) } })) ?? [],
  "types of conditions": (list) =>
    validateConditionTypes(object({ status: { conditions: list.map((type) => ({ type })) } })),
};

test.each(Object.entries(checks))(
  "20,000 %s are not compared with each other, and the last is found twice",
  (_, check) => {
    const list = ["v1", ...Array.from({ length: 20_000 }, (_name, index) => `n${index}`), "v1"];
    const search = vi.spyOn(Array.prototype, "indexOf");
    const errors = check(list);
    const { contexts, results } = search.mock;
    let steps = 0;
    for (const [call, { value }] of results.entries()) {
      steps += Number(value) < 0 ? (contexts[call] as readonly unknown[]).length : Number(value) + 1;
    }
    search.mockRestore();
    expect(steps).toBeLessThan(10 * list.length);
    expect(errors).toHaveLength(1);
    expect(errors[0]?.message).toMatch(/^Duplicate value: "v1"|^Invalid value: "v1": duplicate version/);
  },
);
