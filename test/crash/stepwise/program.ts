// The command line as it ships, with a clock that is ahead.
const aheadMs = Number(process.env["AHEAD_MS"] ?? 0);
const now = Date.now.bind(Date);
Date.now = () => now() + aheadMs;
await import("../../../src/cli/main.ts");
