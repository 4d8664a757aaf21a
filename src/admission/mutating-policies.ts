import { finishInTurns, type Steps } from "../apimachinery/steps.ts";
import { jsonEqual } from "../apimachinery/equal.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import type { Pace } from "../apimachinery/step-budget.ts";
import { StatusError, forbidden, notFound, type StatusReason } from "../apimachinery/status.ts";
import { kindOf } from "../apis/resource.ts";
import {
  type AdmissionPlugin,
  type AdmissionRequest,
  type MutationRound,
  newReinvocation,
  requireReinvocation,
  type Reinvocation,
} from "./admission.ts";
import { judged, type Case } from "./expression-inputs.ts";
import {
  evaluateInSteps,
  newMeter,
  validationBudget,
  withVariables,
  type ExpressionInputs,
  judgeConditions,
} from "./expression-run.ts";
import {
  type BindingTarget,
  type CompiledMutatingPolicy,
  type CompiledMutation,
  policyInvocations,
  type PolicyInvocation,
  type PolicyPluginOptions,
} from "./policy.ts";
import { mutationPatch, patchProblem, patchedObject, type MutationPatch } from "./policy-patch.ts";
import { changedObject, isExempt, isNamespaceKind } from "./request-match.ts";

type Options = PolicyPluginOptions<CompiledMutatingPolicy, BindingTarget>;

/** Why a policy rejects a request that it cannot mutate. */
interface Failure {
  readonly policy: string;
  readonly binding: string | undefined;
  readonly message: string;
  readonly reason: StatusReason;
}

interface Invocation extends PolicyInvocation<BindingTarget> {
  readonly policy: CompiledMutatingPolicy;
}

/** One pass of a request through the policies. */
interface Passage {
  readonly options: Options;
  readonly round: MutationRound;
  readonly memory: Reinvocation;
  readonly failures: Failure[];
  readonly namespace: ApiObject | undefined;
  /** The work since the last step, for all policies. */
  readonly pace: Pace;
  /** The object after the mutations so far. */
  request: AdmissionRequest;
}

/** Mutates by the policies in force. Source: apiserver pkg/admission/plugin/policy/mutating. */
export function mutatingPolicies(options: Options): AdmissionPlugin {
  const memories = new WeakMap<object, Reinvocation>();
  return {
    name: "MutatingAdmissionPolicy",
    mutate: async (request, round) => {
      const policies = options.policies();
      if (policies.length === 0 || request.operation === "DELETE" || isExempt(request)) return undefined;
      const failures: Failure[] = [];
      const invocations: Invocation[] = [];
      // All policies are matched before the first mutates.
      for (const bound of policies) {
        const { policy } = bound;
        const found = await policyInvocations(bound, request, options);
        invocations.push(...found.invocations.map((invocation) => ({ ...invocation, policy })));
        for (const { binding, message } of policy.ignoresFailure ? [] : found.problems) {
          failures.push({ policy: policy.name, binding: binding?.name, message, reason: "Forbidden" });
        }
      }
      const memory = memories.get(round.request) ?? newReinvocation();
      memories.set(round.request, memory);
      const object = await mutated(invocations, { options, round, memory, failures, request });
      const [first] = failures;
      if (first !== undefined) throw refusal(request, first, failures);
      return object;
    },
  };
}

async function mutated(
  invocations: readonly Invocation[],
  given: Omit<Passage, "namespace" | "pace">,
): Promise<ApiObject | undefined> {
  const { request, round, memory } = given;
  if (invocations.length === 0) return request.object;
  const passage: Passage = { ...given, namespace: namespaceOf(request, given.options), pace: { places: 0 } };
  if (round.number === 1 && !jsonEqual(memory.last, request.object)) requireReinvocation(memory);
  let isPatched = false;
  for (const invocation of invocations) isPatched = (await invoke(passage, invocation)) || isPatched;
  if (isPatched) {
    requireReinvocation(memory);
    round.again();
  }
  memory.last = passage.request.object;
  return passage.request.object;
}

/** @throws StatusError NotFound where the namespace is missing. */
function namespaceOf(request: AdmissionRequest, { lookups }: Options): ApiObject | undefined {
  if (request.namespace === "" || isNamespaceKind(request)) return undefined;
  const namespace = lookups.namespaceOf(request.namespace);
  if (namespace === undefined) throw notFound({ group: "", plural: "namespaces" }, request.namespace);
  return namespace;
}

