// The loads, each with what it is to reach against real Kubernetes in the same run.
import { bootstrapToken } from "./kubeconfig.mjs";

const listPath = "/api/v1/namespaces/bench-list/configmaps";
const token = ["-token", bootstrapToken];

/**
 * `args` of kload for a number of operations, or `driver`, a mode of driver.mjs; `count` is the full number, `quick` the one of --quick; `mode` is the line of kload's output that counts.
 * `factor` is the least ratio of medians, `p99Ms` the most that our own 99th percentile may be. Where Kubernetes has nothing to compare
 * with, `perSecond` is the least rate of our own.
 */
export const loads = [
  {
    name: "enrol",
    count: 1000,
    quick: 200,
    factor: 6,
    p99Ms: 150,
    args: (n) => ["enrol", "-n", n, "-c", 50, ...token],
  },
  {
    name: "enrol-fresh",
    count: 1000,
    quick: 200,
    factor: 3,
    args: (n) => ["enrol", "-fresh", "-n", n, "-c", 50, ...token],
  },
  { name: "sar", count: 20_000, quick: 4000, factor: 3, args: (n) => ["sar", "-n", n, "-c", 32] },
  { name: "sar-h1", count: 20_000, quick: 4000, factor: 2.5, args: (n) => ["sar", "-h1", "-n", n, "-c", 32] },
  { name: "get", count: 20_000, quick: 4000, factor: 4, args: (n) => ["get", "-n", n, "-c", 32] },
  {
    name: "lease",
    count: 5000,
    quick: 2000,
    factor: 5,
    mode: "lease-update",
    args: (n) => ["lease", "-n", n, "-c", 32],
  },
  { name: "watch", count: 200, quick: 100, factor: 2, args: (n) => ["watch", "-w", 200, "-n", n] },
  { name: "watch-2000", count: 50, quick: 20, factor: 2, mode: "watch", args: (n) => ["watch", "-w", 2000, "-n", n] },
  {
    name: "list-full",
    count: 20,
    quick: 6,
    factor: 2,
    filled: true,
    args: (n) => ["get", "-path", listPath, "-n", n, "-c", 2],
  },
  { name: "list-paged", count: 10, quick: 4, factor: 2, filled: true, driver: "list-paged" },
  { name: "list-table", count: 10, quick: 4, factor: 2, filled: true, driver: "list-table" },
  { name: "apply-custom", count: 1000, quick: 200, factor: 1, driver: "apply-custom" },
  { name: "new-kind", count: 10, quick: 4, factor: 1, driver: "new-kind" },
  { name: "access-ask", count: 1000, quick: 200, driver: "access-ask", perSecond: 200 },
  { name: "access-issue", count: 1000, quick: 200, driver: "access-issue", perSecond: 200, p99Ms: 1000 },
];

/** How many objects of 1 KiB there are for the loads that want some (`filled`), and for the memory they take. */
export const filling = { name: "fill", count: 10_000, quick: 1000, driver: "fill" };
