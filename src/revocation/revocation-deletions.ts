/** Who deleted an object that keeps no trace of it, as authenticated at admission; by uid. */
export interface RemovalLog {
  readonly note: (uid: string, username: string) => void;
  readonly userOf: (uid: string) => string | undefined;
}

const maxNoted = 1024;

/** Nothing is noted yet; of more than a thousand the one that was noted least lately is forgotten. */
export function removalLog(): RemovalLog {
  const users = new Map<string, string>();
  return {
    note: (uid, username) => {
      users.delete(uid);
      users.set(uid, username);
      const [oldest] = users.keys();
      if (users.size > maxNoted && oldest !== undefined) users.delete(oldest);
    },
    userOf: (uid) => users.get(uid),
  };
}
