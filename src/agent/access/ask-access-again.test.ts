import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { accessObject } from "../../../test/kits/access-object.ts";
import { refuse, startFakeHub, testCa, type FakeHub } from "../../../test/kits/fake-hub.ts";
import { hastyClock } from "../../../test/kits/hasty-clock.ts";
import { unsignedToken } from "../../../test/kits/service-account-token.ts";
import type { AccessRequestStatus } from "../../apis/access-request.ts";
import { accessFolder } from "../../credentials/storage/access-folder.ts";
import { accessKey } from "./access-key.ts";
import { askAccessAgain, askAgainStep } from "./ask-access-again.ts";
import { privateFiles } from "../../host/private-files.ts";
import { tokenClaims, type TokenClaims } from "../../credentials/proof/token-claims.ts";

describe("a machine whose token is refused", () => {
  const over = (reason: string): AccessRequestStatus => ({
    accepted: true,
    conditions: [{ type: "Expired", status: "True", reason, message: "" }],
  });
  test.each([
    ["goes on with a request that nobody has answered", {}, "go on"],
    ["goes on with one that is approved and not issued yet", { accepted: true }, "go on"],
    ["goes on with one that is issued: another agent may have asked", { accepted: true, ready: true }, "go on"],
    ["asks anew after one that was revoked", { accepted: true, revoked: true }, "request again"],
    ["asks anew after one whose token has ended", over("TokenExpired"), "request again"],
    ["stops where it was denied", { denied: true }, "stop"],
  ] as const)("%s", (_title, status, step) => {
    const request = accessObject({ status });
    expect(askAgainStep({ ...request, metadata: { ...request.metadata, uid: "u" } }, "u")).toBe(step);
  });

  test("asks anew where the request is gone, or is another one of the same name", () => {
    const denied = accessObject({ status: { denied: true } });
    expect(askAgainStep(undefined, "u")).toBe("request again");
    expect(askAgainStep({ ...denied, metadata: { ...denied.metadata, uid: "other" } }, "u")).toBe("request again");
  });
});

describe("a machine that asks anew after the CA of its hub has changed", () => {
  let dir: string;
  let hub: FakeHub;
  const posts = (): number => hub.seen.filter(({ method }) => method === "POST").length;

  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), "pratique-again-"));
    hub = await startFakeHub();
    hub.intercept = (request, response) => {
      if (request.url?.includes("accessrequests") !== true) return false;
      const isRead = request.method === "GET";
      refuse(response, isRead ? 404 : 403, isRead ? "NotFound" : "Forbidden", "no");
      return true;
    };
  });

  afterEach(async () => {
    await hub.close();
    await rm(dir, { recursive: true, force: true });
  });

  /** Asked under one CA, and trusts these by now. */
  async function asking(askedUnder: string, caPem: string): Promise<unknown> {
    const folder = accessFolder(dir, undefined, privateFiles);
    const key = await accessKey(folder, { isOwn: false, comment: "n1" });
    const asked = { server: hub.url, name: "n1", uid: "u", fingerprint: key.public.fingerprint, caPin: askedUnder };
    await folder.write(folder.request, JSON.stringify(asked));
    const token = unsignedToken({ issuedAt: Date.now() });
    const refused = { server: hub.url, caPem, token, claims: tokenClaims(token) as TokenClaims };
    const clock = hastyClock();
    const random = (size: number): Uint8Array => randomBytes(size);
    return askAccessAgain({ folder, refused, hostname: "n1", clock, random, userAgent: "test" }, () => undefined).then(
      () => undefined,
      (error: unknown) => error,
    );
  }

  test("knows it by the CA that it trusts now", async () => {
    expect(await asking(testCa("gone").pin, hub.ca.pem)).toMatchObject({ causeCode: "Forbidden" });
    expect(posts()).toBe(1);
    expect(await asking(testCa("gone").pin, `${testCa("next").pem}${hub.ca.pem}`)).toMatchObject({
      causeCode: "Forbidden",
    });
    expect(posts()).toBe(2);
  });

  test("attack: does not believe the CA under which it asked once, and which it trusts no more", async () => {
    expect(await asking(hub.ca.pin, testCa("next").pem)).toMatchObject({ name: "JoinError" });
    expect(posts()).toBe(0);
  });
});
