import { randomBytes } from "node:crypto";
import type { RandomBytes } from "../core/clock.ts";

/** The system's random bytes. */
export const systemRandom: RandomBytes = (size) => randomBytes(size);
