/** How far a piece of work has come since its last step. */
export interface Pace {
  places: number;
}

/** After how many places of a value work on it is left for a while; each takes some microseconds. */
const placesOfStep = 1024;

/** Counts so many places; true where a step ends with them. */
export function endsStep(pace: Pace, places: number = 1): boolean {
  pace.places += places;
  if (pace.places < placesOfStep) return false;
  pace.places = 0;
  return true;
}
