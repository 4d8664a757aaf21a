import { authenticatedGroup, type UserInfo } from "../../apimachinery/user.ts";
import { StatusError } from "../../apimachinery/status.ts";
import type { RequestInfo } from "../request-info.ts";

/** What the body of one request may hold at most; known before any of it is read. */
export interface RequestLimits {
  readonly maxBytes: number;
  /** JSON values of any kind, whatever the body is written in; keys are not counted. Work on an object grows with them. */
  readonly maxValues: number;
}

interface LimitsRow extends RequestLimits {
  /** A user without this group is limited by this row. */
  readonly unlessGroup?: string;
  /** Members of this group are limited by this row. */
  readonly group?: string;
  /** API groups of the path. */
  readonly apiGroups?: ReadonlySet<string>;
  readonly resource?: string;
  readonly verbs?: ReadonlySet<string>;
  readonly mediaType?: string;
}

const kibibyte = 1024;
const mebibyte = 1024 * kibibyte;

/** The first row that fits decides; the last one fits everything. */
const rows: readonly LimitsRow[] = [
  { unlessGroup: authenticatedGroup, maxBytes: 32 * kibibyte, maxValues: 1000 },
  { group: "system:bootstrappers", maxBytes: 64 * kibibyte, maxValues: 1000 },
  { verbs: new Set(["delete", "deletecollection"]), maxBytes: 64 * kibibyte, maxValues: 1000 },
  {
    // Questions, which are asked without a right to write anything. A review names groups and extra values of one user.
    apiGroups: new Set(["authentication.k8s.io", "authorization.k8s.io"]),
    maxBytes: 128 * kibibyte,
    maxValues: 5000,
  },
  { resource: "accessexplanations", maxBytes: 128 * kibibyte, maxValues: 5000 },
  // Ten thousand operations of four values, as many as kube-apiserver takes.
  { mediaType: "application/json-patch+json", maxBytes: 3 * mebibyte, maxValues: 50_000 },
  { resource: "customresourcedefinitions", maxBytes: 3 * mebibyte, maxValues: 65_536 },
  // Defaults multiply what a Pod brings, and no kubelet runs a hundredth of this.
  { resource: "pods", maxBytes: 3 * mebibyte, maxValues: 5000 },
  // As many bytes as kube-apiserver takes (MaxRequestBodyBytes).
  { maxBytes: 3 * mebibyte, maxValues: 20_000 },
];

/** What limits depend on besides the path: who asks, whose name is known, and the media type of the body in lower case. */
export interface LimitedSender {
  readonly user: UserInfo;
  readonly mediaType: string;
}

/** The limits of one request. */
export function requestLimits(info: RequestInfo, sender: LimitedSender): RequestLimits {
  return rows.find((row) => fits(row, info, sender)) ?? { maxBytes: 0, maxValues: 0 };
}

function fits(row: LimitsRow, info: RequestInfo, { user: { groups }, mediaType }: LimitedSender): boolean {
  if (row.mediaType !== undefined && row.mediaType !== mediaType) return false;
  if (row.unlessGroup !== undefined && groups.includes(row.unlessGroup)) return false;
  if (row.group !== undefined && !groups.includes(row.group)) return false;
  if (row.verbs?.has(info.verb) === false) return false;
  if (row.resource !== undefined && row.resource !== info.resource) return false;
  return row.apiGroups?.has(info.group) !== false;
}

/** The 413 for a body of more values than it may hold. */
export function tooManyValues(maxValues: number): StatusError {
  return new StatusError(
    "RequestEntityTooLarge",
    `Request entity too large: the body holds more than ${maxValues} JSON values; send less, or split the object into several`,
  );
}
