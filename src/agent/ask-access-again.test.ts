import { describe, expect, test } from "vitest";
import { accessObject } from "../../test/kits/access-object.ts";
import type { AccessRequestStatus } from "../resources/access-request.ts";
import { askAgainStep } from "./ask-access-again.ts";

describe("a machine whose token is refused", () => {
  const over = (reason: string): AccessRequestStatus => ({
    accepted: true,
    conditions: [{ type: "Expired", status: "True", reason, message: "" }],
  });
  test.each([
    ["goes on with a request that nobody has answered", {}, "go on"],
    ["goes on with one that is approved and not issued yet", { accepted: true }, "go on"],
    ["goes on with one that is issued: another agent may have asked", { accepted: true, ready: true }, "go on"],
    ["asks anew after one that was revoked", { accepted: true, revoked: true }, "ask anew"],
    ["asks anew after one whose token has ended", over("TokenExpired"), "ask anew"],
    ["stops where it was denied", { denied: true }, "stop"],
  ] as const)("%s", (_title, status, step) => {
    const request = accessObject({ status });
    expect(askAgainStep({ ...request, metadata: { ...request.metadata, uid: "u" } }, "u")).toBe(step);
  });

  test("asks anew where the request is gone, or is another one of the same name", () => {
    const denied = accessObject({ status: { denied: true } });
    expect(askAgainStep(undefined, "u")).toBe("ask anew");
    expect(askAgainStep({ ...denied, metadata: { ...denied.metadata, uid: "other" } }, "u")).toBe("ask anew");
  });
});
