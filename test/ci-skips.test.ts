import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";

const root = resolve(import.meta.dirname, "..");
let dir: string;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "pratique-skips-"));
});
afterAll(() => rm(dir, { recursive: true, force: true }));

interface Case {
  readonly file: string;
  readonly title: string;
  readonly group?: string;
  readonly status: "passed" | "failed" | "skipped" | "pending" | "todo";
}

const page = await readFile(join(root, "docs/ocm-compatibility.md"), "utf8");
/** The tests that the page names, all of which passed. */
const compatible: readonly Case[] = [...page.matchAll(/\| `((?:test|src)\/[^`]+)`: (.+?) \|$/gm)].map(
  ([, file = "", title = ""]) => ({ file, title, status: "passed" }),
);

interface Judged {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** What CI says of a run with these results; `skips` are those that were reported, `absent` is what the machine cannot have. */
async function judged(
  cases: readonly Case[],
  skips: readonly { readonly title: string; readonly need: string }[] = [],
  absent: readonly string[] = [],
): Promise<Judged> {
  const testResults = cases.map(({ file, title, group = "a group", status }) => ({
    name: join(root, file),
    assertionResults: [{ title, ancestorTitles: [group], status }],
  }));
  await writeFile(join(dir, "results.json"), JSON.stringify({ testResults }));
  const lines = skips.map((skip) => `${JSON.stringify({ why: "it is not there", ...skip })}\n`);
  await writeFile(join(dir, "skips"), lines.join(""));
  const args = [join(root, ".ci/skips.mjs"), join(dir, "results.json"), join(dir, "skips"), ...absent];
  return new Promise((ended) => {
    const child = execFile(process.execPath, args, { cwd: root }, (_, stdout, stderr) =>
      ended({ code: child.exitCode, stdout, stderr }),
    );
  });
}

const peer: Case = { file: "test/peers/a.test.ts", title: "joins", group: "kubelet", status: "skipped" };

test("CI passes where nothing was skipped", async () => {
  expect(compatible.length).toBeGreaterThan(25);
  expect(await judged([...compatible, { ...peer, status: "passed" }])).toEqual({
    code: 0,
    stdout: `skipped: 0 of ${compatible.length + 1}\n`,
    stderr: "",
  });
});

test("CI passes where a peer was skipped that the machine cannot have, and says why", async () => {
  expect(await judged([...compatible, peer], [{ title: "kubelet", need: "kubernetes" }], ["kubernetes"])).toEqual({
    code: 0,
    stdout: `skipped: 1 of ${compatible.length + 1}\n  kubelet: it is not there\n`,
    stderr: "",
  });
});

test("CI fails where a peer was skipped that the machine can have, and says which and why", async () => {
  expect(await judged([...compatible, peer], [{ title: "kubelet", need: "kubernetes" }], ["debian"])).toMatchObject({
    code: 1,
    stderr: "ci: skipped although this machine can have what it needs (kubernetes): kubelet: it is not there\n",
  });
});

test.each(["skipped", "pending", "todo"] as const)(
  "CI fails where a test is %s and no one says why",
  async (status) => {
    expect(
      await judged([...compatible, { ...peer, status }], [{ title: "other", need: "root" }], ["root"]),
    ).toMatchObject({
      code: 1,
      stderr: "ci: skipped without a reason: test/peers/a.test.ts: kubelet > joins\n",
    });
  },
);

test.each(["failed", "skipped", "gone"] as const)(
  "CI fails where a test that docs/ocm-compatibility.md names is %s",
  async (status) => {
    const [row, ...others] = compatible;
    if (row === undefined) throw new TypeError("the page names no test");
    const { file, title } = row;
    const rest = others.filter((other) => other.file !== file || other.title !== title);
    const { code, stderr } = await judged(status === "gone" ? rest : [...rest, { file, title, status }]);
    expect(code).toBe(1);
    expect(stderr).toContain(`ci: docs/ocm-compatibility.md names a test that did not pass: ${file}: ${title}\n`);
  },
);

test("CI looks at each case of a title with %s", async () => {
  const row = compatible.find(({ title }) => title.includes("%s"));
  if (row === undefined) throw new TypeError("the page names no test of several cases");
  const { file, title } = row;
  const others = compatible.filter((other) => other.file !== file || other.title !== title);
  const all = (last: Case["status"]): readonly Case[] => [
    ...others,
    { file, title: title.replace("%s", "one (1)"), status: "passed" },
    { file, title: title.replace("%s", "two"), status: last },
  ];
  expect(await judged(all("passed"))).toMatchObject({ code: 0, stderr: "" });
  expect((await judged(all("failed"))).stderr).toContain(`did not pass: ${file}: ${title}\n`);
});

test("CI judges a run of some files by the rows of docs/ocm-compatibility.md that name these files", async () => {
  const [row] = compatible;
  if (row === undefined) throw new TypeError("the page names no test");
  const ofFile = compatible.filter(({ file }) => file === row.file);
  expect(await judged(ofFile, [], ["--part"])).toMatchObject({ code: 0, stderr: "" });
  const [failing, ...rest] = ofFile;
  expect((await judged([{ ...row, ...failing, status: "failed" }, ...rest], [], ["--part"])).stderr).toContain(
    `did not pass: ${row.file}: ${row.title}\n`,
  );
  expect(await judged([peer], [], ["--part"])).toMatchObject({ code: 1 });
});

test("CI fails on a report without tests", async () => {
  const { code, stderr } = await judged([]);
  expect(code).toBe(1);
  expect(stderr).toContain("ci: the report names no tests\n");
});
