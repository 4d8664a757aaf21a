import { describe, expect, test } from "vitest";
import { certificateSigningRequests as csrs, serviceAccounts } from "../../controllers/kinds.ts";
import { StatusError } from "../../apimachinery/status.ts";
import { accessProfiles } from "../../apis/access-profile.ts";
import { accessRequests, type AccessDecision } from "../../apis/access-request.ts";
import { accessObject, accessProfile, newAccessKey, type AskedAccess } from "../../../test/kits/access-object.ts";
import { csrObject } from "../../../test/kits/csr-object.ts";
import { type MemoryApi, memoryApi } from "../../../test/kits/memory-api.ts";
import { fakeClock } from "../../../test/kits/fake-clock.ts";
import { type FakeIo, fakeIo, type FakeIoOptions, kubeconfigText, runLine } from "../../../test/kits/fake-io.ts";

interface World {
  readonly api: MemoryApi;
  readonly io: FakeIo;
}

async function world(requests: readonly AskedAccess[], options: FakeIoOptions = {}): Promise<World> {
  const clock = fakeClock(Date.UTC(2026, 10, 21, 0, 5));
  const api = memoryApi({ clock });
  for (const request of requests) await api.given(accessRequests, accessObject(request));
  await api.client.create(accessProfiles, accessProfile("pods"));
  await api.client.create(
    accessProfiles,
    accessProfile("two", {
      approvers: 2,
      bootstrapToken: {},
      roles: [
        { kind: "Role", name: "a" },
        { kind: "ClusterRole", name: "b", clusterWide: true },
      ],
    }),
  );
  const files = { "/home/ada/.kube/config": kubeconfigText() };
  return { api, io: fakeIo({ clock, client: api.client, files, ...options }) };
}

async function run(line: string, { io }: World): Promise<string> {
  expect(await runLine(line, io)).toBe(0);
  return io.out();
}

/** The sentences below the table, by request. */
async function warnings(here: World): Promise<readonly string[]> {
  const [, below = ""] = (await run("pending", here)).split("! These need care before an approver approves them:\n");
  return below.split("\n").flatMap((line) => (line === "" ? [] : [line.trim()]));
}

