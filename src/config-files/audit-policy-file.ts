import { fieldsSchema, listSchema } from "../apimachinery/configuration-file.ts";
import { decodedFile, firstProblem, quoted } from "./option-file.ts";
import {
  compileAuditPolicy,
  type AuditLevel,
  type AuditPolicy,
  type AuditRule,
  type AuditStage,
} from "../apiserver/audit/audit-policy.ts";
import { HubError } from "../apimachinery/hub-error.ts";

const text = { type: "string" } as const;
const texts = listSchema(text);
const shared = { omitStages: texts, omitManagedFields: { type: "boolean" } } as const;

const policySchema = fieldsSchema({
  ...shared,
  apiVersion: text,
  kind: text,
  metadata: { type: "any" },
  rules: listSchema(
    fieldsSchema({
      ...shared,
      level: text,
      users: texts,
      userGroups: texts,
      verbs: texts,
      resources: listSchema(fieldsSchema({ group: text, resources: texts, resourceNames: texts })),
      namespaces: texts,
      nonResourceURLs: texts,
    }),
  ),
});

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
 * Parses an audit.k8s.io/v1 Policy in YAML or JSON. Unknown fields and values are rejected; the message has their path. @throws HubError
 * options. Source: apiserver pkg/apis/audit/validation.
 */
export function parseAuditPolicy(text: string, file: string): AuditPolicy {
  const place = `--audit-policy-file ${file}`;
  const policy: WrittenPolicy = decodedFile(policySchema, text, place);
  const refuse = (problem: string): HubError => new HubError("options", `${place}: ${problem}`);
  const { apiVersion = "", kind = "" } = policy;
  if (apiVersion !== "audit.k8s.io/v1" || kind !== "Policy") {
    throw refuse(
      `must be of apiVersion audit.k8s.io/v1 and kind Policy, not ${quoted(apiVersion)} and ${quoted(kind)}`,
    );
  }
  const rules = policy.rules ?? [];
  if (rules.length === 0) throw refuse("rules: must hold at least one rule");
  const problem =
    stagesProblem("omitStages", policy.omitStages) ??
    firstProblem(rules, (rule, at) => ruleProblem(rule, `rules[${at}]`));
  if (problem !== undefined) throw refuse(problem);
  return compileAuditPolicy(rules.map((rule) => completed(rule, policy)));
}

const levels: readonly AuditLevel[] = ["Metadata", "None", "Request", "RequestResponse"];
const stages: readonly AuditStage[] = ["Panic", "RequestReceived", "ResponseComplete", "ResponseStarted"];

const unset = { users: [], userGroups: [], verbs: [], namespaces: [], nonResourceURLs: [] } as const;
const unsetResources = { group: "", resources: [], resourceNames: [] } as const;

function completed(rule: WrittenRule, policy: WrittenPolicy): AuditRule {
  const { level, resources = [], omitStages = [] } = rule;
  return {
    ...unset,
    ...rule,
    level: levels.find((one) => one === level) ?? "RequestResponse",
    resources: resources.map((one) => ({ ...unsetResources, ...one })),
    omitStages: stages.filter((stage) => omitStages.includes(stage) || policy.omitStages?.includes(stage) === true),
    omitManagedFields: rule.omitManagedFields ?? policy.omitManagedFields ?? false,
  };
}

function ruleProblem(rule: WrittenRule, at: string): string | undefined {
  const { resources = [], namespaces = [], nonResourceURLs = [] } = rule;
  const wrongLevel = levelProblem(`${at}.level`, rule.level);
  if (wrongLevel !== undefined) return wrongLevel;
  if (nonResourceURLs.length > 0 && resources.length + namespaces.length > 0) {
    return `${at}.nonResourceURLs: Invalid value: ${JSON.stringify(nonResourceURLs)}: rules cannot apply to both regular resources and non-resource URLs`;
  }
  return (
    firstProblem(nonResourceURLs, (url, index) => urlProblem(url, `${at}.nonResourceURLs[${index}]`)) ??
    firstProblem(resources, (one, index) => resourcesProblem(one, `${at}.resources[${index}]`)) ??
    stagesProblem(`${at}.omitStages`, rule.omitStages)
  );
}

function levelProblem(at: string, level = ""): string | undefined {
  if (level === "") return `${at}: Required value`;
  return levels.some((one) => one === level) ? undefined : unsupported(at, level, levels);
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
  return firstProblem(omitted, (stage, index) =>
    stages.some((one) => one === stage) ? undefined : unsupported(`${at}[${index}]`, stage, stages),
  );
}

function unsupported(at: string, value: string, values: readonly string[]): string {
  return `${at}: Unsupported value: ${quoted(value)}: supported values: ${values.map(quoted).join(", ")}`;
}
