import { serviceAccountUser, type UserInfo } from "../apimachinery/user.ts";
import type {
  AskAuthorizer,
  AuthorizationAnswer,
  AuthorizationQuestion,
} from "../policy/kubernetes/authorizer-functions.ts";

/** Asks the authorizers on behalf of a user. */
export type Authorize = (user: UserInfo, question: AuthorizationQuestion) => Promise<AuthorizationAnswer>;

/** The authorizers as expressions see them, which cannot wait for an answer. */
export interface CachingAuthorizer {
  readonly ask: AskAuthorizer;
  /** What `judge` comes to once all it asked has been answered. It is called again after each round of answers, and must be pure. */
  readonly settled: <T>(judge: () => Promise<T>) => Promise<T>;
}

/** Each round answers at least one more question; the budget of an expression allows for fewer than this. */
const maxRounds = 32;

/** A book without answers, for expressions about a request of `user`. */
export function cachingAuthorizer(authorize: Authorize, user: UserInfo): CachingAuthorizer {
  const answers = new Map<string, AuthorizationAnswer>();
  const open = new Map<string, AuthorizationQuestion>();
  return {
    ask: (question) => {
      const key = keyOf(question);
      const answer = answers.get(key);
      if (answer === undefined) open.set(key, question);
      return answer;
    },
    settled: async (judge) => {
      for (let round = 1; ; round += 1) {
        open.clear();
        const result = await judge();
        // Beyond the last round what was not answered stays an error, and counts as one.
        if (open.size === 0 || round === maxRounds) return result;
        for (const [key, question] of open) {
          const { account } = question;
          const asking = account === undefined ? user : serviceAccountUser(account.namespace, account.name);
          answers.set(key, await authorize(asking, question));
        }
      }
    },
  };
}

function keyOf({ account, verb, path, group, resource, subresource, namespace, name }: AuthorizationQuestion): string {
  const who = account === undefined ? null : [account.namespace, account.name];
  return JSON.stringify([who, verb, path ?? null, group, resource, subresource, namespace, name]);
}
