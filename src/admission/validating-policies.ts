import { StatusError, forbidden, reasonCodes, type StatusReason } from "../apimachinery/status.ts";
import type { Pace } from "../apimachinery/step-budget.ts";
import type { AdmissionPlugin, AdmissionRequest } from "./admission.ts";
import { judged } from "./expression-inputs.ts";
import {
  type BoundPolicy,
  type CompiledBinding,
  type CompiledPolicy,
  type CompiledValidation,
  policyInvocations,
  type PolicyInvocation,
  type PolicyPluginOptions,
} from "./policy.ts";
import { isExempt, isNamespaceKind } from "./request-match.ts";
import { utf8Length } from "../apimachinery/utf8.ts";
import type { Steps } from "../apimachinery/steps.ts";
import {
  evaluateInSteps,
  newMeter,
  validationBudget,
  withVariables,
  type ExpressionInputs,
  type Meter,
  judgeConditions,
} from "./expression-run.ts";

type Options = PolicyPluginOptions<CompiledPolicy, CompiledBinding>;

/** Why a request is denied, and by which policy. */
interface Denial {
  readonly policy: CompiledPolicy;
  readonly binding: CompiledBinding | undefined;
  readonly message: string;
  readonly reason: string;
}

/** One policy, and its results so far. */
interface Judgement {
  readonly options: Options;
  readonly request: AdmissionRequest;
  readonly bound: BoundPolicy;
  readonly denials: Denial[];
  readonly annotations: Map<string, Set<string>>;
  /** The work since the last step, of all policies. */
  readonly pace: Pace;
}

/** Evaluates the policies in force. Source: apiserver pkg/admission/plugin/policy/validating. */
export function validatingPolicies(options: Options): AdmissionPlugin {
  return {
    name: "ValidatingAdmissionPolicy",
    validate: async (request) => {
      const policies = options.policies();
      if (policies.length === 0 || isExempt(request)) return;
      const denials: Denial[] = [];
      const pace: Pace = { places: 0 };
      for (const bound of policies) {
        await judge({ options, request, bound, denials, annotations: new Map(), pace });
      }
      const [first] = denials;
      if (first !== undefined) throw refusal(request, first);
    },
  };
}

async function judge(judgement: Judgement): Promise<void> {
  const { bound, request, annotations, denials, options } = judgement;
  const { policy } = bound;
  const { invocations, problems } = await policyInvocations(bound, request, options);
  for (const problem of policy.ignoresFailure ? [] : problems) denials.push({ policy, ...problem, reason: "" });
  try {
    for (const invocation of invocations) await judgeInvocation(judgement, invocation);
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    const message = `failed to configure policy: ${error.message}`;
    if (!policy.ignoresFailure) denials.push({ policy, binding: undefined, message, reason: "" });
  }
  for (const [key, values] of annotations) {
    request.annotate(`${policy.name}/${key}`, [...values].join(", "));
  }
}

async function judgeInvocation(
  judgement: Judgement,
  { binding, resource, params }: PolicyInvocation<CompiledBinding>,
): Promise<void> {
  const { options, request, bound, pace } = judgement;
  const { convert, authorize, turn, lookups } = options;
  const namespace =
    request.namespace === "" || isNamespaceKind(request) ? undefined : lookups.namespaceOf(request.namespace);
  const subject = { request, resource, convert, authorize, turn, namespace, params, pace };
  enact(judgement, binding, await judged(subject, (inputs) => judgePolicy(bound.policy, inputs)));
}

function enact(
  { request, bound, denials, annotations }: Judgement,
  binding: CompiledBinding,
  verdict: PolicyVerdict,
): void {
  const { policy } = bound;
  for (const failure of verdict.failures) {
    for (const action of binding.actions) {
      if (action === "Deny") denials.push({ policy, binding, message: failure.message, reason: failure.reason });
      if (action === "Audit") request.annotate(failureAnnotation, failureValue(policy, binding, failure));
      if (action === "Warn") {
        request.warn(
          `Validation failed for ValidatingAdmissionPolicy '${policy.name}' with binding '${binding.name}': ${failure.message}`,
        );
      }
    }
  }
  for (const { key, value } of verdict.annotations) {
    const values = annotations.get(key) ?? new Set();
    annotations.set(key, values.add(value));
  }
  for (const message of verdict.annotationErrors) denials.push({ policy, binding, message, reason: "" });
}

const failureAnnotation = "validation.policy.admission.k8s.io/validation_failure";

