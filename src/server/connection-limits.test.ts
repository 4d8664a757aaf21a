import { describe, expect, it } from "vitest";
import { connectionLimitLog, connectionLimitsFor } from "./connection-limits.ts";
import type { LogEntry } from "../apimachinery/log-entry.ts";

describe("connection limits", () => {
  it.each([
    [256, 192, 96],
    [1024, 768, 384],
    [20_000, 19_488, 2000],
    [1_048_576, 1_048_064, 2000],
  ])("with %d file descriptors are %d connections, %d of them without a credential", (files, maxOpen, most) => {
    expect(connectionLimitsFor(files)).toEqual({ maxOpen, maxUnauthenticated: most });
  });

  it("are logged once a minute while connections are closed", () => {
    const entries: LogEntry[] = [];
    let now = 0;
    const limits = { maxOpen: 2, maxUnauthenticated: 1 };
    const log = connectionLimitLog({ limits, log: (entry) => void entries.push(entry), now: () => now });
    for (const [at, closed] of [
      [0, 1],
      [59_999, 2],
      [60_000, 3],
    ] as const) {
      now = at;
      log({ open: 2, unauthenticated: 1, closed });
    }
    expect(entries.map(({ closed }) => closed)).toEqual([1, 3]);
  });
});
