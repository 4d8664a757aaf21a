import { describe, expect, it } from "vitest";
import type { ApiObject } from "../apimachinery/object.ts";
import { configMaps } from "../apis/config-map.ts";
import { namespaces } from "../apis/namespace.ts";
import { nodes } from "../apis/node.ts";
import type { Resource } from "../apis/resource.ts";
import { validatingAdmissionPolicies } from "../apis/validating-admission-policy.ts";
import type { AdmissionRequest } from "./admission.ts";
import {
  admissionNamespace,
  isExempt,
  matchedResource,
  requestMatch,
  type MatchLookups,
  matchesAnyRule,
  type RuleSubject,
} from "./request-match.ts";

const rule = { operations: ["*"], apiGroups: ["*"], apiVersions: ["*"], resources: ["*"] };

function labelled(labels: Readonly<Record<string, string>>): ApiObject {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a", labels } };
}

function request(fields: Partial<AdmissionRequest> = {}): AdmissionRequest {
  return {
    operation: "UPDATE",
    resource: configMaps,
    subresource: "",
    namespace: "red",
    name: "a",
    object: labelled({ now: "1" }),
    oldObject: labelled({ before: "1" }),
    user: { username: "u", groups: [] },
    dryRun: false,
    warn: () => undefined,
    annotate: () => undefined,
    ...fields,
  };
}

const lookups: MatchLookups = {
  namespaceOf: (name) =>
    name === "red" ? { apiVersion: "v1", kind: "Namespace", metadata: { name, labels: { team: "red" } } } : undefined,
  versionsOf: (resource) => [resource],
};

const teamRed = { matchLabels: { team: "red" } };

describe("a match", () => {
  it.each<[string, object, Partial<AdmissionRequest>, boolean]>([
    ["nothing but rules", {}, {}, true],
    ["the labels before", { objectSelector: { matchLabels: { before: "1" } } }, {}, true],
    ["the labels after", { objectSelector: { matchLabels: { now: "1" } } }, {}, true],
    ["labels of both together", { objectSelector: { matchLabels: { now: "1", before: "1" } } }, {}, false],
    [
      "the labels of what is deleted",
      { objectSelector: { matchLabels: { before: "1" } } },
      { object: undefined },
      true,
    ],
    [
      "labels where there is no object",
      { objectSelector: { matchLabels: { a: "1" } } },
      { object: undefined, oldObject: undefined },
      false,
    ],
    ["the namespace's labels", { namespaceSelector: teamRed }, {}, true],
    ["labels that the namespace does not have", { namespaceSelector: { matchLabels: { team: "blue" } } }, {}, false],
    [
      "a namespace, for a kind that lies in none",
      { namespaceSelector: teamRed },
      { resource: nodes, namespace: "" },
      true,
    ],
    ["what is excluded", { excludeResourceRules: [rule] }, {}, false],
    ["what is excluded by name", { excludeResourceRules: [{ ...rule, resourceNames: ["b"] }] }, {}, true],
  ])("by %s", (_what, stored, changed, expected) => {
    const found = matchedResource(requestMatch(stored, [rule]), request(changed), lookups);
    expect(found !== undefined).toBe(expected);
  });

  it("of a namespace goes by the labels it is to have, and of one that is deleted by those it has", () => {
    const match = requestMatch({ namespaceSelector: teamRed }, [rule]);
    const written = { resource: namespaces, namespace: "", name: "red" } as const;
    const made = request({ ...written, operation: "CREATE", object: labelled({ team: "blue" }), oldObject: undefined });
    const gone = request({ ...written, operation: "DELETE", object: undefined, oldObject: labelled({ team: "blue" }) });
    expect(matchedResource(match, made, lookups)).toBeUndefined();
    expect(matchedResource(match, gone, lookups)).toBe(namespaces);
  });

  it("in a namespace that is missing is NotFound, but only where the rules speak of the request", () => {
    const lost = request({ namespace: "nowhere" });
    const selects = { namespaceSelector: teamRed };
    expect(() => matchedResource(requestMatch(selects, [rule]), lost, lookups)).toThrow(
      'namespaces "nowhere" not found',
    );
    const others = [{ ...rule, resources: ["pods"] }];
    expect(matchedResource(requestMatch(selects, others), lost, lookups)).toBeUndefined();
  });

  it("whose selector cannot be read fails what its rules name, and nothing else", () => {
    const unreadable = { objectSelector: { matchExpressions: [{ key: "a", operator: "Like" }] } };
    expect(() => matchedResource(requestMatch(unreadable, [rule]), request(), lookups)).toThrow("cannot be read");
    const others = [{ ...rule, resources: ["pods"] }];
    expect(matchedResource(requestMatch(unreadable, others), request(), lookups)).toBeUndefined();
  });

  it("finds other versions unless it is Exact, the one asked for first", () => {
    const [v1, v2]: readonly Resource[] = [
      { ...configMaps, group: "x.example", version: "v1" },
      { ...configMaps, group: "x.example", version: "v2" },
    ];
    const versions: MatchLookups = { ...lookups, versionsOf: () => [v1 as Resource, v2 as Resource] };
    const asked = request({ resource: v2 as Resource });
    const only = (version: string): (typeof rule)[] => [{ ...rule, apiVersions: [version] }];
    expect(matchedResource(requestMatch({}, only("v1")), asked, versions)).toBe(v1);
    expect(matchedResource(requestMatch({ matchPolicy: "Exact" }, only("v1")), asked, versions)).toBeUndefined();
    expect(matchedResource(requestMatch({}, [rule]), asked, versions)).toBe(v2);
    expect(
      matchedResource(requestMatch({ excludeResourceRules: only("v1") }, [rule]), asked, versions),
    ).toBeUndefined();
  });

  it("without rules is everything", () => {
    expect(matchedResource(requestMatch({}, undefined), request(), lookups)).toBe(configMaps);
    expect(matchedResource(requestMatch({}, []), request(), lookups)).toBeUndefined();
  });
});

