import { finishInTurns, type Steps } from "../apimachinery/steps.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import type { Pace } from "../apimachinery/step-budget.ts";
import {
  authorizerValue,
  requestResourceValue,
  type AskAuthorizer,
  type AuthorizationAnswer,
  type AuthorizationQuestion,
} from "../policy/kubernetes/authorizer-functions.ts";
import { requestVariable } from "./admission-review.ts";
import type { ExpressionInputs } from "./expression-run.ts";
import { presentedObjects, type Presentation, admissionNamespace } from "./request-match.ts";
import { serviceAccountUser, type UserInfo } from "../apimachinery/user.ts";

/** Waits until the next step of expensive expressions for a request of this user may run. */
export type NextTurn = (user: string) => Promise<void>;

/** A request for expressions to evaluate. */
export interface Case extends Presentation {
  readonly authorize: Authorize;
  readonly turn: NextTurn;
  /** The work of other expressions of the request since the last step; absent: only the work of these. */
  readonly pace?: Pace;
  /** Only for policies. */
  readonly namespace?: ApiObject | undefined;
  /** Only for policies with parameters. */
  readonly params?: ApiObject | undefined;
}

/**
 * The result of `judge` for a request, one step per turn from the second on. `judge` may be called several times, after the authorizers
 * have answered its questions, and must be pure.
 */
export async function judged<T>(subject: Case, judge: (inputs: ExpressionInputs) => Steps<T>): Promise<T> {
  const { request, resource, authorize, turn, namespace, params } = subject;
  const { object = null, oldObject = null } = await presentedObjects(subject);
  const { ask, settled } = cachingAuthorizer(authorize, request.user);
  const { subresource, name } = request;
  const { group, plural } = request.resource;
  const inputs: ExpressionInputs = {
    pace: subject.pace ?? { places: 0 },
    object,
    oldObject,
    request: requestVariable(request, resource),
    namespaceObject: namespace === undefined ? null : namespaceFields(namespace),
    params: params ?? null,
    authorizer: authorizerValue(ask),
    "authorizer.requestResource": requestResourceValue(ask, {
      group,
      resource: plural,
      subresource,
      namespace: admissionNamespace(request),
      name,
    }),
  };
  return settled(() => finishInTurns(judge(inputs), () => turn(request.user.username)));
}

/** A namespace without ownerReferences and managedFields. Source: apiserver pkg/admission/plugin/cel CreateNamespaceObject. */
function namespaceFields(namespace: ApiObject): ApiObject {
  const { ownerReferences: _owners, managedFields: _managers, ...metadata } = namespace.metadata;
  return { ...namespace, metadata };
}

/** Calls the authorizers on behalf of a user. */
export type Authorize = (user: UserInfo, question: AuthorizationQuestion) => Promise<AuthorizationAnswer>;

/** The authorizers as expressions see them, which cannot wait for an answer. */
export interface CachingAuthorizer {
  readonly ask: AskAuthorizer;
  /** The result of `judge` once all its questions are answered. It is called again after each round of answers, and must be pure. */
  readonly settled: <T>(judge: () => Promise<T>) => Promise<T>;
}

/** Each round answers at least one more question; the budget of an expression allows for fewer rounds. */
const maxRounds = 32;

/** An empty cache of answers, for expressions about a request of `user`. */
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
        // Questions still open after the last round remain errors.
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
