import { dnsSubdomainProblems } from "../../apimachinery/names.ts";

/** What is wrong with a pattern of node names; undefined for an exact name, `prefix*`, `*suffix` and `*`. */
export function nodePatternProblem(pattern: string): string | undefined {
  if (pattern === "") return "must not be empty";
  if (pattern.length > 253) return "must be no more than 253 characters";
  const stars = pattern.split("*").length - 1;
  if (stars === 0) return dnsSubdomainProblems(pattern)[0];
  if (stars > 1) return "must hold * only once";
  if (!pattern.startsWith("*") && !pattern.endsWith("*")) return "must hold * only at its beginning or its end";
  return Array.from(pattern).every((one) => one === "*" || isNameCharacter(one))
    ? undefined
    : "must hold only lower case letters, digits, - and . besides *";
}

/** Whether a node name is meant by a pattern without problems; `*` stands for at least one character. */
export function matchesNodePattern(pattern: string, node: string): boolean {
  if (pattern.startsWith("*")) return node.length >= pattern.length && node.endsWith(pattern.slice(1));
  if (pattern.endsWith("*")) return node.length >= pattern.length && node.startsWith(pattern.slice(0, -1));
  return node === pattern;
}

function isNameCharacter(one: string): boolean {
  return (one >= "a" && one <= "z") || (one >= "0" && one <= "9") || one === "-" || one === ".";
}
