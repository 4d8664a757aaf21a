import { celFunction, libraryType, type CelFunction } from "../cel/environment.ts";
import { searchCost } from "../cel/sizes.ts";
import { celOptional, type CelOpaque } from "../cel/values.ts";
import {
  dnsLabelProblems,
  dnsSubdomainProblems,
  labelValueProblems,
  qualifiedNameProblems,
} from "../../apimachinery/names.ts";
import { parseGoUrl } from "./go-url.ts";

/** A named format of text; `regexSize` is Kubernetes' charge for it, in characters of a regular expression. */
export interface NamedFormat {
  readonly name: string;
  readonly regexSize: number;
  /** Why the text does not have this format; empty where it has. */
  readonly problems: (text: string) => readonly string[];
}

/** The formats of `format.<key>()`. Source: apiserver cel/library format. */
export const namedFormats: ReadonlyMap<string, NamedFormat> = new Map<string, NamedFormat>([
  ["dns1123Label", { name: "DNS1123Label", regexSize: 30, problems: dnsLabelProblems }],
  ["dns1123Subdomain", { name: "DNS1123Subdomain", regexSize: 60, problems: dnsSubdomainProblems }],
  ["dns1035Label", { name: "DNS1035Label", regexSize: 30, problems: dns1035Problems }],
  ["qualifiedName", { name: "QualifiedName", regexSize: 60, problems: qualifiedNameProblems }],
  ["dns1123LabelPrefix", { name: "DNS1123LabelPrefix", regexSize: 30, problems: asPrefix(dnsLabelProblems) }],
  [
    "dns1123SubdomainPrefix",
    { name: "DNS1123SubdomainPrefix", regexSize: 60, problems: asPrefix(dnsSubdomainProblems) },
  ],
  ["dns1035LabelPrefix", { name: "DNS1035LabelPrefix", regexSize: 30, problems: asPrefix(dns1035Problems) }],
  ["labelValue", { name: "LabelValue", regexSize: 40, problems: labelValueProblems }],
  ["uri", { name: "URI", regexSize: 1_103, problems: uriProblems }],
  ["uuid", { name: "uuid", regexSize: 77, problems: matching(isUuid, "does not match the UUID format") }],
  ["byte", { name: "byte", regexSize: 84, problems: matching(isBase64, "invalid base64") }],
  ["date", { name: "date", regexSize: 72, problems: matching(isDate, "invalid date") }],
  ["datetime", { name: "datetime", regexSize: 72, problems: matching(isDateTime, "invalid datetime") }],
]);

const format = libraryType<NamedFormat>("kubernetes.NamedFormat", (one, other) => one.name === other.name);

/** Named formats: `format.dns1123Label().validate(self)` is absent, or lists the errors. Source: apiserver cel/library format. */
export const formatFunctions: readonly CelFunction[] = [
  celFunction("format.named(string): optional(kubernetes.NamedFormat)", (name: string) => {
    const found = namedFormats.get(name);
    return celOptional(found === undefined ? undefined : format.wrap(found));
  }),
  celFunction(
    "<kubernetes.NamedFormat>.validate(string): optional(list(string))",
    (one: CelOpaque, text: string) => {
      const problems = format.unwrap(one).problems(text);
      return celOptional(problems.length === 0 ? undefined : problems);
    },
    (one: CelOpaque, text: string) => searchCost(text.length, format.unwrap(one).regexSize),
  ),
  ...Array.from(namedFormats, ([name, one]) =>
    celFunction(`format.${name}(): kubernetes.NamedFormat`, () => format.wrap(one)),
  ),
];

function matching(holds: (text: string) => boolean, problem: string): (text: string) => readonly string[] {
  return (text) => (holds(text) ? [] : [problem]);
}

/** The part of a prefix of generated names that is checked: a dash at its end is valid, as Kubernetes replaces the last two characters. */
function asPrefix(problems: (text: string) => readonly string[]): (text: string) => readonly string[] {
  return (text) => problems(text.length > 1 && text.endsWith("-") ? `${text.slice(0, -2)}a` : text);
}

function dns1035Problems(text: string): readonly string[] {
  const problems = text.length > 63 ? ["must be no more than 63 characters"] : [];
  if (text.length <= 63 && /^[a-z](?:[-a-z0-9]*[a-z0-9])?$/.test(text)) return problems;
  if (text.length > 63 && /^[a-z][-a-z0-9]*$/.test(text) && !text.endsWith("-")) return problems;
  return [
    ...problems,
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
  ];
}

function uriProblems(text: string): readonly string[] {
  const parsed = parseGoUrl(text);
  return "problem" in parsed ? [parsed.problem] : [];
}

function isUuid(text: string): boolean {
  return /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i.test(text);
}

function isBase64(text: string): boolean {
  return text !== "" && text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text);
}

function isDate(text: string): boolean {
  const match = /^([0-9]{4})-([0-9]{2})-([0-9]{2})$/.exec(text);
  if (match === null) return false;
  const [year = 0, month = 0, day = 0] = match.slice(1).map(Number);
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
}

function isDateTime(text: string): boolean {
  const match = /^(.{10})t([0-9]{2}):([0-9]{2}):([0-9]{2})(?:.[0-9]+)?(?:z|[+-][0-9]{2}:[0-9]{2})$/i.exec(text);
  if (match === null) return false;
  const [, date = "", hours = "", minutes = "", seconds = ""] = match;
  return isDate(date) && hours <= "23" && minutes <= "59" && seconds <= "59";
}
