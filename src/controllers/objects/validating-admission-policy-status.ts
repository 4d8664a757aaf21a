import { ignoreReasons } from "../../client/api-errors.ts";
import { finishInTurns } from "../../apimachinery/steps.ts";
import type { ObjectKey } from "../../apimachinery/object.ts";
import { numberAt } from "../../apis/json-fields.ts";
import type { Resource } from "../../apis/resource.ts";
import { expressionWarnings } from "../../apis/type-checking.ts";
import type { ValidatingAdmissionPolicy } from "../../apis/validating-admission-policy.ts";
import { done, type Controller, type Outcome } from "../controller.ts";
import { validatingAdmissionPolicies } from "../kinds.ts";
import type { SharedInformers } from "../shared-informers.ts";

const serviceAccount = "validatingadmissionpolicy-status-controller";

export interface ValidatingAdmissionPolicyStatusOptions {
  readonly informers: SharedInformers;
  /** The served kinds. */
  readonly resources: () => readonly Resource[];
  /** Yields between the parts of a check, so that other work is not blocked. */
  readonly turn: () => Promise<void>;
}

/**
 * Checks the expressions of each new generation of a policy against the kinds that it matches, and writes type errors to
 * `status.typeChecking`. Source: kubernetes pkg/controller/validatingadmissionpolicystatus.
 */
export function validatingAdmissionPolicyStatus(options: ValidatingAdmissionPolicyStatusOptions): Controller {
  const { resources, turn } = options;
  const { client, reader } = options.informers.as(serviceAccount);
  const policies = reader({ resource: validatingAdmissionPolicies });

  async function reconcile({ name }: ObjectKey): Promise<Outcome> {
    const policy: ValidatingAdmissionPolicy | undefined = policies.get({ name });
    const generation = policy?.metadata.generation ?? 0;
    if (policy === undefined || generation <= (numberAt(policy, "status", "observedGeneration") ?? 0)) return done;
    const warnings = await finishInTurns(expressionWarnings(policy.spec ?? {}, resources()), turn);
    const typeChecking = { expressionWarnings: warnings.length === 0 ? null : warnings };
    const status = { observedGeneration: generation, typeChecking };
    const write = client.patch(validatingAdmissionPolicies, { name }, { status }, { subresource: "status" });
    await ignoreReasons(write, "NotFound");
    return done;
  }

  return {
    name: "validatingadmissionpolicy-status",
    serviceAccount,
    watches: [{ resource: validatingAdmissionPolicies }],
    concurrency: 1,
    reconcile,
  };
}
