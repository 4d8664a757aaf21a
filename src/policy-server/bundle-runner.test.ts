import { describe, expect, test, vi } from "vitest";
import { fakeClock } from "../../test/kits/fake-clock.ts";
import { BundleError } from "./bundle-file.ts";
import { bundleRunner } from "./bundle-runner.ts";
import { bundleRuntime } from "./bundle-worker.ts";

const head = [0, 0x61, 0x73, 0x6d, 1, 0, 0, 0];
/** One function without arguments, which is called at the start. */
const starting = (...body: number[]): number[] =>
  [
    head,
    [1, 4, 1, 0x60, 0, 0],
    [3, 2, 1, 0],
    [8, 1, 0],
    [10, body.length + 4, 1, body.length + 2, 0, ...body, 0x0b],
  ].flat();
const loop = [0x03, 0x40, 0x0c, 0, 0x0b];
const unreachable = [0x00];
/** A memory of 2048 pages, which is more than there may be. */
const large = [...head, 2, 17, 1, 3, ...Buffer.from("env"), 6, ...Buffer.from("memory"), 2, 1, 0x80, 0x10];

const start = (bytes: readonly number[], clock = fakeClock()): ReturnType<typeof bundleRunner> =>
  bundleRunner({
    work: { ...bundleRuntime(), wasm: Uint8Array.from(bytes), data: "{}", entrypoint: "k8s/allow", maxPages: 1024 },
    clock,
    timeMs: 1000,
    waitMs: 5000,
    maxWaiting: 4,
  });

describe("a module", () => {
  test.each<[string, readonly number[]]>([
    ["is none", [...head, 0xff, 0xff]],
    ["is empty", head],
    ["wants more memory than it may have", large],
    ["breaks off when it starts", starting(...unreachable)],
  ])("that %s is refused", async (_what, bytes) => {
    await expect(start(bytes)).rejects.toThrow(BundleError);
  });

  test("that never starts is given up", async () => {
    const clock = fakeClock();
    const started = start(starting(...loop), clock).catch((error: unknown) => error);
    await vi.waitFor(() => expect(clock.sleeping()).toBe(1), 45_000);
    await clock.advance(10_000);
    expect(await started).toMatchObject({ name: "BundleError", message: "the module does not start" });
  });
});
