import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { requestAccess } from "../../src/agent/request-access.ts";
import { startAccessStage, type AccessStage } from "../kits/access-stage.ts";
import { hastyClock } from "../kits/hasty-clock.ts";

const records = "/apis/access.pratique.dev/v1alpha1/issuedcredentials";
let stage: AccessStage;

beforeAll(async () => {
  stage = await startAccessStage();
});
afterAll(() => stage.close());

it("what a machine was granted is in its record, with who approved, and without the token", async () => {
  const { admin, hub } = stage;
  await requestAccess(
    {
      endpoint: hub.url,
      pins: [],
      name: "recorded",
      hostname: "recorded",
      dir: join(hub.dir, "recorded"),
      waitMs: 1e9,
      discoveryTimeoutMs: 10_000,
      clock: hastyClock(),
      random: (size) => randomBytes(size),
      userAgent: "test",
    },
    ({ kind }) => {
      if (kind === "access-asked") void stage.decide("recorded", { accepted: true });
    },
  );
  const name = "access.account.vms.recorded";
  await expect.poll(async () => (await admin(`${records}/${name}`)).status).toBe(200);
  const record = (await admin(`${records}/${name}`)).object();
  const identity = { username: "system:serviceaccount:vms:recorded", purpose: "Access" };
  expect(record["spec"]).toEqual({ identity });
  expect(JSON.stringify(record["status"])).toContain('"request":"accessrequest/recorded"');
  expect(JSON.stringify(record["status"])).toMatch(/"approvedBy":"[^"]+"/);
  expect(JSON.stringify(record)).not.toContain("eyJ");
});
