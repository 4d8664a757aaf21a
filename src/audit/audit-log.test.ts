import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { openAuditLog, streamAuditLog, type AuditBackend, type AuditLogOptions } from "./audit-log.ts";

let dir: string;
let path: string;
let now: number;
let troubles: string[];

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "pratique-audit-log-"));
  path = join(dir, "audit.log");
  now = Date.UTC(2026, 10, 21, 5, 19, 2);
  troubles = [];
});
afterEach(() => rm(dir, { recursive: true, force: true }));

function log(options: Partial<AuditLogOptions> = {}): Promise<AuditBackend> {
  return openAuditLog({
    path,
    maxBytes: Infinity,
    maxBackups: 0,
    maxAgeMs: 0,
    now: () => now,
    trouble: (message) => void troubles.push(message),
    ...options,
  });
}

/** Opens, writes lines, closes. */
async function write(lines: readonly string[], options: Partial<AuditLogOptions> = {}): Promise<AuditBackend> {
  const backend = await log(options);
  for (const line of lines) backend.write(line);
  await backend.close();
  return backend;
}

const text = (file: string): Promise<string> => readFile(join(dir, file), "utf8");

describe("an audit log", () => {
  test("appends lines in order, in a file for its owner alone", async () => {
    await write(["a\n", "b\n"]);
    await write(["c\n"]);
    expect(await text("audit.log")).toBe("a\nb\nc\n");
    expect((await stat(path)).mode & 0o777).toBe(0o600);
  });

  test("is put aside when it is full, under its time, and no line is lost, cut or in two files", async () => {
    const lines = Array.from({ length: 10 }, (_, index) => `line ${index}\n`);
    await write(lines, { maxBytes: 21 });
    const files = (await readdir(dir)).toSorted();
    expect(files.slice(0, 2)).toEqual(["audit-2026-11-21T05-19-02.000.log", "audit-2026-11-21T05-19-02.001.log"]);
    const contents = await Promise.all(files.map(text));
    expect(contents.join("")).toBe(lines.join(""));
    expect(contents.every((content) => content.length <= 21)).toBe(true);
    for (const file of files) expect((await stat(join(dir, file))).mode & 0o777).toBe(0o600);
  });

  test("takes a line that is longer than a file may be, alone", async () => {
    const long = `${"x".repeat(100)}\n`;
    await write(["a\n", long, "b\n"], { maxBytes: 10 });
    const contents = await Promise.all((await readdir(dir)).toSorted().map(text));
    expect(contents).toEqual(["a\n", long, "b\n"]);
  });

  test("keeps only so many files, and only so long, and never touches others", async () => {
    await writeFile(join(dir, "audit-2026-11-01T00-00-00.000.log"), "old");
    await writeFile(join(dir, "audit-of-another-kind.log"), "other");
    await write(["1\n", "2\n", "3\n", "4\n", "5\n"], { maxBytes: 2, maxBackups: 2, maxAgeMs: 24 * 3600 * 1000 });
    expect((await readdir(dir)).toSorted()).toEqual([
      "audit-2026-11-21T05-19-02.002.log",
      "audit-2026-11-21T05-19-02.003.log",
      "audit-of-another-kind.log",
      "audit.log",
    ]);
  });

  test("goes on in the same file where it cannot be put aside, and says so", async () => {
    const backend = await log({ maxBytes: 2 });
    await rm(path);
    for (const line of ["1\n", "2\n", "3\n"]) backend.write(line);
    await backend.close();
    expect(troubles).toContain("the audit log cannot be put aside");
    expect(backend.lost()).toBe(0);
  });

  test("drops lines, counts them and says so once, while more than 64 MiB wait", async () => {
    const backend = await log();
    const line = `${"x".repeat((32 << 20) - 1)}\n`;
    for (let index = 0; index < 5; index += 1) backend.write(line);
    expect(backend.lost()).toBe(3);
    expect(troubles).toEqual(["the audit log is too slow; events are dropped"]);
    await backend.close();
    expect((await stat(path)).size).toBe(64 << 20);
    expect(troubles.at(-1)).toBe("the audit log is written again; 3 events were lost");
  });

  test("cannot be opened where there is no folder", async () => {
    await expect(log({ path: join(dir, "none", "audit.log") })).rejects.toThrow("ENOENT");
  });
});

test("events on a stream are dropped and counted while it takes nothing", () => {
  const stream = new PassThrough();
  const backend = streamAuditLog(stream);
  for (let index = 0; index < 4; index += 1) backend.write("x".repeat(32 << 20));
  expect(backend.lost()).toBe(1);
});
