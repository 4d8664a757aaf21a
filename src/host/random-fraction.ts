import type { RandomBytes } from "../apimachinery/clock.ts";

/** In [0, 1). */
export function randomFraction(random: RandomBytes): number {
  const [high = 0, low = 0] = random(2);
  return (high * 256 + low) / 65_536;
}
