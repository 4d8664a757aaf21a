import type { ApiObject } from "../core/object.ts";
import { requestVariable } from "./admission-review.ts";
import type { ExpressionInputs } from "./expression-run.ts";
import { presentedObjects, type Presentation } from "./presented.ts";

/** What expressions may speak of for a request: for webhooks neither a namespace nor parameters. */
export async function expressionInputs(
  presentation: Presentation,
  { namespace, params }: { readonly namespace?: ApiObject | undefined; readonly params?: ApiObject | undefined } = {},
): Promise<ExpressionInputs> {
  const { object = null, oldObject = null } = await presentedObjects(presentation);
  return {
    object,
    oldObject,
    request: requestVariable(presentation.request, presentation.resource),
    namespaceObject: namespace === undefined ? null : namespaceFields(namespace),
    params: params ?? null,
  };
}

/** A namespace without who owns it and who wrote it. Source: apiserver pkg/admission/plugin/cel CreateNamespaceObject. */
function namespaceFields(namespace: ApiObject): ApiObject {
  const { ownerReferences: _owners, managedFields: _managers, ...metadata } = namespace.metadata;
  return { ...namespace, metadata };
}
