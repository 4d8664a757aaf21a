import type { SeatPool } from "./fair-queue.ts";
import type { LevelTerms } from "./flow-control.ts";

/** The seats of a level: its own, those of them that it never lends, and the most that it may have with borrowed ones. */
export interface LevelShare {
  readonly nominal: number;
  readonly kept: number;
  readonly most: number;
}

/** The seats of one level among those of all. */
export interface LevelSeats extends SeatPool {
  readonly share: () => LevelShare;
  /** Offers a seat to the waiting requests of the level. */
  readonly offerBy: (offer: () => void) => void;
}

/** Seats that levels lend each other: a level that may borrow uses the idle seats of another, until that one needs them. */
export interface SharedSeats {
  readonly of: (level: string) => LevelSeats;
  /** Divides the seats again; a level that is not among these has one, until all its waiting requests have been served. */
  readonly divide: (levels: readonly LevelTerms[]) => void;
  /** Forgets a level without seats. */
  readonly forget: (level: string) => void;
}

interface Member {
  share: LevelShare;
  taken: number;
  offer: () => void;
}

const none: LevelShare = { nominal: 0, kept: 0, most: 0 };
/** A level whose object is deleted: its waiting requests have one seat, one after the other. */
const ending: LevelShare = { nominal: 1, kept: 1, most: 1 };

/** Source: KEP-1040, borrowing between priority levels; seats are lent one by one here, and not for ten seconds at a time. */
export function sharedSeats(all: number): SharedSeats {
  // In the order in which free seats are offered.
  const members = new Map<string, Member>();
  let [capacity, taken] = [0, 0];
  /** Idle seats that levels never lend. */
  let reserved = 0;
  const reserveOf = (member: Member): number => Math.max(0, member.share.kept - member.taken);
  const change = (member: Member, by: 1 | -1): void => {
    reserved -= reserveOf(member);
    member.taken += by;
    taken += by;
    reserved += reserveOf(member);
  };
  const isFree = (member: Member): boolean => {
    if (member.taken < member.share.kept) return true;
    return member.taken < member.share.most && capacity - taken - reserved > 0;
  };
  const offer = (): void => {
    // Levels below their own seats come before levels that borrow.
    for (const member of members.values()) if (member.taken < member.share.nominal) member.offer();
    for (const [name, member] of members) {
      if (capacity - taken - reserved <= 0) return;
      const before = member.taken;
      member.offer();
      if (member.taken === before) continue;
      members.delete(name);
      members.set(name, member);
      return;
    }
  };
  return {
    of: (level) => {
      const member = memberIn(members, level);
      return {
        isFree: () => isFree(member),
        take: () => change(member, 1),
        leave: () => {
          change(member, -1);
          offer();
        },
        share: () => member.share,
        offerBy: (offered) => {
          member.offer = offered;
        },
      };
    },
    forget: (level) => {
      members.delete(level);
    },
    divide: (levels) => {
      const shares = sharesOf(levels, all);
      capacity = [...shares.values()].reduce((sum, { nominal }) => sum + nominal, 0);
      for (const name of shares.keys()) memberIn(members, name);
      for (const [name, member] of members) {
        const share = shares.get(name);
        if (share === undefined) capacity += 1;
        member.share = share ?? ending;
      }
      reserved = [...members.values()].reduce((sum, member) => sum + reserveOf(member), 0);
      offer();
    },
  };
}

function memberIn(members: Map<string, Member>, level: string): Member {
  const found = members.get(level);
  if (found !== undefined) return found;
  const member: Member = { share: none, taken: 0, offer: () => undefined };
  members.set(level, member);
  return member;
}

/** Source: apiserver pkg/util/flowcontrol apf_controller, where shares become seats. */
function sharesOf(levels: readonly LevelTerms[], all: number): ReadonlyMap<string, LevelShare> {
  const sum = levels.reduce((total, level) => total + (level.nominalConcurrencyShares ?? 0), 0);
  const own = levels.map((level) => {
    const nominal = sum === 0 ? 0 : Math.ceil((all * (level.nominalConcurrencyShares ?? 0)) / sum);
    return { level, nominal, lendable: Math.floor((nominal * (level.lendablePercent ?? 0)) / 100) };
  });
  const lendable = own.reduce((total, level) => total + level.lendable, 0);
  return new Map(
    own.map(({ level, nominal, lendable: lent }) => {
      const { borrowingLimitPercent } = level;
      const others = lendable - lent;
      const limit = borrowingLimitPercent === undefined ? others : Math.round((nominal * borrowingLimitPercent) / 100);
      return [level.name, { nominal, kept: nominal - lent, most: nominal + Math.min(limit, others) }];
    }),
  );
}
