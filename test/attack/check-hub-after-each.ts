import { afterAll, afterEach, beforeAll, expect } from "vitest";
import { watchman, type AttackedHub, type Watchman } from "./attacked-hub.ts";

/**
 * Checks after each test of a file or group that the hub is ready, has logged no error, and holds as many objects as before.
 * To be called after the hook that starts the hub and writes what the tests need.
 */
export function checkHubAfterEach(hub: () => AttackedHub): void {
  let guard: Watchman;
  beforeAll(async () => {
    guard = await watchman(hub());
  });
  afterEach(async () => {
    expect(await guard.troubles()).toEqual([]);
  });
  afterAll(() => guard.close());
}
