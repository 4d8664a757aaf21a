import { expect, test } from "vitest";
import { defaultQuotaBytes } from "./store-quota.ts";

const mebibyte = 1024 * 1024;

test.each([
  ["etcd's, where there is memory for it", 32_768, 32_768, 2048],
  ["an eighth of the heap beyond what an idle hub takes", 4224, 65_536, 512],
  ["an eighth of what the cgroup allows beyond it", 4224, 640, 64],
  ["never less than a hub needs for itself", 100, 65_536, 16],
])("the default quota is %s", (_, heap, whole, quota) => {
  const limits = { heapBytes: heap * mebibyte, processBytes: whole * mebibyte };
  expect(defaultQuotaBytes(limits)).toBe(quota * mebibyte);
});
