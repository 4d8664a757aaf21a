// What the benches of single parts share: arguments, rates per second of processor time, and one JSON line for each figure.
import { parseArgs } from "node:util";

/** Smaller loads, for a quick look. */
export function isQuick(): boolean {
  const { values } = parseArgs({ strict: false, options: { quick: { type: "boolean" } } });
  return values["quick"] === true;
}

/** Prints one figure. */
export function print(record: Readonly<Record<string, unknown>>): void {
  process.stdout.write(`${JSON.stringify(record)}\n`);
}

export function rounded(value: number): number {
  return Math.abs(value) >= 100 ? Math.round(value) : Number(value.toPrecision(3));
}

/**
 * How often `work` runs in a second of processor time, so that neighbours on the machine do not count: the median of seven
 * slices of `sliceMs`, after one that does not count. `work` gets a number that grows by one from call to call.
 */
export async function perCpuSecond(work: (index: number) => unknown, sliceMs: number): Promise<number> {
  let index = 0;
  const slice = async (): Promise<number> => {
    const first = index;
    const start = process.cpuUsage();
    let micros = 0;
    while (micros < sliceMs * 1000) {
      for (let i = 0; i < 64; i += 1, index += 1) {
        const pending = work(index);
        if (pending instanceof Promise) await pending;
      }
      const { user, system } = process.cpuUsage(start);
      micros = user + system;
    }
    return ((index - first) * 1e6) / micros;
  };
  await slice();
  const rates: number[] = [];
  for (let round = 0; round < 7; round += 1) rates.push(await slice());
  return rates.sort((a, b) => a - b)[3] ?? 0;
}
