import { type FieldError, invalid } from "../apimachinery/field-error.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import { ageColumn } from "./age-column.ts";
import { numberAt, stringAt } from "./json-fields.ts";
import { type Resource, storedVerbs } from "./resource.ts";
import { published } from "./schemas/published.ts";

/** Who holds something, until when: heartbeats of nodes and leader election. Source: api/coordination/v1 Lease. */
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

export const leases: Resource = {
  group: "coordination.k8s.io",
  version: "v1",
  kind: "Lease",
  plural: "leases",
  singular: "lease",
  shortNames: [],
  categories: [],
  scope: "Namespaced",
  verbs: storedVerbs,
  get schema() {
    return published("io.k8s.api.coordination.v1.Lease");
  },
  columns: [
    {
      name: "Holder",
      type: "string",
      description: "The identity that holds the lease.",
      cell: (object) => stringAt(object, "spec", "holderIdentity"),
    },
    ageColumn,
  ],
  subresources: {},
  names: "dns-subdomain",
  createOnUpdate: true,
  unconditionalUpdate: false,
  deleteReturnsObject: false,
  generation: false,
  validate: (object) => validateLease(object),
};

function validateLease(object: ApiObject): readonly FieldError[] {
  const seconds = numberAt(object, "spec", "leaseDurationSeconds");
  const transitions = numberAt(object, "spec", "leaseTransitions");
  return [
    ...(seconds === undefined || seconds > 0
      ? []
      : [invalid("spec.leaseDurationSeconds", seconds, "must be greater than 0")]),
    ...(transitions === undefined || transitions >= 0
      ? []
      : [invalid("spec.leaseTransitions", transitions, "must be greater than or equal to 0")]),
  ];
}
