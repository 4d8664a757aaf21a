import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { fakeIo, runLine } from "../../test/kits/fake-io.ts";
import { essentialComponents } from "../authorization/lockout-check.ts";

const example = resolve(import.meta.dirname, "../../examples/opa-walk-through");
const denyOthers = `package k8s

decision := {"deny": true, "reason": "only admin may"} if not "admin" in input.spec.groups
else := {"allow": true}
`;

let dir: string;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "pratique-check-"));
  await writeFile(join(dir, "deny.rego"), denyOthers);
  await writeFile(join(dir, "fails.rego"), 'package k8s\n\ndecision := {"allow": "perhaps"}\n');
  await writeFile(join(dir, "roles.yaml"), roles("view"));
});

afterAll(() => rm(dir, { recursive: true, force: true }));

function roles(role: string): string {
  return `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: { name: some }
roleRef: { kind: ClusterRole, name: ${role}, apiGroup: rbac.authorization.k8s.io }
subjects: [{ kind: Group, name: "system:authenticated", apiGroup: rbac.authorization.k8s.io }]
`;
}

async function check(...words: readonly string[]): Promise<{ code: number; out: string; err: string }> {
  const io = { ...fakeIo(), readFile: (path: string) => readFile(path) };
  return { code: await runLine(["policy", "check", ...words], io), out: io.out(), err: io.err() };
}

interface Report {
  readonly requests: number;
  readonly refused: number;
  readonly refusedInOutage: number;
  readonly results: readonly Readonly<Record<string, string>>[];
}

async function report(...words: readonly string[]): Promise<Report> {
  return JSON.parse((await check(...words, "-o", "json")).out) as Report;
}

const deny = (): readonly string[] => [`--policy=${join(dir, "deny.rego")}`, "--query=data.k8s.decision"];

describe("the components that must not be locked out", () => {
  test("each have a name, a source and requests, none twice", () => {
    const components = essentialComponents();
    expect(new Set(components.map(({ component }) => component)).size).toBe(components.length);
    for (const { asks, source } of components) {
      expect(asks.length).toBeGreaterThan(0);
      expect(source).not.toBe("");
      expect(new Set(asks.map((ask) => JSON.stringify(ask))).size).toBe(asks.length);
    }
  });
});

