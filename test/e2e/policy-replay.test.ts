import { copyFile, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestHub, type TestHub } from "../kits/hub.ts";
import type { Kubectl } from "../kits/kubectl.ts";
import { peerSuite } from "../kits/peers.ts";
import {
  changesOf,
  playStage,
  replay,
  replayReport,
  replayUsers,
  stageRoles,
  stageVerbs,
} from "../kits/replay-stage.ts";

peerSuite("kubectl", "pratique policy replay, over what a hub wrote", () => {
  let dir: string;
  let hub: TestHub;
  let log: readonly string[];
  const file = (name: string): string => join(dir, name);
  const rbac = async (name: string, text: string): Promise<readonly string[]> => {
    await writeFile(file(name), text);
    return ["--rbac", file(name)];
  };

  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), "pratique-replay-"));
    log = ["--audit-log", file("recorded.log")];
    hub = await startTestHub({ users: replayUsers, auditLogPath: file("audit.log") });
    const as = async (user: keyof typeof replayUsers): Promise<Kubectl> =>
      hub.kubectl.with({ kubeconfig: await hub.kubeconfigOf(user) });
    await playStage({ admin: hub.kubectl, as, dir, log: file("audit.log") });
    // What tests ask of the hub is none of it.
    await copyFile(file("audit.log"), file("recorded.log"));
  });

  afterAll(async () => {
    await hub?.close();
    await rm(dir, { recursive: true, force: true });
  });

  test("finds no change where the roles are those of then", async () => {
    const { code, out } = await replay(...log, "--rbac", file("roles.yaml"));
    expect([code, out]).toEqual([
      0,
      expect.stringMatching(
        /^\d+ requests of ([4-9]|\d\d) users, .*\n {2}now refused: 0, now allowed: 0, as before: \d+\.\n$/,
      ),
    ]);
  });

  test("takes the roles of the server as they are, and a manifest on top of them", async () => {
    const server = [...log, "--rbac-base", "server", "--kubeconfig", hub.kubeconfig];
    expect(changesOf(await replayReport(...server))).toEqual([]);
    const words = [...server, ...(await rbac("none.yaml", stageRoles("get")))];
    expect(changesOf(await replayReport(...words))).toContain("now refused: 1 ada create configmaps");
  });

  test("refuses to go by the roles of a server that does not show them all", async () => {
    const kubeconfig = await hub.kubeconfigOf("ben");
    const { code, err } = await replay(...log, "--rbac-base", "server", "--kubeconfig", kubeconfig);
    expect([code, err]).toEqual([4, expect.stringContaining("you may not list clusterroles, clusterrolebindings")]);
  });

  test("counts by user and rule what fewer verbs would refuse, impersonated users among them", async () => {
    const words = [...log, ...(await rbac("fewer.yaml", stageRoles("get, create")))];
    const { code, out } = await replay(...words);
    expect(code).toBe(8);
    const before = 'RBAC: allowed by RoleBinding "keepers/default" of Role "keeper" to Group "keepers"';
    expect(
      out
        .split("\n")
        .slice(0, 4)
        .map((line) => line.split(/ {3,}/)),
    ).toEqual([
      ["CHANGE", "COUNT", "USER", "REQUEST", "BEFORE", "AFTER"],
      ["now refused", "2", "ada", "list configmaps -n default", before, "no opinion of Node, RBAC"],
      ["now refused", "1", "ada", "delete configmaps -n default", before, "no opinion of Node, RBAC"],
      [
        "now refused",
        "1",
        "cora (impersonated by kubernetes-admin)",
        "list configmaps -n default",
        before,
        "no opinion of Node, RBAC",
      ],
    ]);
  });

  test("counts what more bindings would allow, and paths", async () => {
    const more = stageRoles(stageVerbs).replace("name: keepers }]", "name: system:authenticated }]");
    const fewer = more.replace("kind: User, name: ada", "kind: User, name: nobody");
    expect(changesOf(await replayReport(...log, ...(await rbac("more.yaml", fewer))))).toEqual([
      "now allowed: 1 ben list configmaps",
      "now refused: 1 ada get /metrics",
    ]);
  });

  test("puts the requests to a policy in place of a webhook, alone or behind the roles of then", async () => {
    await writeFile(file("new.rego"), 'package k8s\n\nallow if input.spec.resourceAttributes.verb == "list"\n');
    const policy = ["--policy", file("new.rego")];
    expect(changesOf(await replayReport(...log, ...policy, "--rbac", file("roles.yaml")))).toEqual([
      "now allowed: 1 ada list secrets",
      "now allowed: 1 ben list configmaps",
    ]);
    const alone = await replayReport(...log, ...policy, "--authorization-mode", "Webhook");
    expect(changesOf(alone)).toContain("now refused: 1 ada create configmaps");
    expect(alone.changes.find(({ verb }) => verb === "create")?.why).toBe("no opinion of Webhook");
  });

  test("asks whether somebody may still impersonate", async () => {
    // Of those who impersonate only system:masters did, whom no policy touches; another one is written into a copy of the log.
    const text = (await readFile(file("recorded.log"), "utf8")).replaceAll('"system:masters"', '"helpers"');
    await writeFile(
      file("helpers.log"),
      text
        .split("\n")
        .filter((line) => line.includes("impersonatedUser"))
        .join("\n"),
    );
    const { changes } = await replayReport("--audit-log", file("helpers.log"), "--rbac", file("roles.yaml"));
    expect(changes.some(({ user, impersonatedBy }) => user === "cora" && impersonatedBy === "kubernetes-admin")).toBe(
      true,
    );
  });

  test("reads packed logs, and a log that is named twice once", async () => {
    await writeFile(file("old.log.gz"), gzipSync(await readFile(file("recorded.log"))));
    const plain = await replayReport(...log, "--rbac", file("fewer.yaml"));
    const twice = await replayReport("--audit-log", file("old.log.gz"), ...log, "--rbac", file("fewer.yaml"));
    expect(twice.requests).toBe(plain.requests);
    expect(twice.changes).toEqual(plain.changes);
  });
});