describe("pratique pending", () => {
  test("lists the access requests that wait, the oldest first, with their evidence", async () => {
    const here = await world([
      { name: "young", created: "2026-11-21T00:04:30Z", hostname: "web-1", claims: { rack: "7" } },
      { name: "old", profile: "pods", evidence: { sourceAddress: "2001:db8::7", earlierRequests: 2 } },
      { name: "done", status: { accepted: true } },
      { name: "refused", status: { denied: true } },
      { name: "over", status: { conditions: [{ type: "Expired", status: "True", reason: "x", message: "x" }] } },
    ]);
    const out = await run("pending", here);
    expect(here.io.err()).toBe("");
    expect(out.replaceAll(/SHA256:[A-Za-z0-9+/]{43}/g, "SHA256:(key)")).toBe(
      `   NAME                  AGE   PROFILE   GRANTS                    APPROVALS   SOURCE        REQUESTER          KEY       FINGERPRINT                                          POSSESSION   EARLIER   SAYS
   accessrequest/old     5m    pods      vms: ClusterRole/viewer   0 of 1      2001:db8::7   system:anonymous   ed25519   SHA256:(key)   proven       2         <nothing>
   accessrequest/young   30s   pods      vms: ClusterRole/viewer   0 of 1      192.0.2.7     system:anonymous   ed25519   SHA256:(key)   proven       0         hostname=web-1,rack=7
`,
    );
  });

  test("warns of a request that names no profile where several are marked as default, and of no other", async () => {
    const here = await world([{ name: "unnamed" }, { name: "named", profile: "pods" }]);
    const { metadata, ...rest } = accessProfile("web");
    const annotations = { "access.pratique.dev/is-default-profile": "true" };
    await here.api.client.create(accessProfiles, { ...rest, metadata: { ...metadata, annotations } });
    expect((await warnings(here)).join(" ")).toMatch(
      /^accessrequest\/unnamed:? names no profile, and 2 are marked as default: an approval grants "pods", the first by name; remove the annotation access\.pratique\.dev\/is-default-profile from all but one \(also marked: "web"\)$/,
    );
  });

  test("says what a profile grants in the whole cluster and beside its roles", async () => {
    const out = await run("pending", await world([{ profile: "two" }]));
    expect(out).toContain("   vms: Role/a, ClusterRole/b (all namespaces), a bootstrap token   0 of 2   ");
  });

  test("marks and explains an unproven key", async () => {
    const here = await world([{ name: "vm-1", evidence: { possession: "Unproven" } }, { name: "vm-2" }]);
    const out = await run("pending", here);
    expect(out).toMatch(/^! {3}accessrequest\/vm-1 /m);
    expect(out).toMatch(/^ {4}accessrequest\/vm-2 /m);
    expect(out).toContain(
      "  accessrequest/vm-1\n    has not proven that it holds the private key: any holder of the public key may have created it\n",
    );
  });

  test("tells of earlier requests with the same key that were turned away, and only of those", async () => {
    const key = newAccessKey();
    const here = await world([
      { name: "again", key },
      { name: "was-denied", key, status: { denied: true } },
      { name: "was-revoked", key, status: { accepted: true, revoked: true } },
      { name: "is-in", key, status: { accepted: true, ready: true } },
      { name: "another", status: { denied: true } },
    ]);
    expect(await warnings(here)).toEqual([
      "accessrequest/again",
      "was turned away before with the same key: accessrequest/was-denied (denied), accessrequest/was-revoked (revoked)",
    ]);
  });

  test("tells of an account of that name that was not made for it", async () => {
    const here = await world([{ name: "precious" }, { name: "own" }]);
    const own = here.api.all(accessRequests).find(({ metadata }) => metadata.name === "own");
    const ownerReferences = [
      { apiVersion: own?.apiVersion ?? "", kind: "AccessRequest", name: "own", uid: own?.metadata.uid ?? "" },
    ];
    const account = (name: string, extra: object = {}): Parameters<typeof here.api.client.create>[1] => ({
      apiVersion: "v1",
      kind: "ServiceAccount",
      metadata: { name, namespace: "vms", ...extra },
    });
    await here.api.client.create(serviceAccounts, account("precious"));
    await here.api.client.create(serviceAccounts, account("own", { ownerReferences }));
    expect(await warnings(here)).toEqual([
      "accessrequest/precious",
      'has the name of a ServiceAccount in "vms" that was not made for it: nothing would be issued',
    ]);
  });

  test("tells of a profile that does not exist, and of a fingerprint that is not that of the key", async () => {
    const here = await world([
      { name: "lost", profile: "none" },
      { name: "odd", status: { fingerprint: "SHA256:x" } },
    ]);
    expect(await warnings(here)).toEqual([
      "accessrequest/lost",
      'asks for profile "none", which does not exist: approving it grants nothing',
      "accessrequest/odd",
      "the fingerprint in its status is not that of its key: a user wrote to it who should not be able to",
    ]);
  });

  test("tells who has approved and how many are needed", async () => {
    const two = (await world([])).api.all(accessProfiles).find(({ metadata }) => metadata.name === "two");
    const approval = (user: string, generation: number): AccessDecision => ({
      user,
      time: "2026-11-21T00:00:00Z",
      verdict: "Approved",
      profile: { name: "two", uid: two?.metadata.uid ?? "", generation },
    });
    const decisions = [approval("ben", 7), approval("ada", two?.metadata.generation ?? 0)];
    const here = await world([]);
    await here.api.given(accessRequests, accessObject({ name: "half", profile: "two", status: { decisions } }));
    expect(await warnings(here)).toEqual([
      "accessrequest/half",
      'needs 2 different approvers and has 1 (approved by "ada")',
      "was approved before its profile was changed, which does not count",
    ]);
  });

  test("lets nothing that a machine chose reach the terminal, begin a line or look like another claim", async () => {
    const hostile = "\u001b[2J\u202e\r\n\u009b31m\u200b";
    const here = await world([
      { name: "vm-1", hostname: `h${hostile}`, claims: { [`k${hostile}`]: `v${hostile}`, a: "b,rack=7" } },
      { name: "vm-2", profile: `p${hostile}`, evidence: { requester: `r${hostile}`, sourceAddress: hostile } },
    ]);
    const out = await run("pending", here);
    expect(out.replaceAll("\n", "")).toMatch(/^[ -~…]*$/);
    expect(out.split("\n").filter((line) => line.includes("accessrequest/"))).toHaveLength(3);
    expect(await run("pending", await world([{ claims: { a: "b,rack=7" } }]))).toContain(' a="b,rack=7"\n');
    for (const format of ["json", "yaml"]) {
      const text = await run(`pending -o ${format}`, await world([{ hostname: `h${hostile}` }]));
      expect(text.replaceAll("\n", "")).toMatch(/^[ -~]*$/);
    }
  });

  test("shows both kinds, in the table and as JSON", async () => {
    const here = await world([{ name: "vm-1", claims: { rack: "7" } }]);
    await here.api.given(csrs, csrObject({ name: "node-1" }));
    const out = await run("pending", here);
    expect(out.indexOf("csr/node-1")).toBeLessThan(out.indexOf("accessrequest/vm-1"));
    const there = await world([{ name: "vm-1", claims: { rack: "7" } }]);
    await there.api.given(csrs, csrObject({ name: "node-1" }));
    expect(JSON.parse(await run("pending -o json", there))).toMatchObject([
      { kind: "CertificateSigningRequest", name: "node-1" },
      {
        kind: "AccessRequest",
        name: "vm-1",
        profile: "pods",
        grants: { namespace: "vms", roles: ["ClusterRole/viewer"], approvers: 1, tokenSeconds: 3600 },
        claims: { rack: "7" },
        possession: "Proven",
        warnings: [],
      },
    ]);
  });

  test.each([
    ["certificate requests", csrs, "accessrequest/vm-1"],
    ["access requests", accessRequests, "csr/node-1"],
  ] as const)("shows what else there is to somebody who may not list %s, and says so", async (_title, kind, seen) => {
    const here = await world([{ name: "vm-1" }]);
    await here.api.given(csrs, csrObject({ name: "node-1" }));
    here.api.failNext("list", kind, new StatusError("Forbidden", `${kind.plural} is forbidden`));
    expect(await run("pending", here)).toContain(seen);
    const words = kind === csrs ? "certificate requests" : "access requests";
    const note = `note: ${words} are not visible with this credential: ${kind.plural} is forbidden\n`;
    expect(here.io.err()).toBe(note);
  });

  test("goes on without profiles and accounts that may not be read", async () => {
    const here = await world([{ name: "vm-1" }]);
    here.api.failNext("list", accessProfiles, new StatusError("Forbidden", "no"));
    expect(await run("pending", here)).toMatch(/accessrequest\/vm-1 +5m +<default> +<unknown> +0 of <unknown> /);
    const there = await world([{ name: "vm-1" }]);
    there.api.failNext("list", serviceAccounts, new StatusError("Forbidden", "no"));
    expect(await run("pending", there)).toContain("vms: ClusterRole/viewer");
  });
});
