import { DecodeError } from "../apimachinery/decode-error.ts";
import { decodeObject } from "../apimachinery/decode.ts";
import type { ArraySchema, ObjectSchema } from "../apimachinery/schema.ts";
import { loadYaml, YamlError } from "../serializer/yaml/bounded-yaml.ts";
import {
  compileAuditPolicy,
  type AuditLevel,
  type AuditPolicy,
  type AuditRule,
  type AuditStage,
} from "../apiserver/audit/audit-policy.ts";
import { HubError } from "../apimachinery/hub-error.ts";

/** What a policy may be at most, in characters. */
const maxCharacters = 1 << 20;

const texts: ArraySchema = { type: "array", items: { type: "string" } };
const flag = { schema: { type: "boolean" } } as const;
const list = { schema: texts } as const;

const ruleSchema: ObjectSchema = {
  type: "object",
  properties: {
    level: { schema: { type: "string" } },
    users: list,
    userGroups: list,
    verbs: list,
    resources: {
      schema: {
        type: "array",
        items: {
          type: "object",
          properties: { group: { schema: { type: "string" } }, resources: list, resourceNames: list },
        },
      },
    },
    namespaces: list,
    nonResourceURLs: list,
    omitStages: list,
    omitManagedFields: flag,
  },
};

const policySchema: ObjectSchema = {
  type: "object",
  properties: {
    apiVersion: { schema: { type: "string" } },
    kind: { schema: { type: "string" } },
    metadata: { schema: { type: "any" } },
    omitStages: list,
    omitManagedFields: flag,
    rules: { schema: { type: "array", items: ruleSchema } },
  },
};

type Written<T> = { readonly [K in keyof T]?: T[K] };

interface WrittenRule extends Written<Omit<AuditRule, "level" | "omitStages" | "resources">> {
  readonly level?: string;
  readonly omitStages?: readonly string[];
  readonly resources?: readonly Written<AuditRule["resources"][number]>[];
}

interface WrittenPolicy {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly omitStages?: readonly string[];
  readonly omitManagedFields?: boolean;
  readonly rules?: readonly WrittenRule[];
}

/**
 * Reads an audit.k8s.io/v1 Policy in YAML or JSON. Unknown fields and values are refused; the message names their place.
 * @throws HubError options. Source: apiserver pkg/apis/audit/validation.
 */
export function parseAuditPolicy(text: string, file: string): AuditPolicy {
  const policy = written(text, file);
  const refuse = (problem: string): HubError => new HubError("options", `--audit-policy-file ${file}: ${problem}`);
  const { apiVersion = "", kind = "" } = policy;
  if (apiVersion !== "audit.k8s.io/v1" || kind !== "Policy") {
    throw refuse(
      `must be of apiVersion audit.k8s.io/v1 and kind Policy, not ${quoted(apiVersion)} and ${quoted(kind)}`,
    );
  }
  const rules = policy.rules ?? [];
  if (rules.length === 0) throw refuse("rules: must hold at least one rule");
  const problem =
    stagesProblem("omitStages", policy.omitStages) ?? first(rules, (rule, at) => ruleProblem(rule, `rules[${at}]`));
  if (problem !== undefined) throw refuse(problem);
  return compileAuditPolicy(rules.map((rule) => completed(rule, policy)));
}

function written(text: string, file: string): WrittenPolicy {
  try {
    const { object, unknown } = decodeObject(policySchema, loadYaml(text, { maxCharacters, numbers: "number" }));
    if (unknown.length === 0) return object;
    throw new HubError("options", `--audit-policy-file ${file}: unknown field ${quoted(unknown[0] ?? "")}`);
  } catch (error) {
    if (error instanceof DecodeError) {
      const place = error.path === "" ? "" : `${error.path}: `;
      throw new HubError("options", `--audit-policy-file ${file}: ${place}${error.message}`, { cause: error });
    }
    if (!(error instanceof YamlError)) throw error;
    throw new HubError("options", `--audit-policy-file ${file}: ${error.message}`, { cause: error });
  }
}

