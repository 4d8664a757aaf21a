import { expect, test } from "vitest";
import { defaultQuotaBytes } from "./store-quota.ts";

const mebibyte = 1024 * 1024;

test.each([
  ["etcd's, where there is memory for it", 16_384, 16_384, 2048],
  ["a quarter of the heap beyond what an idle hub takes", 4224, 65_536, 1024],
  ["a quarter of what the cgroup allows beyond it", 4224, 640, 128],
  ["never less than a hub needs for itself", 100, 65_536, 16],
])("the default quota is %s", (_, heap, whole, quota) => {
  const limits = { heapBytes: heap * mebibyte, processBytes: whole * mebibyte };
  expect(defaultQuotaBytes(limits)).toBe(quota * mebibyte);
});
