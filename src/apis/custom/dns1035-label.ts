/** What is wrong with `value` as a DNS label that begins with a letter, at most 63 bytes; empty when nothing is. Source: apimachinery IsDNS1035Label. */
export function dns1035LabelProblems(value: string): readonly string[] {
  const problems = value.length > 63 ? ["must be no more than 63 characters"] : [];
  if (value.length <= 253 && /^[a-z](?:[-a-z0-9]*[a-z0-9])?$/.test(value)) return problems;
  return [
    ...problems,
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
  ];
}
