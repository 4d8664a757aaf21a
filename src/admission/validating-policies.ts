import { StatusError, forbidden, reasonCodes, type StatusReason } from "../apimachinery/status.ts";
import type { Pace } from "../apimachinery/step-budget.ts";
import type { AdmissionPlugin, AdmissionRequest } from "./admission.ts";
import { judged } from "./expression-inputs.ts";
import type { BoundPolicy, CompiledBinding, CompiledPolicy } from "./policy.ts";
import { policyInvocations, type PolicyInvocation, type PolicyPluginOptions } from "./policy-invocations.ts";
import { judgePolicy, type PolicyFailure, type PolicyVerdict } from "./policy-verdict.ts";
import { isExempt, isNamespaceKind } from "./request-match.ts";

type Options = PolicyPluginOptions<CompiledPolicy, CompiledBinding>;

/** Why a request is refused, and by whom. */
interface Denial {
  readonly policy: CompiledPolicy;
  readonly binding: CompiledBinding | undefined;
  readonly message: string;
  readonly reason: string;
}

/** One policy, and what was gathered so far. */
interface Judgement {
  readonly options: Options;
  readonly request: AdmissionRequest;
  readonly bound: BoundPolicy;
  readonly denials: Denial[];
  readonly annotations: Map<string, Set<string>>;
  /** How much was evaluated since the last step, of all policies. */
  readonly pace: Pace;
}

/** Judges by the policies in force. Source: apiserver pkg/admission/plugin/policy/validating. */
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
