import { randomBytes } from "node:crypto";
import type { RandomBytes } from "../apimachinery/clock.ts";

/** The system's random bytes. */
export const systemRandom: RandomBytes = (size) => randomBytes(size);

/** In [0, 1). */
export function randomFraction(random: RandomBytes): number {
  const [high = 0, low = 0] = random(2);
  return (high * 256 + low) / 65_536;
}
