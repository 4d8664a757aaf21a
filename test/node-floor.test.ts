import { execFile, execFileSync } from "node:child_process";
import { chmod, cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join, resolve } from "node:path";
import { build } from "esbuild";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { bundleOptions } from "../bundle-options.mjs";
import { nodeProblem } from "../supported-node.mjs";

const root = resolve(import.meta.dirname, "..");
const manifest = JSON.parse(await readFile(join(root, "package.json"), "utf8")) as {
  readonly engines: { readonly node: string };
  readonly scripts: Readonly<Record<string, string>>;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
};

const versions: Readonly<Record<string, string>> = { ...manifest.dependencies, ...manifest.devDependencies };

/** A real Node below the floor, as CI has it; where there is none, this Node is told that it is an old one. */
const oldNode = process.env["PRATIQUE_OLD_NODE"] ?? "";

let checkout: string;
let version: string;

beforeAll(async () => {
  checkout = await mkdtemp(join(tmpdir(), "pratique-old-node-"));
  await build({ absWorkingDir: root, outdir: join(checkout, "dist/bin"), ...bundleOptions("0.0.0-test") });
  const compiler = join(root, "node_modules/typescript/bin/tsc");
  execFileSync(process.execPath, [compiler, "-p", "tsconfig.build.json", "--outDir", join(checkout, "dist")], {
    cwd: root,
    stdio: "pipe",
  });
  const files = [
    "package.json",
    "supported-node.mjs",
    "check-node.mjs",
    "build.mjs",
    "bundle-options.mjs",
    "licences.mjs",
  ];
  for (const name of [...files, "demo", "bench", "generate"]) {
    await cp(join(root, name), join(checkout, name), { recursive: true });
  }
  await symlink(join(root, "node_modules"), join(checkout, "node_modules"));
  await mkdir(join(checkout, "bin"));
  const stub = join(checkout, "bin/stub.cjs");
  await writeFile(
    stub,
    `Object.defineProperty(process, "versions", { value: { ...process.versions, node: "18.20.8" } });`,
  );
  const command = oldNode === "" ? `"${process.execPath}" --require "${stub}"` : `"${oldNode}"`;
  await writeFile(join(checkout, "bin/node"), `#!/bin/sh\nexec ${command} "$@"\n`);
  await chmod(join(checkout, "bin/node"), 0o755);
  version = (await run("node -p process.versions.node")).output.trim();
});

afterAll(() => rm(checkout, { recursive: true, force: true }));

/** Runs a line of sh in the checkout, where `node` is the old one. */
function run(line: string): Promise<{ readonly code: number | null; readonly output: string }> {
  const path = [join(checkout, "bin"), join(root, "node_modules/.bin"), dirname(process.execPath), "/usr/bin", "/bin"];
  return new Promise((ended) => {
    const env = { PATH: path.join(delimiter), HOME: checkout, TMPDIR: checkout, NODE_NO_WARNINGS: "1" };
    const child = execFile("/bin/sh", ["-c", line], { cwd: checkout, env, timeout: 30_000 }, (_, stdout, stderr) =>
      ended({ code: child.exitCode, output: `${stdout}${stderr}` }),
    );
  });
}

const refused = (): string =>
  `pratique requires Node.js 20.19+ or 22.12+, and this is Node.js ${version}: install a newer Node.js\n`;

describe("a Node below the floor", () => {
  test.each(["dist/bin/pratique.js version", "dist/bin/pratique.js hub --data-dir hub --secure-port 0"])(
    "is refused in one sentence by: node %s",
    async (line) => {
      expect(await run(`node ${line}`)).toEqual({ code: 1, output: refused() });
    },
  );

  test("is refused by the library with an error that has a code", async () => {
    const program = `import("pratique").catch(({ code, message }) => console.log(code + ": " + message));`;
    expect(await run(`node -e '${program}'`)).toEqual({ code: 0, output: `unsupported-node: ${refused()}` });
  });

  test("is refused by the library in one sentence and no stack, where the program handles no error", async () => {
    await writeFile(join(checkout, "program.mjs"), 'import { startHub } from "pratique";\nawait startHub({});\n');
    const { code, output } = await run("node program.mjs");
    expect(code).toBe(1);
    expect(output).toContain(`UnsupportedNodeError: ${refused().trim()}`);
    expect(output).not.toMatch(/^ +at /m);
  });

  test("is refused in one sentence by the demo itself", async () => {
    expect(await run("node demo/demo.mjs")).toEqual({ code: 1, output: refused() });
  });

  const scripts = Object.entries(manifest.scripts);
  test("is refused by each of the scripts below", () => {
    expect(scripts.length).toBeGreaterThanOrEqual(12);
  });
  test.each(scripts)("is refused in one sentence by: npm run %s", async (_, line) => {
    expect(await run(line)).toEqual({ code: 1, output: refused() });
  });
});

describe("the floor", () => {
  test.each([
    ["0.12.18", false],
    ["18.20.8", false],
    ["20.18.3", false],
    ["20.19.0", true],
    ["20.20.2", true],
    ["21.7.3", false],
    ["22.11.0", false],
    ["22.12.0", true],
    ["23.0.0", true],
    ["24.0.0-nightly20250101", true],
    ["100.0.0", true],
  ])("%s is supported: %s", (one, isSupported) => {
    expect(nodeProblem(one) === undefined).toBe(isSupported);
  });

  test("is why the packages of docs/dependencies.md stay at the release that package.json names", async () => {
    const page = await readFile(join(root, "docs/dependencies.md"), "utf8");
    const rows = [...page.matchAll(/^\| `([^`]+)` \| ([\d.]+) \|/gm)].map(([, name = "", version = ""]) => [
      name,
      version,
    ]);
    expect(rows.length).toBeGreaterThan(2);
    expect(rows).toEqual(rows.map(([name = ""]) => [name, versions[name]]));
  });

  test("is what package.json tells npm and what the program is compiled for", () => {
    expect(manifest.engines.node).toBe("^20.19.0 || >=22.12.0");
    expect(bundleOptions("0").target).toBe("node20.19");
  });
});