it("configurations of admission are exempt, and nothing that only shares a name with them", () => {
  expect(isExempt({ resource: validatingAdmissionPolicies })).toBe(true);
  expect(isExempt({ resource: { ...validatingAdmissionPolicies, group: "evil.example" } })).toBe(false);
  expect(isExempt({ resource: { ...configMaps, group: "admissionregistration.k8s.io" } })).toBe(false);
});

it("a namespace lies in itself", () => {
  expect(admissionNamespace({ resource: namespaces, namespace: "", name: "red" })).toBe("red");
  expect(admissionNamespace({ resource: nodes, namespace: "", name: "n" })).toBe("");
});

const pods = { group: "", version: "v1", plural: "pods", scope: "Namespaced" } as const;
const podRule = { operations: ["CREATE"], apiGroups: [""], apiVersions: ["v1"], resources: ["pods"] };

function subject(fields: Partial<RuleSubject> = {}): RuleSubject {
  return { operation: "CREATE", subresource: "", namespace: "ns", name: "p", resource: pods, ...fields };
}

describe("a rule", () => {
  it.each<[string, object, Partial<RuleSubject>, boolean]>([
    ["its own operation", {}, {}, true],
    ["another operation", {}, { operation: "UPDATE" }, false],
    ["every operation", { operations: ["*"] }, { operation: "DELETE" }, true],
    ["another group", { apiGroups: ["apps"] }, {}, false],
    ["one of several groups", { apiGroups: ["apps", ""] }, {}, true],
    ["every group", { apiGroups: ["*"] }, {}, true],
    ["another version", { apiVersions: ["v2"] }, {}, false],
    ["every version", { apiVersions: ["*"] }, {}, true],
    ["no part of the resource", {}, { subresource: "status" }, false],
    ["a part", { resources: ["pods/status"] }, { subresource: "status" }, true],
    ["a part, and not the whole", { resources: ["pods/status"] }, {}, false],
    ["all parts", { resources: ["pods/*"] }, { subresource: "log" }, true],
    // As in Kubernetes, `pods/*` means the whole as well.
    ["all parts and the whole", { resources: ["pods/*"] }, {}, true],
    ["one part of everything", { resources: ["*/scale"] }, { subresource: "scale" }, true],
    ["one part of everything, and not another", { resources: ["*/scale"] }, { subresource: "status" }, false],
    ["everything whole", { resources: ["*"] }, {}, true],
    ["everything whole, and no part", { resources: ["*"] }, { subresource: "status" }, false],
    ["everything", { resources: ["*/*"] }, { subresource: "status" }, true],
    ["everything, whole as well", { resources: ["*/*"] }, {}, true],
    ["a name that only begins alike", { resources: ["pod"] }, {}, false],
    ["both scopes", { scope: "*" }, {}, true],
    ["namespaced kinds", { scope: "Namespaced" }, {}, true],
    ["cluster kinds", { scope: "Cluster" }, {}, false],
    [
      "cluster kinds, a namespace among them",
      { scope: "Cluster", resources: ["*"] },
      { resource: { ...pods, plural: "namespaces", scope: "Cluster" } },
      true,
    ],
    ["an unknown scope", { scope: "Galaxy" }, {}, false],
    ["some names", { resourceNames: ["q", "p"] }, {}, true],
    ["other names", { resourceNames: ["q"] }, {}, false],
    ["nothing, where it lists nothing", { resources: [] }, {}, false],
    ["nothing, where it says nothing", { operations: undefined }, {}, false],
  ])("speaks of %s", (_what, fields, changed, expected) => {
    expect(matchesAnyRule([{ ...podRule, ...fields }], subject(changed))).toBe(expected);
  });

  it("is enough by itself, and none is not", () => {
    expect(matchesAnyRule([{ ...podRule, apiGroups: ["x"] }, podRule], subject())).toBe(true);
    expect(matchesAnyRule([], subject())).toBe(false);
  });
});
