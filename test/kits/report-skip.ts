import { appendFileSync } from "node:fs";

/**
 * What a machine lacks where a test is skipped: programs of Kubernetes 1.20.2, those of 1.36.3, packages of Debian, the Go toolchain with
 * its module proxy, mounts, the user root, Linux, a second processor, the time of birth of files, or a kubelet with containerd (`NODE_UP`).
 */
export type SkipNeed =
  | "kubernetes"
  | "kubernetes-current"
  | "debian"
  | "go"
  | "mount"
  | "root"
  | "linux"
  | "processors"
  | "birth-time"
  | "node-up";

/**
 * Says in one line why the group of tests, or the test, of that title is skipped. `PRATIQUE_SKIPS_FILE` collects what all test files
 * report, a line of JSON each; `.ci/skips.mjs` fails where the machine can have what is needed, and where a skipped test reported nothing.
 */
export function reportSkip(title: string, why: string, need: SkipNeed): void {
  process.stderr.write(`skipped: ${title}: ${why}\n`);
  const file = process.env["PRATIQUE_SKIPS_FILE"] ?? "";
  if (file !== "") appendFileSync(file, `${JSON.stringify({ title, why, need })}\n`);
}
