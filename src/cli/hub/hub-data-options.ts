import type { Option } from "../command.ts";

/** What a hub keeps, and what is added to it at a start. */
export const hubDataOptions: readonly Option[] = [
  {
    name: "data-dir",
    kind: "text",
    value: "DIR",
    default: "./pratique-data",
    completes: "directory",
    description: "where the store, the CA and the admin kubeconfig lie",
  },
  {
    name: "quota-backend-bytes",
    kind: "integer",
    value: "BYTES",
    default: "0",
    description:
      "the maximum size of the store, in bytes of objects with their history; beyond it the hub rejects writes with 507, but not deletions, Leases and revocations. 0: 2 GiB, or an eighth of the memory that the hub may use beyond 128 MiB if that is less, and at least 16 MiB",
  },
  {
    name: "revocations-from",
    kind: "text",
    value: "FILE",
    completes: "file",
    description:
      "a list of revocations that this hub has signed (pratique revocations export), or revocation lists of X.509 by its CA, to add before the port opens: after a restore, those that the backup does not know",
  },
];
