import { type FieldError, invalid } from "../apimachinery/field-error.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import { ageColumn, textColumn, builtinKind } from "./builtin-kind.ts";
import { numberAt } from "./json-fields.ts";
import type { Resource } from "./resource.ts";
import { fieldErrors } from "./field-rules.ts";

/** The holder of a role and the time of its last renewal: heartbeats of nodes and leader election. Source: api/coordination/v1 Lease. */
export interface Lease extends ApiObject {
  readonly spec?: LeaseSpec;
}

export interface LeaseSpec {
  readonly holderIdentity?: string;
  readonly leaseDurationSeconds?: number;
  /** MicroTime, six decimals. */
  readonly acquireTime?: string;
  /** MicroTime, six decimals. */
  readonly renewTime?: string;
  readonly leaseTransitions?: number;
  readonly strategy?: string;
  readonly preferredHolder?: string;
}

export const leases: Resource = builtinKind({
  group: "coordination.k8s.io",
  kind: "Lease",
  scope: "Namespaced",
  schema: "io.k8s.api.coordination.v1.Lease",
  columns: [textColumn("Holder", "The identity that holds the lease.", "spec", "holderIdentity"), ageColumn],
  createOnUpdate: true,
  validate: validateLease,
});

function validateLease(object: ApiObject): readonly FieldError[] {
  const seconds = numberAt(object, "spec", "leaseDurationSeconds");
  const transitions = numberAt(object, "spec", "leaseTransitions");
  return fieldErrors(
    seconds !== undefined && seconds <= 0 && invalid("spec.leaseDurationSeconds", seconds, "must be greater than 0"),
    transitions !== undefined &&
      transitions < 0 &&
      invalid("spec.leaseTransitions", transitions, "must be greater than or equal to 0"),
  );
}
