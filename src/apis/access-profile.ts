import { forbiddenField, invalid, required, type FieldError } from "../apimachinery/field-error.ts";
import { dnsLabelProblems, pathSegmentProblems } from "../apimachinery/names.ts";
import type { ApiObject, Condition } from "../apimachinery/object.ts";
import { CelError } from "../policy/cel/cel-error.ts";
import { dynType } from "../policy/cel/types.ts";
import { compileKubernetesCel } from "../policy/kubernetes/compile-kubernetes-cel.ts";
import { type DecidedProfile, accessKind, accessStatus } from "./access-request.ts";
import { ageColumn, column, textColumn, builtinKind } from "./builtin-kind.ts";
import {
  fieldListAt,
  fieldsAt,
  isTrueAt,
  numberAt,
  stringAt,
  stringsAt,
  withField,
  type Fields,
} from "./json-fields.ts";
import { limitErrors } from "./limit-errors.ts";
import { cidrErrors, recoveryErrors, type RecoveryTerms } from "./recovery-policy.ts";
import type { Resource } from "./resource.ts";
import { accessProfileSchema } from "./schemas/access.ts";
import { nameErrors, fieldErrors, requiredName } from "./field-rules.ts";

/** The access that approval grants, and its conditions. */
export interface AccessProfile extends ApiObject {
  readonly spec: AccessProfileSpec;
  readonly status?: { readonly conditions?: readonly Condition[] };
}

export interface AccessRole {
  readonly kind: "Role" | "ClusterRole";
  readonly name: string;
  readonly clusterWide?: boolean;
}

export interface AccessProfileSpec {
  readonly namespace: string;
  readonly roles?: readonly AccessRole[];
  readonly tokenSeconds?: number;
  readonly audiences?: readonly string[];
  readonly bootstrapToken?: { readonly ttlSeconds?: number; readonly groups?: readonly string[] };
  readonly approvers?: number;
  readonly pendingSeconds?: number;
  readonly sourceNetworks?: readonly string[];
  readonly requirePossession?: boolean;
  readonly rules?: readonly {
    readonly expression: string;
    readonly effect: "Approve" | "Refuse";
    readonly message?: string;
  }[];
  readonly recovery?: RecoveryTerms;
}

/** The exact revision of a profile; an approval is valid for no other. */
export function decidedProfile({ metadata }: AccessProfile): DecidedProfile {
  const { name = "", uid = "", generation = 0 } = metadata;
  return { name, uid, generation };
}

/** Annotation of the default profile, which applies to requests that name none. */
export const defaultProfileAnnotation = "access.pratique.dev/is-default-profile";

/** Defaults of a profile. */
export const profileDefaults: {
  readonly tokenSeconds: number;
  readonly pendingSeconds: number;
  readonly approvers: number;
  readonly bootstrapTtlSeconds: number;
} = { tokenSeconds: 3600, pendingSeconds: 86_400, approvers: 1, bootstrapTtlSeconds: 900 };

const bootstrapGroupPrefix = "system:bootstrappers:";

export const accessProfiles: Resource = builtinKind({
  ...accessKind,
  kind: "AccessProfile",
  shortNames: ["aprof"],
  schema: accessProfileSchema,
  columns: [
    textColumn("Namespace", "Where the machine's account lies.", "spec", "namespace"),
    column(
      "Roles",
      "What is granted.",
      (object) =>
        fieldListAt(object, "spec", "roles")
          .map((role) => stringAt(role, "name"))
          .join(",") || "<none>",
    ),
    {
      ...column(
        "Approvers",
        "How many different users must approve.",
        (object) => numberAt(object, "spec", "approvers") ?? profileDefaults.approvers,
      ),
      type: "integer",
    },
    {
      ...column("Default", "Whether requests that name no profile are for this one.", isMarkedDefault),
      type: "boolean",
    },
    column(
      "Ready",
      "Whether the namespace and the roles that it names exist.",
      (object) => fieldListAt(object, "status", "conditions").map(readyText).join("") || "Unknown",
    ),
    ageColumn,
  ],
  subresources: { status: accessStatus },
  // Only the controller knows whether the objects named exist.
  prepareForCreate: (object) => withField(object, "status", undefined),
  prepareForUpdate: (incoming, stored) => withField(incoming, "status", stored["status"]),
  validate: (object) => [...limitErrors(accessProfileSchema, object), ...profileErrors(object)],
});

/** Whether all objects that a profile names exist, by its status. */
export const profileCondition = "Ready";

