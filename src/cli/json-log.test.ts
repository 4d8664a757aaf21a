import { EventEmitter } from "node:events";
import { describe, expect, it } from "vitest";
import { fakeIo } from "../../test/kits/fake-io.ts";
import { commands } from "./commands.ts";
import { logProcessAsJson, wantsJsonLog } from "./json-log.ts";
import { runProgram } from "./program.ts";

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
