import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { requestAccess } from "../../src/agent/access/request-access.ts";
import { isReady, startAccessStage, type AccessStage } from "../kits/access-stage.ts";
import { hastyClock } from "../kits/hasty-clock.ts";
import { pratiqueAs } from "../kits/pratique-as.ts";

const records = "/apis/access.pratique.dev/v1alpha1/issuedcredentials";
let stage: AccessStage;

beforeAll(async () => {
  stage = await startAccessStage();
});
afterAll(() => stage.close());

it("access whose request was deleted counts as revoked, also when a request of that name waits again", async () => {
  const { admin, hub, requests } = stage;
  const isListed = async (state: string): Promise<boolean> =>
    new RegExp(`^ *system:serviceaccount:vms:gone +access +${state} `, "m").test(
      (await pratiqueAs(hub, "admin", ["credentials"])).out,
    );
  const counted = async (): Promise<readonly string[]> =>
    (await admin("/metrics")).text.match(
      /^pratique_issued_credentials\{purpose="Access",state="(?:active|revoked)"\} \d+$/gm,
    ) ?? [];
  const counts = (active: number, revoked: number): readonly string[] => [
    `pratique_issued_credentials{purpose="Access",state="active"} ${active}`,
    `pratique_issued_credentials{purpose="Access",state="revoked"} ${revoked}`,
  ];
  await stage.let("gone");
  await expect.poll(async () => (await admin(`${records}/access.account.vms.gone`)).status).toBe(200);
  expect([await isListed("active"), await counted()]).toEqual([true, counts(1, 0)]);
  expect((await admin(`${requests}/gone`, { method: "DELETE" })).status).toBe(200);
  expect([await isListed("revoked"), await counted()]).toEqual([true, counts(0, 1)]);
  expect((await stage.ask("gone")).status).toBe(201);
  expect([await isListed("revoked"), await counted()]).toEqual([true, counts(0, 1)]);
  // The record of a name that is let in again is of what it holds then.
  await stage.decide("gone", { accepted: true });
  await stage.until("gone", isReady);
  await expect.poll(counted).toEqual(counts(1, 0));
  expect((await admin(`${requests}/gone`, { method: "DELETE" })).status).toBe(200);
  expect((await admin(`${records}/access.account.vms.gone`, { method: "DELETE" })).status).toBe(200);
});

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

  // Once it is revoked, its token is good no more, whatever end it says.
  const listed = async (): Promise<string> => (await pratiqueAs(hub, "admin", ["credentials"])).out;
  const counted = async (): Promise<string> => (await admin("/metrics")).text;
  expect(await listed()).toMatch(/^ *system:serviceaccount:vms:recorded +access +active/m);
  await stage.decide("recorded", { revoked: true });
  expect(await listed()).toMatch(/^ *system:serviceaccount:vms:recorded +access +revoked/m);
  expect(await counted()).toContain('pratique_issued_credentials{purpose="Access",state="revoked"} 1\n');
  expect(await counted()).toContain('pratique_issued_credentials{purpose="Access",state="active"} 0\n');
});
