import type { ApiObject } from "../apimachinery/object.ts";
import type { Pace } from "../apimachinery/step-budget.ts";
import type { Steps } from "../apimachinery/steps.ts";
import { authorizerValue, requestResourceValue } from "../policy/kubernetes/authorizer-functions.ts";
import { requestVariable } from "./admission-review.ts";
import { cachingAuthorizer, type Authorize } from "./caching-authorizer.ts";
import type { ExpressionInputs } from "./expression-run.ts";
import { presentedObjects, type Presentation } from "./versioned-attributes.ts";
import { admissionNamespace } from "./request-match.ts";

/** Waits until the next step of expensive expressions of a request of this user may run. */
export type NextTurn = (user: string) => Promise<void>;

/** A request that expressions are to judge. */
export interface Case extends Presentation {
  readonly authorize: Authorize;
  readonly turn: NextTurn;
  /** What other expressions of the request did since the last step; theirs alone where absent. */
  readonly pace?: Pace;
  /** Policies only. */
  readonly namespace?: ApiObject | undefined;
  /** Policies with parameters only. */
  readonly params?: ApiObject | undefined;
}

/** What `judge` makes of a request, a step in each turn from the second on. It may be called several times, whenever the authorizers have answered what it asked, and must be pure. */
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
  return settled(async () => {
    const steps = judge(inputs);
    for (;;) {
      const { done, value } = steps.next();
      if (done === true) return value;
      await turn(request.user.username);
    }
  });
}

/** A namespace without who owns it and who wrote it. Source: apiserver pkg/admission/plugin/cel CreateNamespaceObject. */
function namespaceFields(namespace: ApiObject): ApiObject {
  const { ownerReferences: _owners, managedFields: _managers, ...metadata } = namespace.metadata;
  return { ...namespace, metadata };
}
