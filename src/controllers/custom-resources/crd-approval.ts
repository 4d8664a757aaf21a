import { setCondition } from "../../apimachinery/conditions.ts";
import { rfc3339, type Clock } from "../../apimachinery/clock.ts";
import type { Condition, ObjectKey } from "../../apimachinery/object.ts";
import { approvalOf, type Approval, type CustomResourceDefinition } from "../../apis/custom/crd-object.ts";
import { done, type Controller, type Outcome } from "../controller.ts";
import { apiserverAccount, customResourceDefinitions } from "../kinds.ts";
import type { SharedInformers } from "../shared-informers.ts";

const reasons: Readonly<Record<Approval["state"], string>> = {
  missing: "MissingAnnotation",
  invalid: "InvalidAnnotation",
  bypassed: "UnapprovedAnnotation",
  approved: "ApprovedAnnotation",
};

/** Says of definitions in groups of Kubernetes whether they were approved. Source: apiextensions-apiserver pkg/controller/apiapproval. */
export function crdApproval(options: { readonly informers: SharedInformers; readonly clock: Clock }): Controller {
  const { clock } = options;
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
    const before = crd.status?.conditions ?? [];
    const conditions = setCondition(before, condition, rfc3339(clock.now()));
    if (conditions === before) return done;
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
