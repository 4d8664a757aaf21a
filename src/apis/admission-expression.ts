import { type FieldError, invalid } from "../apimachinery/field-error.ts";
import { CelError } from "../policy/cel/cel-error.ts";
import type { CelProgram } from "../policy/cel/compile.ts";
import {
  boolType,
  dynType,
  formatType,
  intType,
  listType,
  mapType,
  objectType,
  stringType,
  timestampType,
  type CelType,
} from "../policy/cel/types.ts";
import { authorizerFunctions, authorizerType, resourceCheckType } from "../policy/kubernetes/authorizer-functions.ts";
import { compileKubernetesCel } from "../policy/kubernetes/compile-kubernetes-cel.ts";
import { patchEnvironment } from "../policy/kubernetes/patch-types.ts";

/** The optional variables of an admission expression besides `object`, `oldObject`, `request` and `namespaceObject`. */
export interface ExpressionScope {
  /** `params`, for policies with a paramKind. */
  readonly params: boolean;
  /** `authorizer`; not in message expressions. */
  readonly authorizer: boolean;
  /** `variables`, by name. */
  readonly variables?: Readonly<Record<string, CelType>>;
  /** `Object`, `JSONPatch` and `jsonpatch.escapeKey`; in mutations only. */
  readonly patches?: boolean;
}

const kindType = objectType("kubernetes.GroupVersionKind", {
  group: stringType,
  version: stringType,
  kind: stringType,
});
const resourceType = objectType("kubernetes.GroupVersionResource", {
  group: stringType,
  version: stringType,
  resource: stringType,
});

const requestType = objectType("kubernetes.AdmissionRequest", {
  kind: kindType,
  resource: resourceType,
  subResource: stringType,
  requestKind: kindType,
  requestResource: resourceType,
  requestSubResource: stringType,
  name: stringType,
  namespace: stringType,
  operation: stringType,
  userInfo: objectType("kubernetes.UserInfo", {
    username: stringType,
    uid: stringType,
    groups: listType(stringType),
    extra: mapType(stringType, listType(stringType)),
  }),
  dryRun: boolType,
  options: dynType,
});

const namespaceType = objectType("kubernetes.Namespace", {
  metadata: objectType("kubernetes.NamespaceMetadata", {
    name: stringType,
    generateName: stringType,
    namespace: stringType,
    labels: mapType(stringType, stringType),
    annotations: mapType(stringType, stringType),
    UID: { type: stringType, key: "uid" },
    creationTimestamp: timestampType,
    deletionGracePeriodSeconds: intType,
    deletionTimestamp: timestampType,
    generation: intType,
    resourceVersion: stringType,
    finalizers: listType(stringType),
  }),
  spec: objectType("kubernetes.NamespaceSpec", { finalizers: listType(stringType) }),
  status: objectType("kubernetes.NamespaceStatus", {
    conditions: listType(
      objectType("kubernetes.NamespaceCondition", {
        status: stringType,
        type: stringType,
        lastTransitionTime: timestampType,
        message: stringType,
        reason: stringType,
      }),
    ),
    phase: stringType,
  }),
});

/** The variable that checks access to the resource of the request. */
const requestResourceName = "authorizer.requestResource";

const patchFunctions: typeof patchEnvironment = {
  ...patchEnvironment,
  functions: [...authorizerFunctions, ...patchEnvironment.functions],
};

/** The name of the type of a policy's variables in messages. */
const variablesTypeName = "kubernetes.variables";

/**
 * A compiled expression of a webhook or a policy; `results` are the kinds of types it may have, all where empty.
 * @throws CelError in Kubernetes' wording. Source: apiserver pkg/admission/plugin/cel.
 */
export function compileExpression(expression: string, scope: ExpressionScope, results: readonly CelType[]): CelProgram {
  const program = compiled(expression, scope);
  const [found, wanted] = [formatType(program.type), results.map(formatType)];
  if (results.length === 0 || wanted.includes(found)) return program;
  throw new CelError(
    "type",
    wanted.length === 1
      ? `must evaluate to ${wanted[0]} but got ${found}`
      : `must evaluate to one of [${wanted.join(" ")}] but got ${found}`,
  );
}

/** The types of the variables of a policy, for the type checker. */
export interface CheckedScope {
  /** Of `object` and `oldObject`. */
  readonly object: CelType;
  /** Of `params`; undefined for a policy without a paramKind. */
  readonly params: CelType | undefined;
  readonly variables?: Readonly<Record<string, CelType>>;
}

/** The type of an expression of a policy for known types of its variables. @throws CelError */
export function checkedType(expression: string, { object, params, variables }: CheckedScope): CelType {
  const known = {
    object,
    oldObject: object,
    request: requestType,
    namespaceObject: namespaceType,
    ...(params === undefined ? {} : { params }),
    authorizer: authorizerType,
    [requestResourceName]: resourceCheckType,
    ...(variables === undefined ? {} : { variables: objectType(variablesTypeName, variables) }),
  };
  return compileKubernetesCel(expression, known, { functions: authorizerFunctions }).type;
}

function compiled(expression: string, { params, authorizer, variables, patches = false }: ExpressionScope): CelProgram {
  const declared = {
    object: dynType,
    oldObject: dynType,
    request: requestType,
    namespaceObject: namespaceType,
    ...(params ? { params: dynType } : {}),
    ...(authorizer ? { authorizer: authorizerType, [requestResourceName]: resourceCheckType } : {}),
    ...(variables === undefined ? {} : { variables: objectType(variablesTypeName, variables) }),
  };
  try {
    return compileKubernetesCel(expression, declared, patches ? patchFunctions : { functions: authorizerFunctions });
  } catch (error) {
    if (error instanceof CelError) throw new CelError(error.code, `compilation failed: ${error.message}`);
    throw error;
  }
}

/** The errors of an expression at a field; none where it compiles. */
export function expressionErrors(path: string, expression: string, compile: () => unknown): readonly FieldError[] {
  try {
    compile();
    return [];
  } catch (error) {
    if (error instanceof CelError) return [invalid(path, expression, error.message)];
    throw error;
  }
}

/** Checks a match condition; `params` states whether it may use parameters. */
export function checkMatchCondition({
  params,
}: Pick<ExpressionScope, "params">): (expression: string, path: string) => readonly FieldError[] {
  return (expression, path) =>
    expressionErrors(path, expression, () => compileExpression(expression, { params, authorizer: true }, [boolType]));
}
