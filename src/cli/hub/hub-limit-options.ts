import type { Option } from "../command.ts";

/** How much a hub takes on, from whom. */
export const hubLimitOptions: readonly Option[] = [
  {
    name: "max-requests-inflight",
    kind: "integer",
    value: "N",
    default: "400",
    description:
      "the maximum number of requests in flight, to which --max-mutating-requests-inflight is added; further requests are queued by user, and get 429 when they wait too long",
  },
  {
    name: "max-mutating-requests-inflight",
    kind: "integer",
    value: "N",
    default: "200",
    description: "is added to --max-requests-inflight; the sum is the maximum number of requests in flight",
  },
  {
    name: "max-watches-per-user",
    kind: "integer",
    value: "N",
    default: "10000",
    description: "the maximum number of open watches of one user",
  },
  {
    name: "access-requests-per-address",
    kind: "integer",
    value: "N",
    default: "30",
    description:
      "the maximum number of access requests without a credential from one address per minute; an IPv6 network of 64 bits counts as one address",
  },
  {
    name: "access-requests-per-minute",
    kind: "integer",
    value: "N",
    default: "600",
    description: "the maximum number of access requests without a credential from all addresses per minute",
  },
  {
    name: "access-requests-pending",
    kind: "integer",
    value: "N",
    default: "1000",
    description: "the maximum number of pending access requests; one address may have a quarter of it",
  },
];
