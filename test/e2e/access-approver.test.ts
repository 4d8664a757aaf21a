import { generateKeyPairSync } from "node:crypto";
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import type { ApiObject } from "../../src/apimachinery/object.ts";
import { approverWords } from "../../src/cli/access/access-decide.ts";
import { sshPublicKeyOf } from "../../src/pki/ssh-public-key.ts";
import { provePossession } from "../../src/trust/possession.ts";
import { isReady, startAccessStage, type AccessStage } from "../kits/access-stage.ts";
import { kubectlRunner } from "../kits/kubectl.ts";
import { peerSuite } from "../kits/peers.ts";
import { pratiqueAs, type Ran } from "../kits/pratique-as.ts";

const rbac = "/apis/rbac.authorization.k8s.io/v1";
const apiGroup = "rbac.authorization.k8s.io";
let stage: AccessStage;

/** The role of its own that docs/access-requests.md shows. */
function documentedRole(): ApiObject {
  const page = readFileSync("docs/access-requests.md", "utf8");
  const [, yaml = ""] = /```yaml\n(apiVersion: rbac[^]*?)```/.exec(page) ?? [];
  return parse(yaml) as ApiObject;
}

/** Carol has the built-in role and dan the one of the docs; neither has anything else. */
const people = { carol: "pratique:access-approver", dan: "approver-of-pods" } as const;

beforeAll(async () => {
  stage = await startAccessStage({ users: { carol: [], dan: [] } });
  await made(`${rbac}/clusterroles`, documentedRole());
  for (const [user, name] of Object.entries(people)) {
    const body = {
      metadata: { name: `approver-${user}` },
      subjects: [{ kind: "User", name: user, apiGroup }],
      roleRef: { kind: "ClusterRole", name, apiGroup },
    };
    await made(`${rbac}/clusterrolebindings`, body);
  }
});

afterAll(() => stage.close());

async function made(path: string, body: object): Promise<void> {
  const reply = await stage.admin(path, { method: "POST", body });
  if (reply.status !== 201) throw new TypeError(reply.text);
}

async function asked(name: string, labels?: object, spec: object = {}): Promise<void> {
  expect((await stage.ask(name, { spec })).status).toBe(201);
  const type = "application/merge-patch+json";
  const body = { metadata: { labels } };
  if (labels !== undefined) await stage.admin(`${stage.requests}/${name}`, { method: "PATCH", type, body });
}

describe.each(Object.keys(people))("what docs/access-requests.md says, done by %s", (who) => {
  const pratique = (...words: readonly string[]): Promise<Ran> => pratiqueAs(stage.hub, who, words);

  it("pending shows the request, and approve --words lets the machine in", async () => {
    const name = `vm-words-${who}`;
    await asked(name);
    expect(await pratique("pending")).toMatchObject({ code: 0, out: expect.stringContaining(name) as unknown });
    const request = await stage.until(name, ({ status }) => status?.fingerprint !== undefined);
    const [words = []] = await approverWords(request, { caPem: stage.hub.ca });
    const ran = await pratique("approve", `accessrequest/${name}`, "--words", words.join(" "));
    expect(ran).toMatchObject({ code: 0, out: expect.stringContaining("The words agree") as unknown });
    await stage.until(name, isReady);
    expect(await pratique("revoke", `accessrequest/${name}`, "--reason", "stolen")).toMatchObject({ code: 0, err: "" });
  });

  it("approve -l --expect counts first, then approves what needs no care; deny denies", async () => {
    const line = (rack: string): readonly string[] => [
      "approve",
      "accessrequest",
      "-l",
      `rack=${rack}`,
      "--expect",
      "1",
    ];
    await asked(`vm-unproven-${who}`, { rack: `unproven-${who}` });
    for (const dryRun of [["--dry-run"], []]) {
      const { code, err } = await pratique(...line(`unproven-${who}`), ...dryRun);
      expect([code, err]).toEqual([7, expect.stringContaining(`vm-unproven-${who} has contents that need care`)]);
    }
    const name = `vm-rack-${who}`;
    // A key of its own: the other requests of this test are of one machine, and of an earlier one approvers are told.
    const { publicKey, privateKey } = generateKeyPairSync("ed25519");
    const { text: pubKey, fingerprint } = sshPublicKeyOf(publicKey, name);
    const facts = { name, fingerprint, caPin: stage.hub.hub.caPin };
    await asked(name, { rack: who }, { pubKey, proof: provePossession(privateKey, "ed25519", facts) });
    const dry = await pratique(...line(who), "--dry-run");
    expect([dry.code, dry.out]).toEqual([0, expect.stringContaining("(dry run)")]);
    expect((await pratique(...line(who))).code).toBe(0);
    await stage.until(name, isReady);
    await asked(`vm-denied-${who}`);
    const denied = await pratique("deny", `accessrequest/vm-denied-${who}`, "--reason", "not one of ours");
    expect(denied).toMatchObject({ code: 0, err: "" });
  });

  peerSuite("kubectl", "with kubectl", () => {
    it("patch --subresource=status approves, as it reads the subresource before it writes", async () => {
      const name = `vm-patched-${who}`;
      await asked(name);
      const kubeconfig = await stage.hub.kubeconfigOf(who);
      const kubectl = kubectlRunner({ home: `${stage.hub.dir}/home-${who}`, kubeconfig });
      const patch = ["--subresource=status", "--type=merge", "-p", '{"status":{"accepted":true}}'];
      await kubectl.ok("patch", "accessrequest", name, ...patch);
      const { status } = await stage.until(name, isReady);
      expect(status?.decisions).toMatchObject([{ user: who, verdict: "Approved" }]);
    });
  });
});

it("a role for some profiles is for no others", async () => {
  await stage.profile("other", { namespace: "vms" });
  expect((await stage.ask("vm-other", { spec: { profile: "other" } })).status).toBe(201);
  const ran = await pratiqueAs(stage.hub, "dan", ["approve", "accessrequest/vm-other"]);
  expect([ran.code, ran.err]).toEqual([
    expect.any(Number),
    expect.stringContaining('verb "approve" on accessprofiles'),
  ]);
  expect(ran.code).not.toBe(0);
});