/** Mutates by one policy, with one binding and one parameter; returns whether a patch was applied. */
async function invoke(passage: Passage, invocation: Invocation): Promise<boolean> {
  const { memory, round, failures } = passage;
  const { policy } = invocation;
  const conditions = await judged(subjectOf(passage, invocation), (inputs) =>
    judgeConditions(policy.conditions, inputs),
  );
  if ("failed" in conditions) {
    fail(failures, invocation, conditions.failed);
    return false;
  }
  const id = idOf(invocation);
  if (!conditions.matches || (round.number === 1 && !memory.repeated.has(id))) return false;
  const before = passage.request.object;
  let isPatched = false;
  for (const mutation of policy.mutations) isPatched = (await mutate(passage, invocation, mutation)) || isPatched;
  if (!jsonEqual(passage.request.object, before)) requireReinvocation(memory);
  if (policy.reinvoked) memory.candidates.add(id);
  return isPatched;
}

function idOf({ policy, binding, params }: Invocation): string {
  return JSON.stringify([policy.name, binding.name, params?.metadata.namespace, params?.metadata.name]);
}

function subjectOf({ options, request, namespace, pace }: Passage, { resource, params }: Invocation): Case {
  const { convert, authorize, turn } = options;
  return { request, resource, convert, authorize, turn, namespace, params, pace };
}

/** Evaluates one mutation and applies its patch; returns whether it was applied. @throws StatusError according to failurePolicy. */
async function mutate(passage: Passage, invocation: Invocation, mutation: CompiledMutation): Promise<boolean> {
  const { options, request, failures, pace } = passage;
  const { object } = request;
  if (object === undefined) return false;
  if (request.operation === "CONNECT") throw unknownKind(request, invocation);
  const subject = subjectOf(passage, invocation);
  const turn = (): Promise<void> => options.turn(request.user.username);
  try {
    const patch = await judged(subject, (inputs) => evaluated(invocation.policy, mutation, inputs));
    if ("error" in patch) {
      fail(failures, invocation, patch.error);
      return false;
    }
    const next = await changedObject(subject, object, (presented, kind) =>
      finishInTurns(patchedObject(patch, { object: presented, kind }, pace), turn),
    );
    passage.request = { ...request, object: next };
    return true;
  } catch (error) {
    const problem = patchProblem(error);
    if (problem === undefined) throw error;
    fail(failures, invocation, problem);
    return false;
  }
}

/** Variables are evaluated again for each mutation, since they may use what the previous one has changed. */
function* evaluated(
  { variables }: CompiledMutatingPolicy,
  { field, expression }: CompiledMutation,
  inputs: ExpressionInputs,
): Steps<MutationPatch | { readonly error: string }> {
  const meter = newMeter(validationBudget, inputs);
  const result = yield* evaluateInSteps(expression, withVariables(variables, inputs, meter), meter);
  return "error" in result ? result : yield* mutationPatch(field, result.value, meter.pace);
}

function fail(failures: Failure[], { policy, binding }: Invocation, message: string): void {
  if (policy.ignoresFailure) return;
  failures.push({ policy: policy.name, binding: binding.name, message, reason: "Invalid" });
}

/** Kubernetes has no schema for the options of a connection. */
function unknownKind({ subresource }: AdmissionRequest, { resource }: Invocation): StatusError {
  const { group, version, kind } = kindOf(resource, resource.subresources[subresource]);
  const why = "There can be a delay between when CustomResourceDefinitions are created and when they are available.";
  const name = `${group}/${version}, Kind=${kind}`;
  return new StatusError("ServiceUnavailable", `Resource kind ${name} not found. ${why}`);
}

/** Source: apiserver pkg/admission/plugin/policy/generic Dispatch. */
function refusal(request: AdmissionRequest, { reason }: Failure, failures: readonly Failure[]): StatusError {
  const name = request.nameIsGenerated === true ? (request.object?.metadata.generateName ?? "") : request.name;
  const causes = failures.map((failure) => ({ reason: "", message: refusalText(failure) }));
  const { details } = forbidden(request.resource, name, "", causes);
  return new StatusError(reason, causes[0]?.message ?? "", {
    code: 403,
    ...(details === undefined ? {} : { details }),
  });
}

function refusalText({ policy, binding, message }: Failure): string {
  const by = binding === undefined ? JSON.stringify(policy) : `'${policy}' with binding '${binding}'`;
  return `policy ${by} denied request: ${message}`;
}