/** Reason on each profile where several are marked as default. */
export const defaultConflictCondition = "DefaultConflict";

/** Whether a profile is marked as default for requests that name none. */
export function isMarkedDefault({ metadata }: Pick<ApiObject, "metadata">): boolean {
  return metadata.annotations?.[defaultProfileAnnotation] === "true";
}

function readyText(condition: Fields): string {
  if (stringAt(condition, "type") !== profileCondition) return "";
  return stringAt(condition, "status") === "True" ? "True" : stringAt(condition, "reason");
}

function profileErrors(object: ApiObject): readonly FieldError[] {
  const spec = (object["spec"] ?? {}) as Fields;
  const namespace = stringAt(spec, "namespace");
  return fieldErrors(
    namespace === ""
      ? required("spec.namespace", "the namespace of the machines' accounts")
      : nameErrors("spec.namespace", namespace, dnsLabelProblems),
    fieldListAt(spec, "roles").flatMap((role, index) => roleErrors(role, `spec.roles[${index}]`)),
    cidrErrors(stringsAt(spec, "sourceNetworks"), "spec.sourceNetworks"),
    recoveryErrors(fieldsAt(spec, "recovery"), "spec.recovery"),
    spec["recovery"] !== undefined &&
      (numberAt(spec, "approvers") ?? 1) > 1 &&
      forbiddenField("spec.recovery", "where several people must approve, none of them can be left out later"),
    fieldListAt(spec, "rules").flatMap((rule, index) => ruleErrors(rule, `spec.rules[${index}]`)),
    stringsAt(spec, "bootstrapToken", "groups").flatMap((group, index) =>
      group.startsWith(bootstrapGroupPrefix)
        ? []
        : [invalid(`spec.bootstrapToken.groups[${index}]`, group, `must begin with ${bootstrapGroupPrefix}`)],
    ),
  );
}

function roleErrors(role: Fields, path: string): readonly FieldError[] {
  const kind = stringAt(role, "kind");
  const name = stringAt(role, "name");
  return fieldErrors(
    role["kind"] === undefined && required(`${path}.kind`, "Role or ClusterRole"),
    requiredName(`${path}.name`, name, pathSegmentProblems),
    kind === "Role" &&
      isTrueAt(role, "clusterWide") &&
      forbiddenField(`${path}.clusterWide`, "a Role holds in one namespace; name a ClusterRole"),
  );
}

function ruleErrors(rule: Fields, path: string): readonly FieldError[] {
  const expression = stringAt(rule, "expression");
  const known = rule["effect"] === undefined ? [required(`${path}.effect`, "Approve or Refuse")] : [];
  if (expression === "") return [...known, required(`${path}.expression`)];
  try {
    compileAccessRule(expression);
    return known;
  } catch (error) {
    if (!(error instanceof CelError)) throw error;
    return [...known, invalid(`${path}.expression`, expression, `compilation failed: ${error.message}`)];
  }
}

/** The variables of a rule of an AccessProfile: the request, the evidence that the API recorded, and the profile, as JSON. */
export interface AccessRuleFacts {
  readonly object: unknown;
  readonly evidence: unknown;
  readonly profile: unknown;
}

/** A compiled rule: returns whether it is true, or why that is unknown, and the cost, at most `budget`. Never throws. */
export type AccessRuleProgram = (
  facts: AccessRuleFacts,
  budget: number,
) => ({ readonly holds: boolean } | { readonly error: string }) & { readonly cost: number };

/** Maximum cost of all rules of a profile together for one request. Source: apiserver's PerCallLimit for admission policies. */
export const accessRulesBudget = 1_000_000;
const maxExpressionCharacters = 10_000;

/** Compiles a rule over `object`, `evidence` and `profile`, whose value must be a bool. @throws CelError */
export function compileAccessRule(expression: string): AccessRuleProgram {
  if (expression.length > maxExpressionCharacters)
    throw new CelError("size", `longer than ${maxExpressionCharacters} characters`);
  const variables = { object: dynType, evidence: dynType, profile: dynType };
  const program = compileKubernetesCel(expression, variables);
  if (program.type.kind !== "bool") throw new CelError("type", "must evaluate to bool");
  return ({ object, evidence, profile }, budget) => {
    const result = program.evaluate({ object, evidence, profile }, { budget });
    const { cost } = result;
    return "error" in result ? { error: result.error, cost } : { holds: result.value === true, cost };
  };
}
