/** The progress of work since its last step. */
export interface Pace {
  places: number;
}

/** After how many nodes of a value the work yields; each takes some microseconds. */
const placesOfStep = 1024;

/** Counts so many nodes; true where a step ends with them. */
export function endsStep(pace: Pace, places: number = 1): boolean {
  pace.places += places;
  if (pace.places < placesOfStep) return false;
  pace.places = 0;
  return true;
}
