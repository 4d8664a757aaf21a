import { once } from "node:events";
import type { Worker } from "node:worker_threads";
import * as fc from "fast-check";
import { afterEach, describe, expect, it } from "vitest";
import { readYaml, YamlError, yamlText } from "./bounded-yaml.ts";
import type { YamlErrorCode } from "./yaml-error.ts";
import { yamlThread, type YamlThread, type YamlThreadOptions, type YamlWork } from "./yaml-thread.ts";

const limits = { maxCharacters: 3 * 1024 * 1024, maxValues: 20_000 };
const megabyte = 1024 * 1024;

const open: YamlThread[] = [];
/** A thread, and the work of one flow on it. */
function thread(options?: YamlThreadOptions): YamlThread & YamlWork {
  // What is refused must not be refused for its time on a busy machine.
  const made = yamlThread({ maxJobMs: 60_000, ...options });
  open.push(made);
  return { ...made, ...made.of("a") };
}
afterEach(async () => {
  await Promise.all(open.splice(0).map(({ close }) => close()));
});

function inline(text: string): unknown {
  try {
    return readYaml(text, { maxCharacters: limits.maxCharacters, maxValues: limits.maxValues, numbers: "number" });
  } catch (error) {
    return saidOf(error);
  }
}

async function threaded(yaml: YamlWork, text: string): Promise<unknown> {
  try {
    return JSON.parse(await yaml.parse(text, limits));
  } catch (error) {
    return saidOf(error);
  }
}

function saidOf(error: unknown): unknown {
  if (!(error instanceof YamlError)) throw error;
  return { code: error.code, message: error.message };
}

async function codeOf(job: Promise<string>): Promise<YamlErrorCode | "done" | "unknown"> {
  try {
    await job;
    return "done";
  } catch (error) {
    return error instanceof YamlError ? error.code : "unknown";
  }
}

