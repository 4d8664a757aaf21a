import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { smallDisk } from "../../test/kits/small-disk.ts";
import { openAuditLog } from "./audit-log.ts";

const root = mkdtempSync(join(tmpdir(), "audit-full-"));
const disk = smallDisk(join(root, "disk"), 1, ["an audit log on a full disk"]);
beforeAll(disk.mount);
afterAll(() => {
  disk.remove();
  rmSync(root, { recursive: true, force: true });
});

describe.skipIf(disk.missing)("an audit log on a full disk", () => {
  it("drops and counts lines, says so once, leaves no half of a line, and goes on once there is room", async () => {
    const path = join(disk.path, "audit.log");
    const troubles: string[] = [];
    const log = await openAuditLog({
      path,
      maxBytes: Infinity,
      maxBackups: 0,
      maxAgeMs: 0,
      now: () => 0,
      trouble: (message) => void troubles.push(message),
    });
    const line = (index: number): string => `${JSON.stringify({ index, text: "x".repeat(3000) })}\n`;
    const turn = async (from: number, count: number): Promise<void> => {
      for (let index = from; index < from + count; index += 1) log.write(line(index));
      await expect.poll(() => log.lost() + readFileSync(path, "utf8").split("\n").length - 1).toBe(from + count);
    };
    await turn(0, 10);
    disk.fillUp();
    await turn(10, 5);
    await turn(15, 5);
    await disk.free();
    await turn(20, 3);
    await log.close();
    const kept = readFileSync(path, "utf8").trimEnd().split("\n");
    expect(kept.map((text) => (JSON.parse(text) as { index: number }).index).slice(-3)).toEqual([20, 21, 22]);
    expect(log.lost()).toBeGreaterThan(0);
    expect(troubles).toEqual([
      "the audit log cannot be written",
      expect.stringMatching(/^the audit log is written again; \d+ events were lost$/),
    ]);
  });
});
