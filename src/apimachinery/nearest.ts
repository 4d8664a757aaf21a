/** The most similar known word, or undefined when none is similar: at most a third of its letters, and at most two, differ. */
export function nearest(word: string, known: readonly string[]): string | undefined {
  const candidates = known
    .map((each) => ({ each, distance: each.startsWith(word) && word.length > 2 ? 1 : distance(word, each) }))
    .filter(({ each, distance: far }) => far <= Math.max(1, Math.min(2, Math.floor(each.length / 3))))
    .sort((one, other) => one.distance - other.distance);
  return candidates[0]?.each;
}

/** Edits that turn one word into the other: a letter added, removed, replaced, or two neighbours swapped. */
function distance(one: string, other: string): number {
  // Words of very different length are never similar, and the table stays small.
  if (Math.abs(one.length - other.length) > 3 || one.length > 64) return maxEdits;
  let before: readonly number[] = [];
  let above: readonly number[] = Array.from({ length: other.length + 1 }, (_, at) => at);
  for (let row = 1; row <= one.length; row += 1) {
    const current: number[] = [row];
    for (let column = 1; column <= other.length; column += 1) {
      const same = one[row - 1] === other[column - 1];
      const swapped = one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1];
      current.push(
        Math.min(
          editsAt(above, column) + 1,
          editsAt(current, column - 1) + 1,
          editsAt(above, column - 1) + (same ? 0 : 1),
          swapped ? editsAt(before, column - 2) + 1 : maxEdits,
        ),
      );
    }
    before = above;
    above = current;
  }
  return editsAt(above, other.length);
}

const maxEdits = 99;

function editsAt(row: readonly number[], column: number): number {
  return row[column] ?? maxEdits;
}
