/** What reading a text once costs: a tenth of its length, rounded up. Source: cel-go common StringTraversalCostFactor. */
export function textCost(text: string): number {
  return Math.ceil(text.length * 0.1);
}

/** What a search for a pattern costs, from the lengths of text and pattern. Source: cel-go common RegexStringLengthCostFactor. */
export function patternCost(textLength: number, patternLength: number): number {
  return Math.ceil((textLength + 1) * 0.1) * Math.ceil(patternLength * 0.25);
}