describe("pratique policy check", () => {
  test("finds nothing wrong with the modes of kubeadm, nor with any policy behind them", async () => {
    const plain = await check();
    expect(plain.code).toBe(0);
    expect(plain.out).toMatch(/No request is locked out: the chain Node, RBAC allows all \d{3} requests\.\n$/);
    expect((await check(...deny())).out).toMatch(/No request is locked out: the chain Node, RBAC, Webhook allows all/);
  });

  test("names who a policy before RBAC shuts out, by whom and why, and ends with a code of its own", async () => {
    const { code, out } = await check("--authorization-mode=Webhook,Node,RBAC", ...deny());
    expect(code).toBe(4);
    expect(out).toMatch(/^kubelet +patch nodes\/status node-1 +refused +Webhook +only admin may$/m);
    expect(out).toMatch(/^kube-scheduler +create pods\/binding web -n default +refused +Webhook +only admin may$/m);
    expect(out).toMatch(/^operator \(system:masters\) +6 requests +allowed +Masters$/m);
    expect(out).toMatch(/^\d+ of \d+ requests would be refused by the chain Webhook, Node, RBAC\.$/m);
  });

  test("tells apart what is refused only while the webhook cannot be reached", async () => {
    const silent = ["--policy", join(example, "policy"), "--query=data.k8s.allow"];
    const first = "--authorization-mode=Webhook";
    // With flags a webhook that fails has no opinion, and what only it allows is lost.
    await writeFile(join(dir, "all.rego"), "package k8s\n\nallow := true\n");
    const all = await report(first, `--policy=${join(dir, "all.rego")}`);
    expect([all.refused, all.refusedInOutage > 100]).toEqual([0, true]);
    expect((await report(first, `--policy=${join(dir, "all.rego")}`, "--outage=false")).refusedInOutage).toBe(0);
    const lost = all.results.find(({ verdict }) => verdict === "refused in an outage");
    expect(lost?.["why"]).toBe("Webhook: error: the webhook cannot be reached");
    expect((await report("--authorization-mode=Webhook,Node,RBAC", ...silent)).refused).toBe(0);
  });

  test("does not vouch for a webhook that gives no answer", async () => {
    const file = join(dir, "away.kubeconfig");
    await writeFile(
      file,
      `{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: h, user: u}}],
        clusters: [{name: h, cluster: {server: "https://127.0.0.1:1/authorize"}}], users: [{name: u, user: {}}]}`,
    );
    const words = [`--authorization-webhook-config-file=${file}`, "--for=hub"];
    const { code, out } = await check(...words, "--authorization-mode=Webhook,Node,RBAC");
    expect(code).toBe(3);
    expect(out).toMatch(
      /\n\d+ of \d+ requests were put to a webhook that gave no usable answer; what it would say is not known\.\n  Webhook: \S.*\n$/,
    );
    expect(out).not.toContain("No request is locked out");
    // Nobody asks it where all are allowed before.
    expect((await check(...words)).out).toMatch(/No request is locked out: the chain Node, RBAC, Webhook allows/);
  });

  test("lets the configuration of the example pass, and not without its conditions", async () => {
    const file = join(example, "authorization.yaml");
    expect(await check(`--authorization-config=${file}`, ...deny())).toMatchObject({ code: 0 });
    const bare = (await readFile(file, "utf8")).replace(/ {6}matchConditions:\n(?: {8}- .*\n)+/, "");
    await writeFile(join(dir, "bare.yaml"), bare.replace(/ *matchConditionSubject.*\n/, ""));
    const { refused } = await report(`--authorization-config=${join(dir, "bare.yaml")}`, ...deny());
    expect(refused).toBeGreaterThan(200);
  });

  test("says which node requests RBAC alone refuses", async () => {
    const { results } = await report("--authorization-mode=RBAC");
    const refused = results.filter(({ verdict }) => verdict !== "allowed");
    expect(new Set(refused.map(({ component }) => component))).toEqual(new Set(["kubelet"]));
    expect(refused[0]).toMatchObject({ by: "nobody", why: "no opinion of RBAC", user: "system:node:node-1" });
  });

  test("goes by the roles of a dump alone where it is told so", async () => {
    const dump = ["--rbac", join(dir, "roles.yaml"), "--rbac-base", "none", "--for", "hub"];
    const { results } = await report(...dump);
    const binder = results.find(({ component }) => component === "node bootstrapper");
    expect(binder?.["why"]).toBe('RBAC: clusterrole.rbac.authorization.k8s.io "view" not found');
    expect((await report("--rbac", join(dir, "roles.yaml"), "--for", "hub")).refused).toBe(0);
  });

  test("says why a policy could not be evaluated", async () => {
    const words = ["--authorization-mode=Webhook", `--policy=${join(dir, "fails.rego")}`, "--query=data.k8s.decision"];
    const { results } = await report(...words);
    expect(results.find(({ verdict }) => verdict === "refused")?.["why"]).toBe(
      "the policy could not be evaluated: allow and deny must be booleans, and reason a string",
    );
  });

  test.each([
    [["--rbac-base=none"], "--rbac-base none needs --rbac"],
    [
      ["--authorization-mode=RBAC", "--policy=p"],
      "--policy stands in for the one webhook of the chain, which has none",
    ],
    [["--authorization-mode=RBAC,RBAC"], "names a mode twice"],
    [["--authorization-config=x", "--authorization-mode=RBAC"], "exclude each other"],
    [["--rbac=nowhere.yaml"], "--rbac: nowhere.yaml does not exist: check the path"],
    [["--authorization-mode=Webhook"], "needs --authorization-webhook-config-file"],
  ])("refuses %s", async (words, message) => {
    const { code, err } = await check(...words);
    expect([code, err]).toEqual([2, expect.stringContaining(message)]);
  });

  test("refuses a manifest that the API would refuse, and names object and field", async () => {
    await writeFile(join(dir, "bad.yaml"), `${roles("")}---\nkind: ConfigMap\napiVersion: v1\n`);
    const { code, err } = await check("--rbac", join(dir, "bad.yaml"));
    expect(code).toBe(2);
    expect(err).toContain("bad.yaml: ClusterRoleBinding some: roleRef.name: Required value");
  });
});
