import type { RandomBytes } from "./clock.ts";
import { utf8Length } from "./utf8.ts";

const labelFormat = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const subdomainFormat = `${labelFormat}(\\.${labelFormat})*`;
const keyNameFormat = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";

const labelRule = formatRule(
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character",
  labelFormat,
  ["my-name", "123-abc"],
);
const subdomainRule = formatRule(
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character",
  subdomainFormat,
  ["example.com"],
);
const keyNameRule = formatRule(
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
  keyNameFormat,
  ["MyName", "my.name", "123-abc"],
);
const labelValueRule = formatRule(
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
  `(${keyNameFormat})?`,
  ["MyValue", "my_value", "12345"],
);
const configKeyRule = formatRule(
  "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
  "[-._a-zA-Z0-9]+",
  ["key.name", "KEY_NAME", "key-name"],
);

/** What is wrong with `value` as a DNS label of at most 63 bytes; empty when nothing is. Source: apimachinery IsDNS1123Label. */
export function dnsLabelProblems(value: string): readonly string[] {
  if (value.length <= 63 && isDnsLabel(value)) return [];
  const problems = utf8Length(value) > 63 ? ["must be no more than 63 characters"] : [];
  if (isDnsLabel(value)) return problems;
  return [...problems, isDnsSubdomain(value) ? "must not contain dots" : labelRule];
}

/** What is wrong with `value` as a DNS subdomain of at most 253 bytes; empty when nothing is. Source: apimachinery IsDNS1123Subdomain. */
export function dnsSubdomainProblems(value: string): readonly string[] {
  return subdomainProblems(value, "must be no more than 253 characters");
}

/**
 * What is wrong with `value` as a label key, finalizer or condition type: a name of at most 63 bytes after an optional
 * DNS subdomain and a slash. Annotation keys follow it in lower case. Source: apimachinery IsQualifiedName.
 */
export function qualifiedNameProblems(value: string): readonly string[] {
  const slash = value.indexOf("/");
  if (slash !== value.lastIndexOf("/")) {
    return [
      `a valid label key ${keyNameRule} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`,
    ];
  }
  const problems = slash < 0 ? [] : prefixProblems(value.slice(0, slash));
  const name = slash < 0 ? value : value.slice(slash + 1);
  if (name === "") problems.push("name part must be non-empty");
  else if (utf8Length(name) > 63) problems.push(`name part ${maximum(63)}`);
  if (!isKeyName(name)) problems.push(`name part ${keyNameRule}`);
  return problems;
}

/** What is wrong with `value` as the value of a label; the empty string is one. Source: apimachinery IsValidLabelValue. */
export function labelValueProblems(value: string): readonly string[] {
  const problems = utf8Length(value) > 63 ? [maximum(63)] : [];
  if (value !== "" && !isKeyName(value)) problems.push(labelValueRule);
  return problems;
}

/** What is wrong with `value` as a name that need only be one segment of a URL path. Source: apimachinery IsPathSegmentName. */
export function pathSegmentProblems(value: string): readonly string[] {
  if (value === "." || value === "..") return [`may not be '${value}'`];
  return ["/", "%"].filter((banned) => value.includes(banned)).map((banned) => `may not contain '${banned}'`);
}

/** What is wrong with `value` as a key in a ConfigMap or Secret. Source: apimachinery IsConfigMapKey. */
export function configMapKeyProblems(value: string): readonly string[] {
  const problems = utf8Length(value) > 253 ? ["must be no more than 253 characters"] : [];
  if (value === "" || /[^-_.A-Za-z0-9]/.test(value)) problems.push(configKeyRule);
  if (value === "." || value === "..") problems.push(`must not be '${value}'`);
  else if (value.startsWith("..")) problems.push("must not start with '..'");
  return problems;
}

/** The letters of generated names: no vowels, and no ambiguous characters. */
export const generatedNameAlphabet = "bcdfghjklmnpqrstvwxz2456789";

/** `prefix`, cut to 58 characters, and five random ones. It is not yet checked as a name. Source: apiserver SimpleNameGenerator. */
export function generatedName(prefix: string, random: RandomBytes): string {
  const bytes = random(10);
  let suffix = "";
  for (let index = 0; index < 10; index += 2) {
    // Two bytes per letter keep the bias of the remainder below one in two thousand.
    const draw = ((bytes[index] ?? 0) << 8) | (bytes[index + 1] ?? 0);
    suffix += generatedNameAlphabet.charAt(draw % generatedNameAlphabet.length);
  }
  return prefix.slice(0, 58) + suffix;
}

function formatRule(message: string, format: string, examples: readonly string[]): string {
  // The doubled space before "or" is Kubernetes' own.
  const shown = examples.map((example) => `'${example}', `).join(" or ");
  return `${message} (e.g. ${shown}regex used for validation is '${format}')`;
}

// Kubernetes says "bytes" in its newer rules and "characters" in its older ones, and counts bytes in all.
function maximum(bytes: number): string {
  return `must be no more than ${bytes} bytes`;
}

function subdomainProblems(value: string, tooLong: string): readonly string[] {
  const valid = isDnsSubdomain(value);
  if (valid && value.length <= 253) return [];
  const problems = utf8Length(value) > 253 ? [tooLong] : [];
  return valid ? problems : [...problems, subdomainRule];
}

function prefixProblems(prefix: string): string[] {
  if (prefix === "") return ["prefix part must be non-empty"];
  return subdomainProblems(prefix, maximum(253)).map((problem) => `prefix part ${problem}`);
}

// Each matches invalid text, so that the time is linear and the stack stays flat for any length.

function isDnsLabel(value: string): boolean {
  return value !== "" && !/[^-a-z0-9]|^-|-$/.test(value);
}

function isDnsSubdomain(value: string): boolean {
  return value !== "" && !/[^-.a-z0-9]|^[-.]|[-.]$|\.[-.]|-\./.test(value);
}

function isKeyName(value: string): boolean {
  return value !== "" && !/[^-_.A-Za-z0-9]|^[-_.]|[-_.]$/.test(value);
}
