#!/usr/bin/env node
import { commands } from "./commands.ts";
import { processIo } from "./process-io.ts";
import { runProgram } from "./program.ts";

process.exitCode = await runProgram(commands, process.argv.slice(2), processIo());
// Whatever is still open, a kept connection say, has no more to tell: its time is up, though what is written goes out first.
setTimeout(() => process.exit(), 1_000).unref();
