import { afterAll, describe, expect, it } from "vitest";
import { parseYamlBody, yamlOfJson } from "./yaml.ts";
import { StatusError } from "../apimachinery/status.ts";
import { YamlError, type YamlErrorCode } from "../serializer/yaml/yaml-error.ts";
import { yamlThread, type YamlWork } from "../serializer/yaml/yaml-thread.ts";

const opened = yamlThread({ maxJobMs: 60_000 });
const real = opened.of("a");
afterAll(opened.close);
const limits = { maxValues: 20_000 };

/** Fails every job with a code, and counts them. */
function failing(code: YamlErrorCode): YamlWork & { readonly jobs: () => number } {
  let jobs = 0;
  const fail = (): Promise<string> => {
    jobs += 1;
    return Promise.reject(new YamlError(code, "takes longer than 5000 ms"));
  };
  return { parse: fail, stringify: fail, jobs: () => jobs };
}

const long = (text: string): string => `${text}\n${"# a comment\n".repeat(200)}`;

async function refused(job: Promise<unknown>): Promise<{ readonly code: number; readonly message: string }> {
  const error = await job.catch((thrown: unknown) => thrown);
  if (!(error instanceof StatusError)) throw error;
  return { code: error.code, message: error.message };
}

describe("a body in YAML", () => {
  it.each(["{}", "a: b", "a:\n- 1\n- c: [true, null]\n"])(
    "is the same read inline and by the thread: %j",
    async (text) => {
      const inline = await parseYamlBody(failing("closed"), text, limits);
      expect(await parseYamlBody(real, long(text), limits)).toEqual(inline);
      expect(inline.duplicates).toEqual([]);
    },
  );

  it("that is JSON is read without YAML, however long", async () => {
    const { jobs, ...thread } = failing("closed");
    const value = {
      metadata: { name: "a" },
      data: Object.fromEntries(Array.from({ length: 9000 }, (_, at) => [`k${at}`, "v"])),
    };
    const read = await parseYamlBody(thread, ` \n${JSON.stringify(value)}`, limits);
    expect(read).toEqual({ value, duplicates: [] });
    expect(jobs()).toBe(0);
  });

  it("that begins like JSON and is none is read as YAML", async () => {
    expect((await parseYamlBody(real, "{a: '[[[', b: c}", limits)).value).toEqual({ a: "[[[", b: "c" });
    expect((await parseYamlBody(real, `{a: '${"[".repeat(2000)}'}`, limits)).value).toEqual({ a: "[".repeat(2000) });
  });

  it.each([
    ['{"a": 1,\n"a": 2}', { a: 2 }, [{ line: 2, key: "a" }]],
    ["a: 1\na: 2\n", { a: 2 }, [{ line: 2, key: "a" }]],
  ])("takes the last of two values, and says where it is, inline and by the thread: %j", async (text, value, found) => {
    for (const body of [text, long(text)]) {
      expect(await parseYamlBody(real, body, limits)).toEqual({ value, duplicates: found });
    }
  });

  it.each([
    ["JSON", (count: number) => `{"a":[${"0,".repeat(count)}0]}`],
    ["YAML", (count: number) => `a:\n${"- 0\n".repeat(count)}`],
    ["a flow list", (count: number) => `a: [${"0,".repeat(count)}]`],
  ])("of more values than it may hold is answered with 413: %s", async (_what, text) => {
    for (const [count, maxValues] of [
      [20, 10],
      [20_000, 10_000],
    ] as const) {
      const answer = await refused(parseYamlBody(real, text(count), { maxValues }));
      expect(answer).toEqual({
        code: 413,
        message: `Request entity too large: the YAML body holds more than ${maxValues} values; send less, or application/json`,
      });
    }
  });

  it.each([
    ["time", 413, "Request entity too large: the YAML body takes longer than 5000 ms; send less, or application/json"],
    [
      "memory",
      413,
      "Request entity too large: the YAML body takes longer than 5000 ms; send less, or application/json",
    ],
    ["busy", 429, "takes longer than 5000 ms; try again later, or use application/json"],
    ["closed", 503, "the hub is shutting down"],
  ] as const)("is answered where the thread gives it up: %s is %d", async (failure, code, message) => {
    expect(await refused(parseYamlBody(failing(failure), long("a: b"), limits))).toEqual({ code, message });
  });
});

describe("an answer in YAML", () => {
  it("is written inline where it is short, and by the thread where it is long", async () => {
    expect(await yamlOfJson(failing("closed"), '{"a":"yes"}')).toBe('a: "yes"\n');
    const text = "x".repeat(5000);
    expect(await yamlOfJson(real, JSON.stringify({ text }))).toBe(`text: ${text}\n`);
  });

  it.each([
    ["time", 406],
    ["memory", 406],
    ["busy", 429],
    ["closed", 503],
  ] as const)("is refused where the thread gives it up: %s is %d", async (failure, code) => {
    expect(await refused(yamlOfJson(failing(failure), JSON.stringify("x".repeat(5000))))).toMatchObject({ code });
  });
});
