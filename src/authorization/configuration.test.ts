import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readAuthorizationConfiguration } from "./configuration.ts";

const head = { apiVersion: "apiserver.config.k8s.io/v1", kind: "AuthorizationConfiguration" };
const types = ["Node", "RBAC", "Webhook"];
const connectionInfo = { type: "KubeConfigFile", kubeConfigFile: "/w.yaml" };
const least = { timeout: "3s", subjectAccessReviewVersion: "v1", failurePolicy: "Deny", connectionInfo };
const webhook = (change: object): object => ({
  authorizers: [{ type: "Webhook", name: "w", webhook: { ...least, ...change } }],
});

function errorsOf(change: object): readonly string[] {
  const read = readAuthorizationConfiguration({ ...head, ...change }, types);
  return read.authorizers === undefined ? read.errors.map(({ path, message }) => `${path}: ${message}`) : [];
}

describe("an AuthorizationConfiguration", () => {
  it("is read with the defaults of Kubernetes", () => {
    const authorizers = [{ type: "Node", name: "node" }, ...(webhook({}) as { authorizers: object[] }).authorizers];
    expect(readAuthorizationConfiguration({ ...head, authorizers }, types)).toEqual({
      authorizers: [
        { type: "Node", name: "node" },
        {
          type: "Webhook",
          name: "w",
          webhook: {
            authorizedMs: 300_000,
            unauthorizedMs: 30_000,
            timeoutMs: 3_000,
            version: "v1",
            onError: "deny",
            kubeconfigFile: "/w.yaml",
            matchConditions: [],
          },
        },
      ],
    });
  });

  it("keeps nothing of what it says shall not be kept", () => {
    const change = { authorizedTTL: "1m", cacheAuthorizedRequests: false, unauthorizedTTL: "1s" };
    expect(
      readAuthorizationConfiguration({ ...head, ...webhook(change) }, types).authorizers?.[0]?.webhook,
    ).toMatchObject({ authorizedMs: 0, unauthorizedMs: 1_000 });
  });

  const at = "authorizers[0].webhook";
  it.each<[object, string]>([
    [{ authorizers: [] }, "authorizers: Required value: at least one authorization mode must be defined"],
    [{ authorizers: [{ name: "a" }] }, "authorizers[0].type: Required value"],
    [
      { authorizers: [{ type: "Magic", name: "a" }] },
      'authorizers[0].type: Unsupported value: "Magic": supported values: "Node", "RBAC", "Webhook"',
    ],
    [
      {
        authorizers: [
          { type: "RBAC", name: "a" },
          { type: "RBAC", name: "b" },
        ],
      },
      'authorizers[1].type: Duplicate value: "RBAC"',
    ],
    [
      {
        authorizers: [
          { type: "RBAC", name: "a" },
          { type: "Node", name: "a" },
        ],
      },
      'authorizers[1].name: Duplicate value: "a"',
    ],
    [{ authorizers: [{ type: "RBAC" }] }, "authorizers[0].name: Required value"],
    [{ authorizers: [{ type: "Webhook", name: "a" }] }, `${at}: Required value: required when type=Webhook`],
    [
      { authorizers: [{ type: "RBAC", name: "a", webhook: {} }] },
      `${at}: Invalid value: "non-null": may only be specified when type=Webhook`,
    ],
    [{ authorisers: [] }, "authorisers: Forbidden: unknown field"],
    [{ kind: "Configuration", authorizers: [{ type: "RBAC", name: "a" }] }, "kind: Unsupported value"],
    [webhook({ timeout: "" }), `${at}.timeout: Required value`],
    [webhook({ timeout: "31s" }), `${at}.timeout: Invalid value: "31s": must be > 0s and <= 30s`],
    [webhook({ timeout: "soon" }), `${at}.timeout: Invalid value: "soon": must be > 0s and <= 30s`],
    [webhook({ authorizedTTL: "-1s" }), `${at}.authorizedTTL: Invalid value: "-1s": must be > 0s`],
    [webhook({ subjectAccessReviewVersion: "v2" }), `${at}.subjectAccessReviewVersion: Unsupported value: "v2"`],
    [webhook({ failurePolicy: "" }), `${at}.failurePolicy: Required value`],
    [webhook({ failurePolicy: "Allow" }), `${at}.failurePolicy: Unsupported value: "Allow"`],
    [webhook({ connectionInfo: {} }), `${at}.connectionInfo.type: Required value`],
    [webhook({ connectionInfo: { type: "InClusterConfig" } }), `${at}.connectionInfo.type: Forbidden`],
    [
      webhook({ connectionInfo: { ...connectionInfo, kubeConfigFile: "w.yaml" } }),
      `${at}.connectionInfo.kubeConfigFile: Invalid value: "w.yaml": must be an absolute path`,
    ],
    [
      webhook({ matchConditions: [{ expression: "true" }] }),
      `${at}.matchConditionSubjectAccessReviewVersion: Required value: required if match conditions are specified`,
    ],
    [
      webhook({
        matchConditionSubjectAccessReviewVersion: "v1",
        matchConditions: [{ expression: "true" }, { expression: "true" }],
      }),
      `${at}.matchConditions[1].expression: Duplicate value: "true"`,
    ],
    [
      webhook({ matchConditionSubjectAccessReviewVersion: "v1", matchConditions: [{ expression: "'a'" }] }),
      `${at}.matchConditions[0].expression: Invalid value: "'a'": must evaluate to bool`,
    ],
    [
      webhook({
        matchConditionSubjectAccessReviewVersion: "v1",
        matchConditions: Array.from({ length: 65 }, (_, index) => ({ expression: `${index} == 0` })),
      }),
      `${at}.matchConditions: Too many: 65`,
    ],
  ])("of %j is refused by its field", (change, message) => {
    const errors = errorsOf(change);
    expect(errors).toHaveLength(1);
    expect(errors[0]).toContain(message);
  });

  it("is read or refused, whatever it holds", () => {
    const value = fc.record({
      apiVersion: fc.constant(head.apiVersion),
      kind: fc.constant(head.kind),
      authorizers: fc.array(fc.dictionary(fc.string(), fc.jsonValue())),
    });
    fc.assert(
      fc.property(fc.oneof(fc.jsonValue(), fc.constant(head), value), (given) => {
        const read = readAuthorizationConfiguration(given, types);
        expect(read.authorizers === undefined ? read.errors.length : read.authorizers.length).toBeGreaterThan(0);
      }),
      { numRuns: 100 },
    );
  });
});
