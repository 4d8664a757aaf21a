import { describe, expect, test } from "vitest";
import { logEntry } from "../apimachinery/log-entry.ts";
import { logLine } from "./log-line.ts";

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
