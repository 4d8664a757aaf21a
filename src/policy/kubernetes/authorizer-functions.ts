import { celFunction, libraryType, type CelFunction, type LibraryType } from "../cel/environment.ts";
import { formatType, type CelType } from "../cel/types.ts";
import { celFailure, type CelFailure, type CelOpaque, type CelValue } from "../cel/values.ts";

/** A check for the authorizers: a verb on a resource, or on a path. */
export interface AuthorizationQuestion {
  /** A ServiceAccount to check in place of the user of the request. */
  readonly account?: { readonly namespace: string; readonly name: string };
  readonly verb: string;
  readonly path?: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
}

/** The verdict of the authorizers; `error` where one of them failed. */
export interface AuthorizationAnswer {
  readonly allowed: boolean;
  readonly reason: string;
  readonly error?: string;
}

/** Returns synchronously; undefined where the verdict is pending, in which case the evaluation fails and can be retried. */
export type AskAuthorizer = (question: AuthorizationQuestion) => AuthorizationAnswer | undefined;

type Unfinished = Omit<AuthorizationQuestion, "verb"> & { readonly ask: AskAuthorizer };

/** The cost of one check. Source: apiserver cel/library cost. */
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

/** The functions of `authorizer`. Selectors are accepted and ignored: a user who may read all may read some. Source: apiserver cel/library authz. */
export const authorizerFunctions: readonly CelFunction[] = [
  member("<Authorizer>.path(string): PathCheck", (one, path) =>
    path.trim() === "" ? celFailure("path must not be empty") : pathCheck.wrap({ ...authorizer.unwrap(one), path }),
  ),
  member("<Authorizer>.group(string): GroupCheck", (one, group) =>
    groupCheck.wrap({ ...authorizer.unwrap(one), group }),
  ),
  member("<Authorizer>.serviceAccount(string, string): Authorizer", (one, namespace, name) =>
    isName(namespace) && isName(name)
      ? authorizer.wrap({ ...authorizer.unwrap(one), account: { namespace, name } })
      : celFailure("Invalid service account name or namespace"),
  ),
  member("<GroupCheck>.resource(string): ResourceCheck", (one, resource) =>
    resource.trim() === ""
      ? celFailure("resource must not be empty")
      : resourceCheck.wrap({ ...groupCheck.unwrap(one), resource }),
  ),
  ...["subresource", "namespace", "name"].map((field) =>
    member(`<ResourceCheck>.${field}(string): ResourceCheck`, (one, value) =>
      resourceCheck.wrap({ ...resourceCheck.unwrap(one), [field]: value }),
    ),
  ),
  member("<ResourceCheck>.fieldSelector(string): ResourceCheck", (one) => one),
  member("<ResourceCheck>.labelSelector(string): ResourceCheck", (one) => one),
  ...[pathCheck, resourceCheck].map(({ type, unwrap }) =>
    celFunction(
      `<${formatType(type)}>.check(string): kubernetes.authorization.Decision`,
      (one: CelOpaque, verb: string) => checked(unwrap(one), verb),
      () => checkCost,
    ),
  ),
  ofDecision("allowed(): bool", ({ allowed }) => allowed),
  ofDecision("reason(): string", ({ reason }) => reason),
  ofDecision("errored(): bool", ({ error }) => error !== undefined),
  ofDecision("error(): string", ({ error }) => error ?? ""),
];

function library<T>(name: string): LibraryType<T> {
  return libraryType<T>(`kubernetes.authorization.${name}`, (one, other) => one === other);
}

/** A member by its signature, with the names of its types without their package. */
function member(
  signature: string,
  apply: (one: CelOpaque, text: string, other: string) => CelValue | CelFailure,
): CelFunction {
  return celFunction(signature.replaceAll(/\b[A-Z]/g, "kubernetes.authorization.$&"), apply);
}

function ofDecision(signature: string, read: (answer: AuthorizationAnswer) => CelValue): CelFunction {
  return member(`<Decision>.${signature}`, (one) => read(decision.unwrap(one)));
}

function checked({ ask, ...asked }: Unfinished, verb: string): CelValue | CelFailure {
  const answer = ask({ ...asked, verb });
  return answer === undefined ? celFailure("the authorizers have not answered yet") : decision.wrap(answer);
}

/** Names of namespaces and accounts, checked only so far that none can imitate another. */
function isName(text: string): boolean {
  return /^[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?$/.test(text);
}
