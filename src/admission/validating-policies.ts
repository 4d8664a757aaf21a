import { StatusError, forbidden, reasonCodes, type StatusReason } from "../core/status.ts";
import type { Resource } from "../resources/resource.ts";
import type { AdmissionPlugin, AdmissionRequest } from "./admission.ts";
import type { Authorize } from "./authorization-book.ts";
import { judged, type NextTurn } from "./expression-inputs.ts";
import type { CompiledBinding, CompiledPolicy } from "./policy.ts";
import { bindingParams, type ParamLookup } from "./policy-params.ts";
import { judgePolicy, type PolicyFailure, type PolicyVerdict } from "./policy-verdict.ts";
import type { ConvertObject } from "./presented.ts";
import { admissionNamespace, isExempt, isNamespaceKind, matchedResource, type MatchLookups } from "./request-match.ts";

export interface PolicyPluginOptions {
  /** The policies in force, sorted by name, each with its bindings, sorted by name. */
  readonly policies: () => readonly BoundPolicy[];
  readonly lookups: MatchLookups;
  readonly params: ParamLookup;
  readonly convert: ConvertObject;
  readonly authorize: Authorize;
  readonly turn: NextTurn;
}

/** A policy that at least one binding puts into force. */
export interface BoundPolicy {
  readonly policy: CompiledPolicy;
  readonly bindings: readonly CompiledBinding[];
}

/** Why a request is refused, and by whom. */
interface Denial {
  readonly policy: CompiledPolicy;
  readonly binding: CompiledBinding | undefined;
  readonly message: string;
  readonly reason: string;
}

/** One policy that matches, and what was gathered so far. */
interface Judgement {
  readonly options: PolicyPluginOptions;
  readonly request: AdmissionRequest;
  readonly bound: BoundPolicy;
  readonly resource: Resource;
  readonly denials: Denial[];
  readonly annotations: Map<string, Set<string>>;
}

/** Judges by the policies in force. Source: apiserver pkg/admission/plugin/policy/validating. */
export function validatingPolicies(options: PolicyPluginOptions): AdmissionPlugin {
  return {
    name: "ValidatingAdmissionPolicy",
    validate: async (request) => {
      const policies = options.policies();
      if (policies.length === 0 || isExempt(request)) return;
      const denials: Denial[] = [];
      for (const bound of policies) {
        try {
          const resource = matchedResource(bound.policy.match, request, options.lookups);
          if (resource === undefined) continue;
          await judge({ options, request, bound, resource, denials, annotations: new Map() });
        } catch (error) {
          if (!(error instanceof StatusError)) throw error;
          misconfigured(denials, { policy: bound.policy, binding: undefined }, error.message);
        }
      }
      const [first] = denials;
      if (first !== undefined) throw refusal(request, first);
    },
  };
}

async function judge(judgement: Judgement): Promise<void> {
  const { bound, request, annotations } = judgement;
  for (const binding of bound.bindings) await judgeBinding(judgement, binding);
  for (const [key, values] of annotations) {
    request.annotate(`${bound.policy.name}/${key}`, [...values].join(", "));
  }
}

async function judgeBinding(judgement: Judgement, binding: CompiledBinding): Promise<void> {
  const { options, request, bound, resource, denials } = judgement;
  const { policy } = bound;
  if (binding.match !== undefined && matchedResource(binding.match, request, options.lookups) === undefined) return;
  const found = await bindingParams(policy, binding, {
    namespace: admissionNamespace(request),
    lookup: options.params,
  });
  if ("problem" in found) return misconfigured(denials, { policy, binding }, found.problem);
  const namespace =
    request.namespace === "" || isNamespaceKind(request) ? undefined : options.lookups.namespaceOf(request.namespace);
  for (const params of found.params) {
    const { convert, authorize, turn } = options;
    const subject = { request, resource, convert, authorize, turn, namespace, params };
    enact(judgement, binding, await judged(subject, (inputs) => judgePolicy(policy, inputs)));
  }
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

function misconfigured(denials: Denial[], by: Pick<Denial, "policy" | "binding">, why: string): void {
  if (by.policy.ignoresFailure) return;
  const what = by.binding === undefined ? "policy" : "binding";
  denials.push({ ...by, message: `failed to configure ${what}: ${why}`, reason: "" });
}

function refusal(request: AdmissionRequest, { policy, binding, message, reason }: Denial): StatusError {
  const by = binding === undefined ? "" : ` with binding '${binding.name}'`;
  const why = `ValidatingAdmissionPolicy '${policy.name}'${by} denied request: ${message}`;
  const said = forbidden(request.resource, request.name, why, [{ reason: "", message: why }]);
  const known: StatusReason = reason === "Forbidden" || reason === "RequestEntityTooLarge" ? reason : "Invalid";
  return new StatusError(known, said.message, {
    code: reasonCodes[known],
    ...(said.details === undefined ? {} : { details: said.details }),
  });
}
