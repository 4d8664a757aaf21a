import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { fakeIo, runLine } from "../../../test/kits/fake-io.ts";

let dir: string;

const policy = `package k8s

default allow := false

allow if "admin" in input.spec.groups

about := {"user": input.spec.user}
`;

const tests = `package k8s_test

import data.k8s

test_admin if k8s.allow with input as {"spec": {"groups": ["admin"]}}

test_others if not k8s.allow with input as {"spec": {"groups": []}}
`;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "pratique-policy-"));
  await mkdir(join(dir, "good", "deeper"), { recursive: true });
  await mkdir(join(dir, "bad"));
  await mkdir(join(dir, "empty"));
  await writeFile(join(dir, "good", "k8s.rego"), policy);
  await writeFile(join(dir, "good", "deeper", "k8s_test.rego"), tests);
  await writeFile(
    join(dir, "bad", "k8s_test.rego"),
    `${tests}\ntest_wrong if k8s.allow with input as {}\n\ntest_fails := [k | some k in {1, 2}][_]\n`,
  );
  await writeFile(join(dir, "bad", "k8s.rego"), policy);
  await writeFile(join(dir, "broken.rego"), "package k8s\n\nallow if x > 1\n");
  await writeFile(join(dir, "review.json"), JSON.stringify({ spec: { groups: ["admin"], user: "jane" } }));
});

afterAll(() => rm(dir, { recursive: true, force: true }));

async function run(words: readonly string[], stdin = ""): Promise<{ code: number; out: string; err: string }> {
  const io = { ...fakeIo({ stdin }), readFile: (path: string) => readFile(path) };
  return { code: await runLine(words, io), out: io.out(), err: io.err() };
}

describe("pratique policy eval", () => {
  const good = (): string => `--policy=${join(dir, "good")}`;

  test("prints the value of a rule for an input from a file or from standard input", async () => {
    const input = `--input=${join(dir, "review.json")}`;
    expect(await run(["policy", "eval", good(), input])).toMatchObject({ code: 0, out: "true\n" });
    expect(await run(["policy", "eval", good(), "--query=data.k8s.about", input])).toMatchObject({
      code: 0,
      out: '{"user":"jane"}\n',
    });
    expect(await run(["policy", "eval", good(), "--input=-"], "{}")).toMatchObject({ code: 0, out: "false\n" });
  });

  test("reads a folder as a ConfigMap is mounted, once, and no folder that a link leads to", async () => {
    const mounted = join(dir, "mounted");
    await mkdir(join(mounted, "..2026"), { recursive: true });
    await writeFile(join(mounted, "..2026", "k8s.rego"), policy);
    await symlink("..2026", join(mounted, "..data"));
    await symlink("..data/k8s.rego", join(mounted, "k8s.rego"));
    await symlink(".", join(mounted, "loop"));
    await symlink("nowhere", join(mounted, "lost.rego"));
    const { code, out, err } = await run(["policy", "eval", `--policy=${mounted}`, "--input=-"], "{}");
    expect([code, out, err]).toEqual([0, "false\n", ""]);
  });

  test("says undefined, and fails, where there is no value", async () => {
    expect(await run(["policy", "eval", good(), "--query=data.k8s.about"])).toMatchObject({
      code: 1,
      out: "undefined\n",
    });
  });

  test.each([
    [["--query=data.k8s.other"], "the policy has no such rule; there are: data.k8s.about, data.k8s.allow"],
    [["--input=nowhere.json"], "--input: nowhere.json does not exist: check the path"],
    [["--query=input"], "a query is a place under data"],
    [["--query=data.k8s.test_["], "rego_parse_error"],
    [["--input=-"], "not JSON"],
  ])("refuses %j", async (words, said) => {
    const { code, out, err } = await run(["policy", "eval", good(), ...words], "{");
    expect([code, out]).toEqual([2, ""]);
    expect(err).toContain(said);
  });

  test.each([
    ["broken.rego", "broken.rego:3:10: rego_unsafe_var_error: var x is unsafe"],
    ["nowhere", "is not there"],
    ["empty", "holds no .rego files"],
  ])("says what is wrong with %s", async (name, said) => {
    const { code, err } = await run(["policy", "eval", `--policy=${join(dir, name)}`]);
    expect(code).toBe(2);
    expect(err).toContain(said);
  });
});

