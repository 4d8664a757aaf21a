import { randomBytes } from "node:crypto";
import type { RandomBytes } from "../apimachinery/clock.ts";

/** The system's random bytes. */
export const systemRandom: RandomBytes = (size) => randomBytes(size);