const levels: readonly AuditLevel[] = ["Metadata", "None", "Request", "RequestResponse"];
const stages: readonly AuditStage[] = ["Panic", "RequestReceived", "ResponseComplete", "ResponseStarted"];

function completed(rule: WrittenRule, policy: WrittenPolicy): AuditRule {
  const { level, resources = [], omitStages = [] } = rule;
  return {
    level: levels.find((one) => one === level) ?? "RequestResponse",
    users: rule.users ?? [],
    userGroups: rule.userGroups ?? [],
    verbs: rule.verbs ?? [],
    resources: resources.map((one) => ({
      group: one.group ?? "",
      resources: one.resources ?? [],
      resourceNames: one.resourceNames ?? [],
    })),
    namespaces: rule.namespaces ?? [],
    nonResourceURLs: rule.nonResourceURLs ?? [],
    omitStages: stages.filter((stage) => omitStages.includes(stage) || policy.omitStages?.includes(stage) === true),
    omitManagedFields: rule.omitManagedFields ?? policy.omitManagedFields ?? false,
  };
}

function ruleProblem(rule: WrittenRule, at: string): string | undefined {
  const { level = "", resources = [], namespaces = [], nonResourceURLs = [] } = rule;
  if (level === "") return `${at}.level: Required value`;
  if (!levels.some((one) => one === level)) return unsupported(`${at}.level`, level, levels);
  if (nonResourceURLs.length > 0 && resources.length + namespaces.length > 0) {
    return `${at}.nonResourceURLs: Invalid value: ${JSON.stringify(nonResourceURLs)}: rules cannot apply to both regular resources and non-resource URLs`;
  }
  return (
    first(nonResourceURLs, (url, index) => urlProblem(url, `${at}.nonResourceURLs[${index}]`)) ??
    first(resources, (one, index) => resourcesProblem(one, `${at}.resources[${index}]`)) ??
    stagesProblem(`${at}.omitStages`, rule.omitStages)
  );
}

function urlProblem(url: string, at: string): string | undefined {
  if (url === "*") return undefined;
  if (!url.startsWith("/")) {
    return `${at}: Invalid value: ${quoted(url)}: non-resource URL rules must begin with a '/' character`;
  }
  if (!url.slice(0, -1).includes("*")) return undefined;
  return `${at}: Invalid value: ${quoted(url)}: non-resource URL wildcards '*' must be the final character of the rule`;
}

const groupForm = /^[a-z\d]([a-z\d.-]{0,251}[a-z\d])?$/;

function resourcesProblem(
  { group = "", resources = [], resourceNames = [] }: Written<AuditRule["resources"][number]>,
  at: string,
): string | undefined {
  if (group !== "" && !groupForm.test(group))
    return `${at}.group: Invalid value: ${quoted(group)}: must be the name of a group without a version, such as apps`;
  if (resourceNames.length === 0 || resources.length > 0) return undefined;
  return `${at}.resourceNames: Invalid value: ${JSON.stringify(resourceNames)}: using resourceNames requires at least one resource`;
}

function stagesProblem(at: string, omitted: readonly string[] = []): string | undefined {
  return first(omitted, (stage, index) =>
    stages.some((one) => one === stage) ? undefined : unsupported(`${at}[${index}]`, stage, stages),
  );
}

function unsupported(at: string, value: string, values: readonly string[]): string {
  return `${at}: Unsupported value: ${quoted(value)}: supported values: ${values.map(quoted).join(", ")}`;
}

function quoted(text: string): string {
  return JSON.stringify(text.slice(0, 200));
}

function first<T>(
  values: readonly T[],
  problemOf: (value: T, index: number) => string | undefined,
): string | undefined {
  for (const [index, value] of values.entries()) {
    const problem = problemOf(value, index);
    if (problem !== undefined) return problem;
  }
  return undefined;
}