describe("the YAML thread", () => {
  it("reads a document as JSON text", async () => {
    const text = "a: 1\nb: [x, true, null, 1.5]\n__proto__: {c: d}\n";
    expect(await thread().parse(text, limits)).toBe(
      '{"value":{"a":1,"b":["x",true,null,1.5],"__proto__":{"c":"d"}},"duplicates":[]}',
    );
  });

  it("refuses what cannot be read, in the words of loadYaml, and goes on", async () => {
    const yaml = thread();
    for (const text of ["a: 1\na: 2\n", "a: &x 1\nb: *x\n", "[".repeat(1000), "a: 'b", "a: .nan", "- a\n---\n- b"]) {
      expect(await threaded(yaml, text)).toEqual(inline(text));
    }
    expect(await yaml.parse("a: b", limits)).toBe('{"value":{"a":"b"},"duplicates":[]}');
  });

  it("counts values and not keys", async () => {
    const yaml = thread();
    const text = "a: 1\nb:\n- c\n- d: e\n";
    expect(await yaml.parse(text, { ...limits, maxValues: 6 })).toBe(
      '{"value":{"a":1,"b":["c",{"d":"e"}]},"duplicates":[]}',
    );
    await expect(yaml.parse(text, { ...limits, maxValues: 5 })).rejects.toMatchObject({
      code: "values",
      message: "more than 5 values",
    });
  });

  it("agrees with loadYaml on any text", async () => {
    const yaml = thread();
    const yamlish = fc.string({
      unit: fc.constantFrom(...Array.from("ab:-?,[]{}&*!|>%@'\"# \n\t\\0~.1e+")),
      maxLength: 60,
    });
    const texts = fc.oneof(yamlish, fc.string({ unit: "binary" }), fc.jsonValue().map(yamlText));
    const property = fc.asyncProperty(texts, async (text) => {
      expect(await threaded(yaml, text)).toEqual(inline(text));
    });
    await expect(fc.assert(property, { numRuns: 300 })).resolves.toBeUndefined();
  });

  it("writes what yamlText writes", async () => {
    const yaml = thread();
    const property = fc.asyncProperty(fc.jsonValue(), async (value) => {
      const json = JSON.stringify(value);
      expect(await yaml.stringify(json)).toBe(yamlText(JSON.parse(json)));
      expect(await yaml.stringify([json.slice(0, 1), json.slice(1)])).toBe(yamlText(JSON.parse(json)));
    });
    await expect(fc.assert(property, { numRuns: 200 })).resolves.toBeUndefined();
  });

  it.each([
    ["a flow list", `a: [${"a,".repeat(megabyte)}]`],
    ["a flow list of nothing", `a: [${",".repeat(3 * megabyte - 10)}]`],
    ["flow mappings", `a: [${"{a: b},".repeat(300_000)}]`],
    ["a block list", "- a\n".repeat(700_000)],
    ["a block mapping", Array.from({ length: 250_000 }, (_, index) => `k${index}: v`).join("\n")],
    ["keys without values", Array.from({ length: 300_000 }, (_, index) => `k${index}:`).join("\n")],
    ["comments", `a: b\n${"#\n".repeat(megabyte)}`],
    ["blank lines", `a: b\n${"\n".repeat(3 * megabyte - 5)}`],
    ["documents", "---\n".repeat(700_000)],
    ["anchors", `[${Array.from({ length: 200_000 }, (_, index) => `&a${index} b`).join(",")}]`],
    ["aliases", `[&a b,${"*a,".repeat(megabyte - 10)}]`],
    ["tags", `[${"!t a,".repeat(500_000)}]`],
    ["question marks", "? a\n".repeat(700_000)],
  ])("refuses millions of values, comments or marks at once: %s", async (_what, text) => {
    await expect(thread().parse(text, limits)).rejects.toMatchObject({ code: "values" });
  });

  it.each([
    ["a plain scalar on one line", `a: ${"x".repeat(2 * megabyte)}`],
    ["a plain scalar on many lines", `a: x\n${"  word of it\n".repeat(150_000)}`],
    ["a quoted scalar on many lines", `a: "x\n${"  word of it\n".repeat(150_000)}"`],
    ["a quoted scalar of escapes", `a: "${"\\u00e9".repeat(300_000)}"`],
    ["a block scalar", `a: |\n${"    line, of text: [with signs]\n".repeat(65_000)}`],
    ["a folded block scalar", `a: >\n${"    line, of text: [with signs]\n".repeat(65_000)}`],
    ["spaces within a scalar", `a: x${" ".repeat(2 * megabyte)}y`],
    ["a huge key", `"${"k".repeat(2 * megabyte)}": v`],
    ["a huge comment", `a: b #${"c".repeat(2 * megabyte)}`],
    ["a huge tag", `a: !${"t".repeat(2 * megabyte)} b`],
    ["a huge anchor", `a: &${"t".repeat(2 * megabyte)} b`],
    ["brackets", "[".repeat(3 * megabyte)],
    ["braces", "{a: ".repeat(700_000)],
    ["dashes", "- ".repeat(megabyte)],
    ["indentation", Array.from({ length: 1500 }, (_, at) => `${" ".repeat(at)}a:\n`).join("")],
  ])("comes to an end with %s, and then reads the next text", async (_what, text) => {
    const yaml = thread({ maxJobMs: 60_000 });
    expect(["done", "syntax", "depth"]).toContain(await codeOf(yaml.parse(text, limits)));
    expect(await yaml.parse("a: b", limits)).toBe('{"value":{"a":"b"},"duplicates":[]}');
  });

  it("ends a job that takes too long, fails it alone, and starts anew for those that wait", async () => {
    const timers: (() => void)[] = [];
    let stopped = 0;
    const after = (ms: number, run: () => void): (() => void) => {
      if (ms === 7) timers.push(run);
      return () => (stopped += ms === 7 ? 1 : 0);
    };
    const yaml = thread({ maxJobMs: 7, after });
    const first = codeOf(yaml.parse(`a: ${"x".repeat(megabyte)}`, limits));
    const second = yaml.parse("a: b", limits);
    timers[0]?.();
    expect(await first).toBe("time");
    expect(await second).toBe('{"value":{"a":"b"},"duplicates":[]}');
    expect([timers.length, stopped]).toEqual([2, 2]);
  });

  it("ends after a time without a job, and starts anew with the next one", async () => {
    const workers: Worker[] = [];
    const note = (worker: Worker): void => void workers.push(worker);
    process.on("worker", note);
    const ends: (() => void)[] = [];
    let stopped = 0;
    const after = (ms: number, run: () => void): (() => void) => {
      if (ms === 9) ends.push(run);
      return () => (stopped += ms === 9 ? 1 : 0);
    };
    try {
      const yaml = thread({ maxIdleMs: 9, after });
      await yaml.parse("a: b", limits);
      await yaml.parse("a: c", limits);
      expect([workers.length, ends.length, stopped]).toEqual([1, 2, 1]);
      const exited = once(workers[0] as Worker, "exit");
      ends[1]?.();
      await exited;
      expect(await yaml.parse("a: d", limits)).toBe('{"value":{"a":"d"},"duplicates":[]}');
      expect(workers.length).toBe(2);
    } finally {
      process.off("worker", note);
    }
  });

  it("fails a job that needs too much memory alone, and starts anew", async () => {
    const yaml = thread({ maxHeapMb: 24, maxJobMs: 60_000 });
    const large = codeOf(yaml.stringify(JSON.stringify(Array.from({ length: 200_000 }, (_, index) => ({ index })))));
    const next = yaml.parse("a: b", limits);
    expect(await large).toBe("memory");
    expect(await next).toBe('{"value":{"a":"b"},"duplicates":[]}');
  });

  it("takes so many jobs and so many characters, and refuses more at once", async () => {
    const yaml = thread({ maxJobs: 2, maxJobCharacters: 10 });
    const codes = ["a: b", "a: c", "a: d"].map((text) => codeOf(yaml.parse(text, limits)));
    expect(await Promise.all(codes)).toEqual(["done", "done", "busy"]);
    const long = ["a: 4567890123", "a: b"].map((text) => codeOf(yaml.parse(text, limits)));
    expect(await Promise.all(long)).toEqual(["done", "busy"]);
    expect(await codeOf(yaml.parse("a: b", limits))).toBe("done");
  });

  it("lets flows take turns, and refuses a flow that has too many jobs alone", async () => {
    const yaml = thread({ maxJobsOfFlow: 3 });
    const ends: string[] = [];
    const done = async (flow: string, name: string): Promise<YamlErrorCode | "done" | "unknown"> => {
      const code = await codeOf(yaml.of(flow).parse(`name: ${name}`, limits));
      ends.push(`${name} ${code}`);
      return code;
    };
    await Promise.all([
      ...["a1", "a2", "a3", "a4"].map((name) => done("a", name)),
      ...["b1", "c1", "b2"].map((name) => done(name.slice(0, 1), name)),
    ]);
    expect(ends).toEqual(["a4 busy", "a1 done", "b1 done", "c1 done", "a2 done", "b2 done", "a3 done"]);
  });

  it("fails what waits when it is closed, and everything after", async () => {
    const yaml = thread();
    const waiting = [yaml.parse("a: b", limits), yaml.stringify("{}")].map(codeOf);
    await yaml.close();
    expect(await Promise.all(waiting)).toEqual(["closed", "closed"]);
    expect(await codeOf(yaml.parse("a: b", limits))).toBe("closed");
  });

  it("fails a job in which the program itself fails, and goes on", async () => {
    const yaml = thread();
    expect(await codeOf(yaml.stringify("no JSON"))).toBe("unknown");
    expect(await yaml.stringify('{"a":"b"}')).toBe("a: b\n");
  });
});
