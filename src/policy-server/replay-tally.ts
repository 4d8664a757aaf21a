import type { Attributes } from "../authorization/authorizer.ts";

/** A kind of request whose decision would be another one. */
export interface ReplayChange {
  readonly change: "now refused" | "now allowed";
  readonly count: number;
  readonly user: string;
  /** Who really asked, where `user` was impersonated. */
  readonly impersonatedBy?: string;
  readonly verb: string;
  readonly apiGroup: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  /** Set in place of the resource. */
  readonly path?: string;
  /** The reason in the log, and who gave it, where the log says so. */
  readonly before: string;
  readonly beforeBy: string;
  /** Who would decide, and why. */
  readonly by: string;
  readonly why: string;
  /** When the first and the last such request came, and the audit id of one of them. */
  readonly first: string;
  readonly last: string;
  readonly auditID: string;
}

/** One request whose decision would be another one. */
export interface ChangedRequest {
  readonly attributes: Attributes;
  readonly impersonatedBy: string | undefined;
  readonly wasAllowed: boolean;
  readonly before: string;
  readonly beforeBy: string;
  readonly by: string;
  readonly why: string;
  readonly time: string;
  readonly auditId: string;
}

/** Changes by user and rule. */
export interface ReplayTally {
  readonly add: (request: ChangedRequest) => void;
  /** The largest first. */
  readonly changes: () => readonly ReplayChange[];
  /** How many requests had no place among the kinds that are told apart. */
  readonly others: () => Readonly<Record<ReplayChange["change"], number>>;
}

const maxReasonCharacters = 1000;

/** An empty tally, which tells at most `maxKinds` apart. */
export function replayTally(maxKinds: number): ReplayTally {
  const kinds = new Map<string, ReplayChange>();
  const others = { "now refused": 0, "now allowed": 0 };
  return {
    add: (request) => {
      const kind = kindOf(request);
      const key = JSON.stringify(Object.values(kind));
      const known = kinds.get(key);
      const { time, auditId } = request;
      if (known !== undefined) {
        const [first, last] = [time < known.first ? time : known.first, time > known.last ? time : known.last];
        kinds.set(key, { ...known, count: known.count + 1, first, last });
      } else if (kinds.size < maxKinds)
        kinds.set(key, { ...kind, count: 1, first: time, last: time, auditID: auditId });
      else others[kind.change] += 1;
    },
    changes: () => [...kinds.values()].toSorted((a, b) => b.count - a.count || (a.user < b.user ? -1 : 1)),
    others: () => others,
  };
}

function kindOf(request: ChangedRequest): Omit<ReplayChange, "count" | "first" | "last" | "auditID"> {
  const { attributes, impersonatedBy, wasAllowed, before, beforeBy, by, why } = request;
  const { user, verb, group, resource, subresource, namespace, path } = attributes;
  return {
    change: wasAllowed ? "now refused" : "now allowed",
    user: user.username,
    ...(impersonatedBy === undefined ? {} : { impersonatedBy }),
    verb,
    apiGroup: group,
    resource,
    subresource,
    namespace,
    ...(path === undefined ? {} : { path }),
    before: before.slice(0, maxReasonCharacters),
    beforeBy,
    by,
    why: why.slice(0, maxReasonCharacters),
  };
}
