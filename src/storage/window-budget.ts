/** A window of past events that takes its share of the budget. */
export interface BudgetedWindow {
  /** Whether it has more than its newest event, which watches may still need. */
  readonly isDroppable: () => boolean;
  /** Drops its oldest event, and releases its share. */
  readonly drop: () => void;
}

/** The share of one window in the budget. */
export interface WindowShare {
  /** Takes `characters` for an event that was added; drops old events of the largest windows until all fit again. */
  spend(characters: number): void;
  release(characters: number): void;
}

/** One bound for the past events of all partitions: a bound for each of them would be as many times as large as there are kinds. */
export interface WindowBudget {
  join(window: BudgetedWindow): WindowShare;
}

interface Member {
  readonly window: BudgetedWindow;
  characters: number;
}

/** A budget of `maxCharacters` of JSON text; the newest event of each window is kept in any case. */
export function windowBudget(maxCharacters: number): WindowBudget {
  const members: Member[] = [];
  let total = 0;

  return {
    join: (window) => {
      const member: Member = { window, characters: 0 };
      members.push(member);
      const take = (characters: number): void => {
        member.characters += characters;
        total += characters;
      };
      return {
        spend: (characters) => {
          take(characters);
          while (total > maxCharacters) {
            const largest = largestOf(members);
            if (largest === undefined) return;
            largest.window.drop();
          }
        },
        release: (characters) => take(-characters),
      };
    },
  };
}

function largestOf(members: readonly Member[]): Member | undefined {
  let largest: Member | undefined;
  for (const member of members) {
    if (member.characters > (largest?.characters ?? 0) && member.window.isDroppable()) largest = member;
  }
  return largest;
}
