/** Bytes that this thread holds; what the process holds as a whole is also that of the tests beside this one. */
export function ownMemory(): number {
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
