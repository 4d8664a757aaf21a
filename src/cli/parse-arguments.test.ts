import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { CliError } from "./cli-error.ts";
import type { Args, Command } from "./command.ts";
import { parseArguments } from "./parse-arguments.ts";

const command: Command = {
  name: "demo",
  summary: "",
  details: [],
  operands: [
    { name: "ONE", required: true, many: false, description: "the first" },
    { name: "TWO", required: false, many: false, choices: ["left", "right"], description: "the second" },
  ],
  options: [
    { name: "file", short: "f", kind: "text", description: "" },
    { name: "format", short: "o", kind: "text", choices: ["json", "yaml"], default: "json", description: "" },
    { name: "names", kind: "list", default: "a,b", description: "" },
    { name: "port", kind: "integer", default: "6443", description: "" },
    { name: "ttl", kind: "duration", default: "24h", description: "" },
    { name: "yes", kind: "boolean", default: "true", description: "" },
    { name: "force", kind: "boolean", default: "false", description: "" },
  ],
  examples: [],
  run: () => Promise.resolve("ok"),
};

function args(...words: string[]): Args {
  const line = parseArguments(command, words);
  if (line.kind === "help") throw new TypeError("help was not asked for");
  return line.args;
}

function refusal(...words: string[]): string {
  try {
    parseArguments(command, words);
  } catch (error) {
    if (error instanceof CliError && error.code === "usage") return [error.message, ...error.hints].join(" | ");
    throw error;
  }
  return "accepted";
}

describe("parseArguments", () => {
  test("gives the defaults of the table where nothing is said", () => {
    const given = args("x");
    expect(given.text("file")).toBeUndefined();
    expect(given.text("format")).toBe("json");
    expect(given.list("names")).toEqual(["a", "b"]);
    expect(given.number("port")).toBe(6443);
    expect(given.number("ttl")).toBe(86_400_000);
    expect(given.on("yes")).toBe(true);
    expect(given.on("force")).toBe(false);
    expect(given.operands).toEqual(["x"]);
  });

  test("reads values after a blank, after =, and stuck to a short flag", () => {
    expect(args("x", "--file", "a").text("file")).toBe("a");
    expect(args("x", "--file=a=b").text("file")).toBe("a=b");
    expect(args("x", "-f", "a").text("file")).toBe("a");
    expect(args("x", "-oyaml").text("format")).toBe("yaml");
    expect(args("x", "--file=--odd").text("file")).toBe("--odd");
    expect(args("x", "--file", "-").text("file")).toBe("-");
    expect(args("x", "--file=").text("file")).toBe("");
  });

  test("takes the last of several texts, and all of several lists", () => {
    expect(args("x", "-f", "a", "-f", "b").text("file")).toBe("b");
    expect(args("x", "--names", "c,d", "--names=e").list("names")).toEqual(["c", "d", "e"]);
  });

  test("reads a boolean alone and with a value, as Kubernetes does", () => {
    expect(args("x", "--yes=false").on("yes")).toBe(false);
    expect(args("x", "--force").on("force")).toBe(true);
    expect(args("x", "--force=T").on("force")).toBe(true);
    expect(args("--force", "x").operands).toEqual(["x"]);
  });

  test("takes words after -- as they are", () => {
    expect(args("--", "--file").operands).toEqual(["--file"]);
  });

  test("asks for help wherever -h or --help stands, even where something is missing", () => {
    expect(parseArguments(command, ["--help"]).kind).toBe("help");
    expect(parseArguments(command, ["x", "-h"]).kind).toBe("help");
  });

  const refusals: Readonly<Record<string, readonly [readonly string[], string]>> = {
    "an unknown flag, naming the nearest": [["x", "--prot", "1"], "unknown flag: --prot | Did you mean --port?"],
    "an unknown flag near nothing": [["x", "--colour"], "unknown flag: --colour"],
    "an unknown short flag": [["x", "-q"], "unknown flag: -q"],
    "a flag that an object has without being asked": [["x", "--__proto__=1"], "unknown flag: --__proto__"],
    "a flag named constructor": [["x", "--constructor"], "unknown flag: --constructor"],
    "a value that is missing at the end": [["x", "--file"], "--file needs a value"],
    "a value that is missing before a flag": [
      ["x", "--file", "--force"],
      "--file needs a value; one that begins with a dash is written --file=…",
    ],
    "a value that is none of the choices": [["x", "-o", "xml"], "--format xml: must be one of json, yaml"],
    "a number that is none": [["x", "--port", "6e3"], "--port 6e3: must be a whole number"],
    "a negative number": [["x", "--port=-1"], "--port -1: must be a whole number"],
    "a duration without a unit": [
      ["x", "--ttl", "24"],
      '--ttl: missing unit in duration "24": use numbers with a unit, such as 24h, 1h30m, 90s or 500ms (units: h, m, s, ms, us, ns)',
    ],
    "a negative duration": [["x", "--ttl=-1h"], "--ttl -1h: must not be negative"],
    "a boolean that is neither true nor false": [["x", "--yes=maybe"], "--yes=maybe: must be true or false"],
    "an operand that is missing": [[], "ONE is missing: the first"],
    "an operand too many": [["x", "left", "y"], 'one argument too many: "y"'],
    "an operand that is none of the choices": [
      ["x", "lfet"],
      'TWO "lfet": must be one of left, right | Did you mean left?',
    ],
    "a number with something after it, as it was typed": [["x", "--port", "1\\"], "--port 1\\: must be a whole number"],
  };
  test.each(Object.entries(refusals))("refuses %s", (_title, [words, message]) => {
    expect(refusal(...words)).toBe(message);
  });

  test("asking for an option that is not in the table is the caller's bug", () => {
    expect(() => args("x").text("fiel")).toThrow(TypeError);
  });

  test("throws nothing but CliError, whatever is typed", () => {
    const word = fc.oneof(fc.string(), fc.constantFrom("--file", "--port", "-o", "--yes=", "--", "-", "--names"));
    fc.assert(
      fc.property(fc.array(word), (words) => {
        expect(typeof refusal(...words)).toBe("string");
      }),
      { numRuns: 200 },
    );
  });
});
