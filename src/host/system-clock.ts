import { idleClock } from "./wall-clock.ts";
import type { Clock } from "../apimachinery/clock.ts";

/** The wall clock. A pending sleep does not keep the process alive. */
export const systemClock: Clock = idleClock;