describe("pratique policy eval of another kind", () => {
  const review = {
    apiVersion: "authorization.k8s.io/v1",
    kind: "SubjectAccessReview",
    spec: { user: "jane", groups: ["admin"], resourceAttributes: { verb: "list" } },
  };

  test("prints what rules in CEL decide", async () => {
    const file = join(dir, "admin.cel");
    await writeFile(file, "'admin' in request.groups");
    expect(await run(["policy", "eval", `--cel=${file}`, "--input=-"], JSON.stringify(review))).toMatchObject({
      code: 0,
      out: '{"allow":true,"deny":false}\n',
    });
    const { code, err } = await run(["policy", "eval", `--cel=${file}`, "--input=-"], "{}");
    expect([code, err]).toEqual([1, expect.stringContaining("the body is no SubjectAccessReview") as string]);
  });

  test.each([
    ["one.cel", "reqest.user == 'x'", "one.cel: 1:1: undeclared reference to 'reqest' (in container '')"],
    [
      "rules.yaml",
      "apiVersion: pratique.dev/v1alpha1\nkind: CelPolicy\nrules: [{name: a, expression: \"user == 'x'\", decision: Allow}]\n",
      "compilation failed: 1:1: undeclared reference to 'user' (in container '')",
    ],
  ])("says what is wrong with rules in CEL, on one line: %s", async (name, text, said) => {
    const file = join(dir, name);
    await writeFile(file, text);
    const { code, err } = await run(["policy", "eval", `--cel=${file}`]);
    expect(code).toBe(2);
    expect(err).toMatch(/^error: [^\n\\]+\nSee 'pratique policy eval --help'\.\n$/);
    expect(err).toContain(`${said}\n`);
  });

  test.each([
    [[], "--policy is needed, or one of --bundle, --cel and --opa-url"],
    [["--policy=x", "--cel=y"], "--policy and --cel exclude each other"],
    [["--cel=nowhere"], "nowhere is not there"],
    [["--bundle=nowhere"], "nowhere is not there"],
    [["--bundle=x", "--query=data"], "names joined by dots below data"],
    [["--opa-url=ftp://x"], "http[s]://HOST[:PORT]"],
    [["--opa-url=nonsense"], '--opa-url "nonsense": must be http[s]://HOST[:PORT]'],
    [["--opa-url=https://u:p@x"], "no credentials"],
    [["--opa-url=http://opa.example:8181"], "http:// is for this machine only"],
    [["--opa-url=http://127.0.0.1.example:8181"], "http:// is for this machine only"],
    [["--opa-url=http://127.0.0.1:1", "--opa-ca-file=x"], "--opa-ca-file is for https://"],
    [["--opa-url=https://x", "--query=data.a[0]"], "names joined by dots below data"],
    [["--opa-url=https://x", "--query=data.a/../b"], "names joined by dots below data"],
    [["--opa-url=https://x", "--opa-timeout=0s"], "--opa-timeout"],
    [["--opa-url=https://x", "--opa-timeout=1h"], "--opa-timeout"],
  ])("refuses %j", async (words, said) => {
    const { code, err } = await run(["policy", "eval", ...words]);
    expect(code).toBe(2);
    expect(err).toContain(said);
  });

  test("ends with the code of a server that cannot be reached, and without a value, where OPA cannot be asked", async () => {
    const { code, out, err } = await run(["policy", "eval", "--opa-url=http://127.0.0.1:1", "--input=-"], "{}");
    expect([code, out]).toEqual([3, ""]);
    expect(err).toBe(
      "error: OPA cannot be asked: ECONNREFUSED\nDoes an OPA server run at --opa-url http://127.0.0.1:1?\n",
    );
  });

  test.each([
    ["--opa-ca-file", "no certificate", "holds no PEM certificate"],
    ["--opa-token-file", "two\nlines", "holds no token"],
    ["--opa-token-file", "", "holds no token"],
  ])("refuses %s with %j", async (option, text, said) => {
    const file = join(dir, "opa-file");
    await writeFile(file, text);
    const { code, err } = await run(["policy", "eval", "--opa-url=https://127.0.0.1:1", `${option}=${file}`]);
    expect([code, err]).toEqual([2, expect.stringContaining(said) as string]);
  });
});

describe("pratique policy test", () => {
  test("runs what begins with test_, in folders below too", async () => {
    expect(await run(["policy", "test", join(dir, "good")])).toEqual({
      code: 0,
      out: `data.k8s_test.test_admin: PASS\ndata.k8s_test.test_others: PASS\n${"-".repeat(40)}\nPASS: 2/2\n`,
      err: "",
    });
  });

  test("fails when one does, or cannot be evaluated", async () => {
    const { code, out } = await run(["policy", "test", join(dir, "bad")]);
    expect(code).toBe(1);
    expect(out).toContain("data.k8s_test.test_wrong: FAIL\n");
    expect(out).toMatch(/test_fails: ERROR\n {2}.*eval_conflict_error/);
    expect(out).toContain("PASS: 2/4\nFAIL: 2/4\n");
  });

  test("needs tests", async () => {
    expect(await run(["policy", "test", join(dir, "good", "k8s.rego")])).toMatchObject({ code: 2 });
  });
});
