import type { CelFunction, CelOverload } from "../cel/environment.ts";
import { boolType, stringType, type CelType } from "../cel/types.ts";
import { celFailure, type CelFailure, type CelOpaque, type CelValue } from "../cel/values.ts";
import { libraryType } from "./library-type.ts";

/** What is asked of the authorizers: a verb on a resource, or on a path. */
export interface AuthorizationQuestion {
  /** A ServiceAccount to ask for in place of the user of the request. */
  readonly account?: { readonly namespace: string; readonly name: string };
  readonly verb: string;
  readonly path?: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
}

/** What the authorizers said; `error` where one of them failed. */
export interface AuthorizationAnswer {
  readonly allowed: boolean;
  readonly reason: string;
  readonly error?: string;
}

/** Answers at once; undefined where the answer is not there yet, in which case the evaluation fails and can be tried again. */
export type AskAuthorizer = (question: AuthorizationQuestion) => AuthorizationAnswer | undefined;

type Unfinished = Omit<AuthorizationQuestion, "verb"> & { readonly ask: AskAuthorizer };

/** What one check costs. Source: apiserver cel/library cost. */
const checkCost = 350_000;
const nothing = { group: "", resource: "", subresource: "", namespace: "", name: "" };

const authorizer = library<Unfinished>("Authorizer");
const pathCheck = library<Unfinished>("PathCheck");
const groupCheck = library<Unfinished>("GroupCheck");
const resourceCheck = library<Unfinished>("ResourceCheck");
const decision = library<AuthorizationAnswer>("Decision");

/** The type of the variable `authorizer`. */
export const authorizerType: CelType = authorizer.type;
/** The type of the variable `authorizer.requestResource`. */
export const resourceCheckType: CelType = resourceCheck.type;

/** The value of `authorizer`. */
export function authorizerValue(ask: AskAuthorizer): CelValue {
  return authorizer.wrap({ ...nothing, ask });
}

/** The value of `authorizer.requestResource`: the resource that the request is about. */
export function requestResourceValue(
  ask: AskAuthorizer,
  about: Pick<AuthorizationQuestion, "group" | "resource" | "subresource" | "namespace" | "name">,
): CelValue {
  return resourceCheck.wrap({ ...about, ask });
}

/** What can be asked of `authorizer`. Selectors are accepted and make no difference: who may see all may see some. Source: apiserver cel/library authz. */
export const authorizerFunctions: readonly CelFunction[] = [
  member("path", [authorizer.type, pathCheck.type], (one, path) =>
    path.trim() === "" ? celFailure("path must not be empty") : pathCheck.wrap({ ...authorizer.unwrap(one), path }),
  ),
  member("group", [authorizer.type, groupCheck.type], (one, group) =>
    groupCheck.wrap({ ...authorizer.unwrap(one), group }),
  ),
  {
    name: "serviceAccount",
    member: true,
    overloads: [
      {
        args: [authorizer.type, stringType, stringType],
        result: authorizer.type,
        apply: (one: CelOpaque, namespace: string, name: string) =>
          isName(namespace) && isName(name)
            ? authorizer.wrap({ ...authorizer.unwrap(one), account: { namespace, name } })
            : celFailure("Invalid service account name or namespace"),
      },
    ],
  },
  member("resource", [groupCheck.type, resourceCheck.type], (one, resource) =>
    resource.trim() === ""
      ? celFailure("resource must not be empty")
      : resourceCheck.wrap({ ...groupCheck.unwrap(one), resource }),
  ),
  ...(["subresource", "namespace", "name"] as const).map((field) =>
    member(field, [resourceCheck.type, resourceCheck.type], (one, value) =>
      resourceCheck.wrap({ ...resourceCheck.unwrap(one), [field]: value }),
    ),
  ),
  ...["fieldSelector", "labelSelector"].map((name) =>
    member(name, [resourceCheck.type, resourceCheck.type], (one) => one),
  ),
  {
    name: "check",
    member: true,
    overloads: [pathCheck, resourceCheck].map(({ type, unwrap }): CelOverload => ({
      args: [type, stringType],
      result: decision.type,
      cost: () => checkCost,
      apply: (one: CelOpaque, verb: string) => checked(unwrap(one), verb),
    })),
  },
  ofDecision("allowed", boolType, ({ allowed }) => allowed),
  ofDecision("reason", stringType, ({ reason }) => reason),
  ofDecision("errored", boolType, ({ error }) => error !== undefined),
  ofDecision("error", stringType, ({ error }) => error ?? ""),
];

function library<T>(name: string): ReturnType<typeof libraryType<T>> {
  return libraryType<T>(`kubernetes.authorization.${name}`, (one, other) => one === other);
}

function member(
  name: string,
  [receiver, result]: readonly [receiver: CelType, result: CelType],
  apply: (one: CelOpaque, text: string) => CelValue | CelFailure,
): CelFunction {
  return { name, member: true, overloads: [{ args: [receiver, stringType], result, apply }] };
}

function ofDecision(name: string, result: CelType, read: (answer: AuthorizationAnswer) => CelValue): CelFunction {
  const apply = (one: CelOpaque): CelValue => read(decision.unwrap(one));
  return { name, member: true, overloads: [{ args: [decision.type], result, apply }] };
}

function checked({ ask, ...asked }: Unfinished, verb: string): CelValue | CelFailure {
  const answer = ask({ ...asked, verb });
  return answer === undefined ? celFailure("the authorizers have not answered yet") : decision.wrap(answer);
}

/** Names of namespaces and accounts, as far as it matters that none can pose as another. */
function isName(text: string): boolean {
  return /^[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?$/.test(text);
}
