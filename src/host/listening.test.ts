import { describe, expect, it } from "vitest";
import { acceptFailureLog } from "./listening.ts";
import type { LogEntry } from "../apimachinery/log-entry.ts";

describe("connections that could not be accepted", () => {
  it("are logged once a minute, with the error", () => {
    const entries: LogEntry[] = [];
    let now = 0;
    const failed = acceptFailureLog({ log: (entry) => void entries.push(entry), now: () => now });
    for (const at of [0, 59_999, 60_000]) {
      now = at;
      failed(new TypeError(`accept at ${at}`));
    }
    expect(entries).toEqual([
      expect.objectContaining({
        level: "error",
        reason: "AcceptFailed",
        error: expect.stringContaining("accept at 0"),
      }),
      expect.objectContaining({ error: expect.stringContaining("accept at 60000") }),
    ]);
  });
});
