import type { Option } from "../command.ts";

/** How much a hub takes on, from whom. */
export const hubLimitOptions: readonly Option[] = [
  {
    name: "max-requests-inflight",
    kind: "integer",
    value: "N",
    default: "400",
    description:
      "how many requests are served at once; beyond them, users wait their turn, and are told 429 when that takes too long",
  },
  {
    name: "max-mutating-requests-inflight",
    kind: "integer",
    value: "N",
    default: "200",
    description: "is added to the number before",
  },
  {
    name: "max-watches-per-user",
    kind: "integer",
    value: "N",
    default: "10000",
    description: "how many watches one user may hold open",
  },
  {
    name: "access-requests-per-address",
    kind: "integer",
    value: "N",
    default: "30",
    description:
      "how many access requests a minute one address may make without a credential; an IPv6 network of 64 bits counts as one",
  },
  {
    name: "access-requests-per-minute",
    kind: "integer",
    value: "N",
    default: "600",
    description: "how many of them all addresses together may make",
  },
  {
    name: "access-requests-pending",
    kind: "integer",
    value: "N",
    default: "1000",
    description:
      "how many access requests may wait for an answer at once; one address fills a quarter of the places at most",
  },
];
