import { changedConditions } from "../object-status.ts";
import type { ControllerOptions } from "../shared-informers.ts";
import type { Condition, ObjectKey } from "../../apimachinery/object.ts";
import { approvalOf, type Approval } from "../../apis/custom/crd-approval.ts";
import type { CustomResourceDefinition } from "../../apis/custom/crd-object.ts";
import { done, type Controller, type Outcome } from "../controller.ts";
import { apiserverAccount, customResourceDefinitions } from "../kinds.ts";

const reasons: Readonly<Record<Approval["state"], string>> = {
  missing: "MissingAnnotation",
  invalid: "InvalidAnnotation",
  bypassed: "UnapprovedAnnotation",
  approved: "ApprovedAnnotation",
};

/** Says of definitions in groups of Kubernetes whether they were approved. Source: apiextensions-apiserver pkg/controller/apiapproval. */
export function crdApproval(options: ControllerOptions): Controller {
  const { client, reader } = options.informers.as(apiserverAccount);
  const definitions = reader({ resource: customResourceDefinitions });

  async function reconcile(key: ObjectKey): Promise<Outcome> {
    const crd = definitions.get(key) as CustomResourceDefinition | undefined;
    const approval = crd === undefined ? undefined : approvalOf(crd);
    if (crd === undefined || approval === undefined) return done;
    const condition: Condition = {
      type: "KubernetesAPIApprovalPolicyConformant",
      status: approval.state === "approved" ? "True" : "False",
      reason: reasons[approval.state],
      message: approval.why,
    };
    const conditions = changedConditions(crd, condition, options.clock.now());
    if (conditions === undefined) return done;
    const next = { ...crd, status: { ...crd.status, conditions } };
    await client.update(customResourceDefinitions, next, { subresource: "status" });
    return done;
  }

  return {
    name: "crd-approval",
    serviceAccount: apiserverAccount,
    watches: [{ resource: customResourceDefinitions }],
    concurrency: 1,
    reconcile,
  };
}
