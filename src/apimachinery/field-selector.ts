import { pathSegmentProblems } from "./names.ts";
import { SelectorError } from "./selector-error.ts";

/** One term: the field has the value, or does not have it. */
export interface FieldRequirement {
  readonly field: string;
  readonly operator: "=" | "!=";
  readonly value: string;
}

/** Terms that must all match; an empty list selects everything. */
export type FieldSelector = readonly FieldRequirement[];

/**
 * The selector of `a=b,c!=d`; in values `\` escapes a comma, an equals sign and itself. Field names are not checked here.
 * @throws SelectorError syntax. Source: apimachinery fields.ParseSelector.
 */
export function parseFieldSelector(text: string): FieldSelector {
  const terms = splitTerms(text).filter((term) => term !== "");
  terms.sort();
  const requirements = terms.map((term) => parseTerm(term, text));
  return requirements.filter((term) => term.field !== "" || term.value !== "");
}

/** Whether every term matches; `valueOf` returns the value of a field, `""` for one that is absent. */
export function matchesFields(selector: FieldSelector, valueOf: (field: string) => string): boolean {
  return selector.every((term) => (valueOf(term.field) === term.value) === (term.operator === "="));
}

/**
 * Accepts a selector over metadata.name, metadata.namespace and the labels in `extra`, which a kind lists as selectable; `hasOwn`
 * is whether the kind can list any.
 * @throws SelectorError unknownField, in Kubernetes' wording for kinds with and without labels of their own.
 */
export function checkFieldLabels(
  selector: FieldSelector,
  extra: readonly string[],
  hasOwn: boolean = extra.length > 0,
): void {
  for (const { field } of selector) {
    if (field === "metadata.name" || field === "metadata.namespace" || extra.includes(field)) continue;
    throw new SelectorError(
      "unknownField",
      hasOwn
        ? `field label not supported: ${field}`
        : `${JSON.stringify(field)} is not a known field selector: only "metadata.name", "metadata.namespace"`,
    );
  }
}

/** The one object name that `selector` can match, which then is the name of the request for authorization; undefined if there is none. Source: apiserver RequestInfo. */
export function selectedName(selector: FieldSelector): string | undefined {
  const name = selector.find(({ field, operator }) => field === "metadata.name" && operator === "=")?.value;
  return name === undefined || pathSegmentProblems(name).length > 0 ? undefined : name;
}

/** The parts between commas that no backslash escapes. */
function splitTerms(text: string): string[] {
  const terms = [""];
  for (const [part] of text.matchAll(/\\.?|,|[^\\,]+/gs)) {
    if (part === ",") terms.push("");
    else terms.push(terms.pop() + part);
  }
  return terms;
}

function parseTerm(term: string, text: string): FieldRequirement {
  const match = /!=|==?/.exec(term);
  if (match === null) throw new SelectorError("syntax", `invalid selector: '${text}'; can't understand '${term}'`);
  const operator = match[0] === "!=" ? "!=" : "=";
  return { field: term.slice(0, match.index), operator, value: unescape(term.slice(match.index + match[0].length)) };
}

function unescape(escaped: string): string {
  return escaped.replaceAll(/\\(.?)|=/gs, (match, next: string | undefined) => {
    if (match === "=") {
      throw new SelectorError("syntax", "invalid field selector: unescaped character in value: 61");
    }
    if (next !== undefined && /^[\\,=]$/.test(next)) return next;
    throw new SelectorError("syntax", `invalid field selector: invalid escape sequence: ${match}`);
  });
}
