import { defineConfig, type ViteUserConfig } from "vitest/config";

// Waits are measured, so nothing else may run meanwhile: a run of its own.
const config: ViteUserConfig = defineConfig({
  define: { __PRATIQUE_VERSION__: JSON.stringify("0.0.0-test") },
  test: { include: ["test/stall/**/*.test.ts"], setupFiles: ["test/kits/property-seed.ts"], testTimeout: 60_000 },
});

export default config;
