import { expect, test } from "vitest";
import { checkTimeout } from "./query-options.ts";

test.each(["", "timeout=", "timeout=34s", "timeout=1m30s", "timeout=0", "timeoutSeconds=x"])(
  "a request with %j has a timeout that can be read",
  (query) => {
    expect(() => checkTimeout(new URLSearchParams(query))).not.toThrow();
  },
);

test.each([
  ["x", 'time: invalid duration "x"'],
  ["34", 'time: missing unit in duration "34"'],
  ["3d", 'time: unknown unit "d" in duration "3d"'],
])("the timeout %j is answered with 400 in the words of kube-apiserver", (timeout, why) => {
  expect(() => checkTimeout(new URLSearchParams({ timeout }))).toThrow(
    expect.objectContaining({ code: 400, message: `invalid timeout specified in the request URL - ${why}` }),
  );
});
