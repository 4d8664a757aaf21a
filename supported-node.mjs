// What Node this project needs. Read by every entry point before anything else, so it keeps to what an old Node can read.

/** The sentence for the operator if this version of Node.js (`process.versions.node`) is too old, else undefined. */
export function nodeProblem(version) {
  const [major, minor] = version.split(".").map(Number);
  const isSupported = major === 20 ? minor >= 19 : major === 22 ? minor >= 12 : major > 22;
  if (isSupported) return undefined;
  return `pratique requires Node.js 20.19+ or 22.12+, and this is Node.js ${version}: install a newer Node.js`;
}
