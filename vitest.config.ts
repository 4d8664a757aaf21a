import { resolve } from "node:path";
import { defineConfig, type ViteUserConfig } from "vitest/config";

const config: ViteUserConfig = defineConfig({
  define: { __PRATIQUE_VERSION__: JSON.stringify("0.0.0-test") },
  // A worker runs what globalSetup has bundled.
  resolve: {
    alias: [
      { find: "./yaml-thread-url.ts", replacement: resolve(import.meta.dirname, "test/kits/yaml-thread-url.ts") },
    ],
  },
  test: {
    globalSetup: ["test/kits/yaml-thread-setup.ts"],
    include: ["src/**/*.test.ts", "test/**/*.test.ts"],
    // What measures waits runs by itself: npm run test:stall.
    exclude: ["test/stall/**", "**/node_modules/**"],
    setupFiles: ["test/kits/property-seed.ts"],
    pool: "threads",
    isolate: false,
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 240_000,
    // What is waited for comes when the machine has time for it; the second that is vitest's default is not enough for that.
    expect: { poll: { timeout: 45_000 } },
  },
});

export default config;