function failureValue(policy: CompiledPolicy, binding: CompiledBinding, { index, message }: PolicyFailure): string {
  return JSON.stringify([
    { message, policy: policy.name, binding: binding.name, expressionIndex: index, validationActions: binding.actions },
  ]);
}

function refusal(request: AdmissionRequest, { policy, binding, message, reason }: Denial): StatusError {
  const by = binding === undefined ? "" : ` with binding '${binding.name}'`;
  const why = `ValidatingAdmissionPolicy '${policy.name}'${by} denied request: ${message}`;
  const text = forbidden(request.resource, request.name, why, [{ reason: "", message: why }]);
  const known: StatusReason = reason === "Forbidden" || reason === "RequestEntityTooLarge" ? reason : "Invalid";
  return new StatusError(known, text.message, {
    code: reasonCodes[known],
    ...(text.details === undefined ? {} : { details: text.details }),
  });
}

/** One validation that is false, or whose evaluation failed where failurePolicy is Fail. */
export interface PolicyFailure {
  /** The index of the validation. */
  readonly index: number;
  readonly message: string;
  /** Empty for a failed expression. */
  readonly reason: string;
}

/** The result of a policy for a request with one set of parameters. */
export interface PolicyVerdict {
  readonly failures: readonly PolicyFailure[];
  readonly annotations: readonly { readonly key: string; readonly value: string }[];
  /** Why audit annotations failed; denies the request whatever the actions of the binding are. */
  readonly annotationErrors: readonly string[];
}

const nothing: PolicyVerdict = { failures: [], annotations: [], annotationErrors: [] };
/** The maximum size of the result of a message expression, in bytes. Source: apiserver pkg/apis/cel MaxEvaluatedMessageExpressionSizeBytes. */
const maxMessage = 5 * 1024;
const maxAnnotation = 10 * 1024;

/** Evaluates a policy, in steps. Throws nothing. Source: apiserver pkg/admission/plugin/policy/validating validator. */
export function* judgePolicy(policy: CompiledPolicy, inputs: ExpressionInputs): Steps<PolicyVerdict> {
  const failed = (message: string): PolicyVerdict =>
    policy.ignoresFailure ? nothing : { ...nothing, failures: [{ index: 0, message, reason: "" }] };
  const conditions = yield* judgeConditions(policy.conditions, inputs);
  if ("failed" in conditions) return failed(conditions.failed);
  if (!conditions.matches) return nothing;

  const meter = newMeter(validationBudget, inputs);
  const all = withVariables(policy.variables, inputs, meter);
  const failures: PolicyFailure[] = [];
  for (const [index, validation] of policy.validations.entries()) {
    const result = yield* evaluateInSteps(validation.expression, all, meter);
    if ("error" in result) {
      if (result.spent) return failed(result.error);
      if (!policy.ignoresFailure) failures.push({ index, message: result.error, reason: "" });
    } else if (result.value !== true) {
      const message = yield* messageOf(validation, all, meter);
      failures.push({ index, message, reason: validation.stored.reason ?? "Invalid" });
    }
  }
  return { failures, ...(yield* annotationsOf(policy, all)) };
}

/** The message: the result of its expression, the literal message, or the validation expression itself. */
function* messageOf(
  { messageExpression, stored }: CompiledValidation,
  inputs: ExpressionInputs,
  meter: Meter,
): Steps<string> {
  const made = messageExpression === undefined ? undefined : yield* evaluateInSteps(messageExpression, inputs, meter);
  if (made !== undefined && "value" in made && typeof made.value === "string") {
    const text = made.value.trim();
    if (text !== "" && utf8Length(text) <= maxMessage && !text.includes("\n")) return text;
  }
  const message = (stored.message ?? "").trim();
  return message === "" ? `failed expression: ${stored.expression.trim()}` : message;
}

function* annotationsOf(
  { annotations, ignoresFailure }: CompiledPolicy,
  inputs: ExpressionInputs,
): Steps<Pick<PolicyVerdict, "annotations" | "annotationErrors">> {
  const meter = newMeter(validationBudget, inputs);
  const made: { readonly key: string; readonly value: string }[] = [];
  const errors: string[] = [];
  for (const { key, value: expression } of annotations) {
    const result = yield* evaluateInSteps(expression, inputs, meter);
    if ("error" in result) {
      if (!ignoresFailure) errors.push(result.error);
    } else if (typeof result.value === "string" && result.value.trim() !== "") {
      made.push({ key, value: result.value.trim().slice(0, maxAnnotation) });
    }
  }
  return { annotations: made, annotationErrors: errors };
}
