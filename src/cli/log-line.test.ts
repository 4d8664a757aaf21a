import { describe, expect, test, it } from "vitest";
import { logEntry } from "../apimachinery/log-entry.ts";
import { logLine, logProcessAsJson, wantsJsonLog } from "./log-line.ts";
import { EventEmitter } from "node:events";
import { fakeIo } from "../../test/kits/fake-io.ts";
import { commands } from "./commands.ts";
import { runProgram } from "./program.ts";

const now = Date.UTC(2026, 10, 21, 1, 2, 3, 45);

describe("logLine", () => {
  test("writes time, level, message and details on one line", () => {
    const line = logLine("text", now, logEntry("WatchFailed", "it broke", { key: "a/b", tries: 3, why: 'no "x"' }));
    expect(line).toBe('2026-11-21T01:02:03.045Z WARN  it broke reason=WatchFailed key=a/b tries=3 why="no \\"x\\""\n');
  });

  test("leaves out details that are undefined", () => {
    expect(logLine("text", now, logEntry("Ready", "m", { error: undefined }))).toBe(
      "2026-11-21T01:02:03.045Z INFO  m reason=Ready\n",
    );
  });

  test("lets nobody begin a line of their own, or reach the terminal", () => {
    const line = logLine("text", now, logEntry("Ready", "a\nb", { name: "c\u001b[2J\r\nd", list: ["\u202e"] }));
    expect(line).toBe(
      '2026-11-21T01:02:03.045Z INFO  a\\u{a}b reason=Ready name="c\\u{1b}[2J\\u{d}\\u{a}d" list=["\\u{202e}"]\n',
    );
  });

  test("writes JSON that holds the same", () => {
    const entry = logEntry("RequestFailed", "a\nb\u009b", { requestId: "7" });
    const line = logLine("json", now, entry);
    expect(line).toMatch(/^[ -~]+\n$/);
    expect(JSON.parse(line)).toEqual({ time: "2026-11-21T01:02:03.045Z", ...entry });
  });
});

const parsed = (text: string): readonly Record<string, unknown>[] =>
  text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, unknown>);

describe("a command whose log is JSON", () => {
  it.each([
    ["a flag that there is not", ["hub", "--log-format", "json", "--bogus"], 2],
    ["a value that is wrong", ["hub", "--log-format=json", "--secure-port", "65536"], 2],
    ["a start that fails", ["hub", "--log-format", "json"], 1],
  ])("says %s in one line of JSON", async (_, words, code) => {
    const io = fakeIo({ startHub: () => Promise.reject(new TypeError("no room")) });
    expect(await runProgram(commands, words, io)).toBe(code);
    const lines = parsed(io.err());
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatchObject({
      level: "error",
      reason: "CommandFailed",
      message: expect.any(String),
      time: expect.any(String),
    });
  });

  it("is known before the command line is parsed", () => {
    const asks = (line: string): boolean => wantsJsonLog(commands, line.split(" "));
    expect(asks("hub --log-format json")).toBe(true);
    expect(asks("hub --log-format=json --bogus")).toBe(true);
    expect(asks("hub --log-format json --log-format text")).toBe(false);
    expect(asks("hub")).toBe(false);
    expect(asks("token create --log-format json")).toBe(false);
    expect(asks("nothing --log-format json")).toBe(false);
  });

  it("has what Node, libraries and faults print as lines of JSON, and ends with 1 after a fault", () => {
    const io = fakeIo();
    const exits: number[] = [];
    const running = Object.assign(new EventEmitter(), { exit: (code: number) => void exits.push(code) });
    const printed: string[] = [];
    running.on("warning", () => printed.push("as Node prints it"));
    const printer = { ...console };
    logProcessAsJson(io, running as unknown as NodeJS.Process, printer);
    running.emit("warning", Object.assign(new TypeError("old"), { name: "DeprecationWarning", code: "DEP0001" }));
    printer.error(new TypeError("Write error: No space left on device"));
    printer.log("%s is %d", "a", 1);
    running.emit("uncaughtException", new TypeError("a fault\nof two lines"));
    expect(printed).toEqual([]);
    expect(exits).toEqual([1]);
    expect(parsed(io.err())).toEqual([
      {
        time: expect.any(String),
        level: "warn",
        reason: "ProcessWarning",
        message: "old",
        name: "DeprecationWarning",
        code: "DEP0001",
      },
      {
        time: expect.any(String),
        level: "error",
        reason: "ConsoleOutput",
        message: expect.stringContaining("No space left on device"),
      },
      { time: expect.any(String), level: "info", reason: "ConsoleOutput", message: "a is 1" },
      {
        time: expect.any(String),
        level: "error",
        reason: "ProcessFailed",
        message: "the program ends because of a fault: a fault\nof two lines",
        stack: expect.any(String),
      },
    ]);
  });
});
