/** How far a piece of work has come. */
export interface Pace {
  places: number;
}

/** After how many places of a value work on it is left for a while; each takes some microseconds. */
const placesOfStep = 1024;

/** Counts so many places; true where a step ends with them. */
export function endsStep(pace: Pace, places: number = 1): boolean {
  const before = pace.places;
  pace.places += places;
  return Math.floor(before / placesOfStep) < Math.floor(pace.places / placesOfStep);
}
